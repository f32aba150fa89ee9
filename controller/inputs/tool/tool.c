// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// The tool `inputs` of Valgrind: registers itself, and leads Valgrind's events to tracking.cc.
//
// Threads run one at a time, and so events have an order (paper, §5, "Thread interleaving"). System
// calls tell which memory they read and write (§4.3). A file that the program maps counts as
// written by the kernel; what the loader maps is the program itself, and does not. With
// --aprof-compatible each mapping counts. A forked child goes on without a result.
#include <pub_tool_basics.h>
//
#include <libvex_ir.h>
#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>
//
#include "controller/inputs/tool/inputs_tool.h"
#include "controller/inputs/tool/instrument.h"

static struct InputsOptions options = {.cell_bits = 2, .interval_ms = 2000};
unsigned inputs_slots;

// Large pieces are mapped, so that pages that nobody touches cost nothing.
static const SizeT kLarge = 65536;

void* inputs_allocate(size_t bytes) {
  return bytes >= kLarge ? VG_(am_shadow_alloc)(VG_PGROUNDUP(bytes))
                         : VG_(calloc)("inputs", 1, bytes);
}

void inputs_release(void* pointer, size_t bytes) {
  if (bytes >= kLarge) {
    VG_(am_munmap_valgrind)((Addr)pointer, VG_PGROUNDUP(bytes));
  } else {
    VG_(free)(pointer);
  }
}

int inputs_open(const char* path) {
  const SysRes result = VG_(open)(path, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY, 0600);
  return sr_isError(result) ? -1 : (Int)sr_Res(result);
}

int inputs_write_all(int file, const char* bytes, size_t size) {
  while (size > 0) {
    const Int written = VG_(write)(file, bytes, (Int)size);
    if (written <= 0) return 0;
    bytes += written;
    size -= (size_t)written;
  }
  return 1;
}

int inputs_close_as(int file, const char* from, const char* to) {
  VG_(close)(file);
  return from != NULL && VG_(rename)(from, to) == 0;
}

unsigned inputs_now_ms(void) { return VG_(read_millisecond_timer)(); }

static IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                        const VexGuestExtents* extents, const VexArchInfo* host, IRType guest_word,
                        IRType host_word) {
  tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
  inputs_slots = (unsigned)layout->total_sizeB;
  return inputs_instrument(in, layout, closure->readdr, options.aprof_compatible);
}

static void start_client_code(ThreadId thread, ULong blocks) {
  inputs_switch(thread);
  inputs_write_if_due();
}

static void begin_thread(ThreadId parent, ThreadId child) { inputs_begin_thread(child); }

static void end_thread(ThreadId thread) { inputs_end_thread(thread); }

static Bool is_system_call(CorePart part) {
  return part == Vg_CoreSysCall || part == Vg_CoreSysCallArgInMem;
}

static void before_read(CorePart part, ThreadId thread, const HChar* what, Addr address,
                        SizeT size) {
  if (is_system_call(part)) inputs_kernel_read(thread, address, size);
}

// The bytes are only looked at where the program can read them.
static void before_read_text(CorePart part, ThreadId thread, const HChar* what, Addr address) {
  if (!is_system_call(part)) return;
  SizeT size = 0;
  Addr readable_until = address;
  for (;; ++size) {
    if (address + size >= readable_until) {
      const Addr page = VG_PGROUNDDN(address + size);
      if (!VG_(am_is_valid_for_client)(page, VKI_PAGE_SIZE, VKI_PROT_READ)) break;
      readable_until = page + VKI_PAGE_SIZE;
    }
    if (*(const HChar*)(address + size) == '\0') {
      ++size;
      break;
    }
  }
  inputs_kernel_read(thread, address, size);
}

static void after_write(CorePart part, ThreadId thread, Addr address, SizeT size) {
  if (is_system_call(part) || part == Vg_CoreSignal) inputs_kernel_write(thread, address, size);
}

static void new_mapping(Addr address, SizeT size, Bool readable, Bool writable, Bool executable,
                        ULong debug_info) {
  const ThreadId thread = VG_(get_running_tid)();
  if (thread == VG_INVALID_THREADID) return;
  if (!options.aprof_compatible) {
    const NSegment* segment = VG_(am_find_nsegment)(address);
    if (segment == NULL || segment->kind != SkFileC) return;
    if (inputs_is_loader(VG_(get_IP)(thread))) return;
  }
  inputs_kernel_write(thread, address, size);
}

static void unmapped(Addr address, SizeT size) { inputs_unmapped(address, size); }

static void before_signal(ThreadId thread, Int signal, Bool on_other_stack) {
  if (!on_other_stack) return;
  const Addr high = VG_(thread_get_stack_max)(thread);
  inputs_begin_handler(thread, high - VG_(thread_get_stack_size)(thread), high);
}

static void after_signal(ThreadId thread, Int signal) { inputs_end_handler(thread); }

// The program that is executed takes this one's place, and the tool ends without a word.
static void before_call(ThreadId thread, UInt number, UWord* arguments, UInt count) {
  if (number == __NR_execve || number == __NR_execveat) inputs_write(0);
}

static void after_call(ThreadId thread, UInt number, UWord* arguments, UInt count, SysRes result) {}

static void in_child(ThreadId thread) { inputs_forget_result(); }

static Bool take_option(const HChar* option) {
  if (VG_STR_CLO(option, "--result", options.result)) return True;
  if (VG_BINT_CLO(option, "--cell-bits", options.cell_bits, 0, 4)) return True;
  if (VG_BOOL_CLO(option, "--aprof-compatible", options.aprof_compatible)) return True;
  return VG_BINT_CLO(option, "--interval", options.interval_ms, 1, 1000000);
}

static void print_usage(void) {
  VG_(printf)
  ("    --result=FILE            what was found, for causalctl\n"
   "    --cell-bits=0..4         binary logarithm of a cell's size in bytes [2]\n"
   "    --aprof-compatible=yes   count as aprof does [no]\n"
   "    --interval=MS            time between two writes of the result [2000]\n");
}

static void print_debug_usage(void) { VG_(printf)("    (none)\n"); }

static void begin(void) {
  if (options.result == NULL) {
    VG_(fmsg_bad_option)("--result", "it is missing: causalctl inputs run gives it\n");
  }
  inputs_begin(&options);
}

static void end(Int status) { inputs_write(1); }

static void before_options(void) {
  VG_(details_name)("inputs");
  VG_(details_version)(NULL);
  VG_(details_description)("the input sizes of routines, for causalctl");
  VG_(details_copyright_author)("causalctl. GNU General Public License, version 2 or later.");
  VG_(details_bug_reports_to)("the authors of causalctl");
  VG_(basic_tool_funcs)(begin, instrument, end);
  VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
  VG_(needs_syscall_wrapper)(before_call, after_call);
  VG_(track_start_client_code)(start_client_code);
  VG_(track_pre_thread_ll_create)(begin_thread);
  VG_(track_pre_thread_ll_exit)(end_thread);
  VG_(track_pre_mem_read)(before_read);
  VG_(track_pre_mem_read_asciiz)(before_read_text);
  VG_(track_post_mem_write)(after_write);
  VG_(track_new_mem_mmap)(new_mapping);
  VG_(track_die_mem_munmap)(unmapped);
  VG_(track_pre_deliver_signal)(before_signal);
  VG_(track_post_deliver_signal)(after_signal);
  VG_(atfork)(NULL, NULL, in_child);
  // A block is then a basic block, so that its count is the paper's cost.
  VG_(clo_vex_control).guest_chase = False;
  VG_(clo_vex_control).iropt_unroll_thresh = 0;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
