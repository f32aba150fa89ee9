// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Adds to each block of the program's code what tells of its memory accesses, calls and returns.
//
// The addresses that a block accesses are stored beside the thread's registers (in its first shadow
// state), one instruction each, and one call at the end of the block takes them all. An access is
// left out where it cannot change anything: within a block there is no call, no switch of threads
// and no system call, so that memory which the block has accessed already needs no second look,
// unless it was read before and is written now. Addresses are the same if they are the same
// temporary plus the same number.
//
// The return address that `ret` reads is no input (but is to aprof, by --aprof-compatible). Nor is
// what code of a procedure linkage table reads.
#include <pub_tool_basics.h>
//
#include <libvex_ir.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_tooliface.h>
//
#include "controller/inputs/tool/inputs_tool.h"
#include "controller/inputs/tool/instrument.h"

enum { kMostSeen = 64, kLongestEvent = 127 };

typedef struct {
  IRTemp root;  // IRTemp_INVALID: the offset is the address
  Long offset;
} Place;

typedef struct {
  Place place;
  Int size;
  Bool is_write;
} Seen;

typedef struct {
  IRSB* out;
  const VexGuestLayout* layout;
  Place* places;  // by temporary
  Seen seen[kMostSeen];
  UInt seen_used;
  Seen last;     // of the events, maybe joined of several
  ULong events;  // that no call has taken yet
  UInt events_used;
  ULong instructions;  // of the whole block; 0 once they are counted
  Bool tracks_memory;
  Addr after;  // the last instruction that was seen
} Block;

static void add(Block* block, IRStmt* statement) { addStmtToIRSB(block->out, statement); }

static IRExpr* number(ULong value) { return IRExpr_Const(IRConst_U64(value)); }

static IRTemp assign(Block* block, IRType type, IRExpr* value) {
  const IRTemp fresh = newIRTemp(block->out->tyenv, type);
  add(block, IRStmt_WrTmp(fresh, value));
  return fresh;
}

static IRDirty* call_to(const HChar* name, void* function, IRExpr** arguments) {
  return unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(function), arguments);
}

static IRExpr* stack_pointer(Block* block) {
  return IRExpr_RdTmp(assign(block, Ity_I64, IRExpr_Get(block->layout->offset_SP, Ity_I64)));
}

static void increment(Block* block, uint64_t* counter, ULong by) {
  IRExpr* const address = number((ULong)(Addr)counter);
  const IRTemp old = assign(block, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address));
  const IRTemp sum = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(old), number(by)));
  add(block, IRStmt_Store(Iend_LE, address, IRExpr_RdTmp(sum)));
}

// What was noted so far is given to the tool. The first time, so is the cost of the whole block.
static void flush(Block* block) {
  const ULong instructions = block->instructions;
  block->instructions = 0;
  if (block->events_used == 0) {
    if (instructions == 0) return;
    increment(block, inputs_cost(), 1);
    increment(block, inputs_cost() + 1, instructions);
    return;
  }
  IRDirty* const call =
      call_to("inputs_block", inputs_block,
              mkIRExprVec_3(IRExpr_GSPTR(), number(block->events), number(instructions)));
  call->nFxState = 1;
  call->fxState[0].fx = Ifx_Read;
  call->fxState[0].offset = (UShort)inputs_slots;
  call->fxState[0].size = (UShort)(sizeof(ULong) * block->events_used);
  call->fxState[0].nRepeats = 0;
  call->fxState[0].repeatLen = 0;
  add(block, IRStmt_Dirty(call));
  block->events = 0;
  block->events_used = 0;
}

static Place place_of(const Block* block, const IRExpr* address) {
  Place place = {IRTemp_INVALID, 0};
  if (address->tag == Iex_RdTmp) return block->places[address->Iex.RdTmp.tmp];
  tl_assert(address->tag == Iex_Const);
  place.offset = (Long)address->Iex.Const.con->Ico.U64;
  return place;
}

static Bool is_seen(const Block* block, Place place, Int size, Bool is_write) {
  for (UInt i = 0; i < block->seen_used; ++i) {
    const Seen* const seen = &block->seen[i];
    if (seen->place.root == place.root && seen->place.offset <= place.offset &&
        place.offset + size <= seen->place.offset + seen->size && (seen->is_write || !is_write)) {
      return True;
    }
  }
  return False;
}

// Joins an access to the last one, if they lie side by side and are of one kind: registers that are
// saved on the stack, members of a structure. No access is between them in which their order would
// matter. Returns whether it did.
static Bool join(Block* block, IRExpr* address, Place place, Int size, Bool is_write) {
  if (block->events_used == 0) return False;
  Seen* const last = &block->last;
  if (last->place.root != place.root || last->is_write != is_write ||
      last->size + size > kLongestEvent) {
    return False;
  }
  const UInt at = block->events_used - 1;
  if (place.offset + size == last->place.offset) {
    add(block, IRStmt_Put((Int)(inputs_slots + sizeof(ULong) * at), address));
    last->place = place;
  } else if (last->place.offset + last->size != place.offset) {
    return False;
  }
  last->size += size;
  block->events &= ~(0xffULL << (8 * at));
  block->events |= (ULong)event_code((uint64_t)last->size, is_write) << (8 * at);
  return True;
}

// An access of fixed size, in all executions of the block.
static void note(Block* block, IRExpr* address, Int size, Bool is_write) {
  if (!block->tracks_memory) return;
  tl_assert(size > 0 && size <= kLongestEvent);
  const Place place = place_of(block, address);
  if (is_seen(block, place, size, is_write)) return;
  const Seen access = {place, size, is_write};
  if (block->seen_used < kMostSeen) block->seen[block->seen_used++] = access;
  if (join(block, address, place, size, is_write)) return;
  if (block->events_used == kMostEvents) flush(block);
  add(block, IRStmt_Put((Int)(inputs_slots + sizeof(ULong) * block->events_used), address));
  block->events |= (ULong)event_code((uint64_t)size, is_write) << (8 * block->events_used);
  block->last = access;
  ++block->events_used;
}

// An access that happens only if `guard` is true, or is longer than an event can be.
static void note_apart(Block* block, IRExpr* address, Int size, Bool is_write, IRExpr* guard) {
  if (!block->tracks_memory) return;
  flush(block);
  IRDirty* const call =
      call_to("inputs_access", inputs_access,
              mkIRExprVec_3(address, number((ULong)size), number(is_write ? 1 : 0)));
  if (guard != NULL) call->guard = guard;
  add(block, IRStmt_Dirty(call));
}

// A compare-and-swap writes only where it found what it had expected.
static void note_swap(Block* block, const IRCAS* swap) {
  const IRType type = typeOfIRExpr(block->out->tyenv, swap->dataLo);
  const Int size = sizeofIRType(type) * (swap->dataHi != NULL ? 2 : 1);
  static const IROp kEquals[] = {Iop_CasCmpEQ8, Iop_CasCmpEQ16, Iop_CasCmpEQ32, Iop_CasCmpEQ64};
  const Int at = type == Ity_I8 ? 0 : type == Ity_I16 ? 1 : type == Ity_I32 ? 2 : 3;
  note(block, swap->addr, size, False);
  IRExpr* same = IRExpr_RdTmp(
      assign(block, Ity_I1, IRExpr_Binop(kEquals[at], IRExpr_RdTmp(swap->oldLo), swap->expdLo)));
  if (swap->dataHi != NULL) {
    const IRTemp high =
        assign(block, Ity_I1, IRExpr_Binop(kEquals[at], IRExpr_RdTmp(swap->oldHi), swap->expdHi));
    const IRTemp both = assign(
        block, Ity_I1, IRExpr_ITE(same, IRExpr_RdTmp(high), IRExpr_Const(IRConst_U1(False))));
    same = IRExpr_RdTmp(both);
  }
  note_apart(block, swap->addr, size, True, same);
}

static void note_helper(Block* block, const IRDirty* dirty) {
  if (dirty->mFx == Ifx_None) return;
  if (dirty->mFx != Ifx_Write) note_apart(block, dirty->mAddr, dirty->mSize, False, dirty->guard);
  if (dirty->mFx != Ifx_Read) note_apart(block, dirty->mAddr, dirty->mSize, True, dirty->guard);
}

static void follow_value(Block* block, IRTemp temporary, const IRExpr* value) {
  Place* const place = &block->places[temporary];
  if (value->tag == Iex_RdTmp) *place = block->places[value->Iex.RdTmp.tmp];
  if (value->tag != Iex_Binop) return;
  const IROp operation = value->Iex.Binop.op;
  const IRExpr* const left = value->Iex.Binop.arg1;
  const IRExpr* const right = value->Iex.Binop.arg2;
  if ((operation != Iop_Add64 && operation != Iop_Sub64) || left->tag != Iex_RdTmp ||
      right->tag != Iex_Const) {
    return;
  }
  const Long by = (Long)right->Iex.Const.con->Ico.U64;
  *place = block->places[left->Iex.RdTmp.tmp];
  place->offset += operation == Iop_Add64 ? by : -by;
}

// A jump to another function's entry, if `guard` (NULL: always).
static void note_jump(Block* block, Addr target, IRExpr* guard) {
  if (!inputs_place(target)->is_entry && !inputs_place(target)->is_plt) return;
  IRDirty* const call =
      call_to("inputs_jump", inputs_jump, mkIRExprVec_2(number(target), stack_pointer(block)));
  if (guard != NULL) call->guard = guard;
  add(block, IRStmt_Dirty(call));
}

static void note_statement(Block* block, IRStmt* statement, IRTemp return_address) {
  switch (statement->tag) {
    case Ist_IMark:
      block->after = statement->Ist.IMark.addr + statement->Ist.IMark.len;
      break;
    case Ist_WrTmp: {
      const IRTemp temporary = statement->Ist.WrTmp.tmp;
      IRExpr* const value = statement->Ist.WrTmp.data;
      follow_value(block, temporary, value);
      if (value->tag == Iex_Load && temporary != return_address) {
        note(block, value->Iex.Load.addr, sizeofIRType(value->Iex.Load.ty), False);
      }
      break;
    }
    case Ist_Store:
      note(block, statement->Ist.Store.addr,
           sizeofIRType(typeOfIRExpr(block->out->tyenv, statement->Ist.Store.data)), True);
      break;
    case Ist_StoreG: {
      const IRStoreG* const store = statement->Ist.StoreG.details;
      note_apart(block, store->addr, sizeofIRType(typeOfIRExpr(block->out->tyenv, store->data)),
                 True, store->guard);
      break;
    }
    case Ist_LoadG: {
      const IRLoadG* const load = statement->Ist.LoadG.details;
      IRType to = Ity_INVALID;
      IRType from = Ity_INVALID;
      typeOfIRLoadGOp(load->cvt, &to, &from);
      note_apart(block, load->addr, sizeofIRType(from), False, load->guard);
      break;
    }
    default:
      break;
  }
}

static void note_call(Block* block, Addr target) {
  IRDirty* const call =
      inputs_place(target)->is_plt
          ? call_to("inputs_enter_linkage", inputs_enter_linkage,
                    mkIRExprVec_1(stack_pointer(block)))
          : call_to("inputs_enter", inputs_enter,
                    mkIRExprVec_2(number(inputs_routine_at(target)), stack_pointer(block)));
  add(block, IRStmt_Dirty(call));
}

static void note_end(Block* block, IRExpr* next, IRJumpKind kind) {
  if (kind == Ijk_Call && next->tag == Iex_Const) {
    note_call(block, next->Iex.Const.con->Ico.U64);
  } else if (kind == Ijk_Call) {
    add(block, IRStmt_Dirty(
                   call_to("inputs_call", inputs_call, mkIRExprVec_2(next, stack_pointer(block)))));
  } else if (kind == Ijk_Ret) {
    add(block,
        IRStmt_Dirty(call_to("inputs_return", inputs_return, mkIRExprVec_1(stack_pointer(block)))));
  } else if (kind == Ijk_Boring && next->tag != Iex_Const) {
    add(block, IRStmt_Dirty(
                   call_to("inputs_jump", inputs_jump, mkIRExprVec_2(next, stack_pointer(block)))));
  } else if (kind == Ijk_Boring && next->Iex.Const.con->Ico.U64 != block->after) {
    note_jump(block, next->Iex.Const.con->Ico.U64, NULL);
  }
}

static void note_all(Block* block, const IRSB* in, Int first, IRTemp return_address) {
  for (Int i = first; i < in->stmts_used; ++i) {
    IRStmt* const statement = in->stmts[i];
    if (statement->tag == Ist_Exit) {
      flush(block);
      if (statement->Ist.Exit.jk == Ijk_Boring &&
          statement->Ist.Exit.dst->Ico.U64 != block->after) {
        note_jump(block, statement->Ist.Exit.dst->Ico.U64, statement->Ist.Exit.guard);
      }
    }
    note_statement(block, statement, return_address);
    add(block, statement);
    if (statement->tag == Ist_CAS) {  // its outcome is known after it
      note_swap(block, statement->Ist.CAS.details);
    } else if (statement->tag == Ist_Dirty) {
      note_helper(block, statement->Ist.Dirty.details);
    }
  }
}

IRSB* inputs_instrument(const IRSB* in, const VexGuestLayout* layout, Addr start,
                        Bool aprof_compatible) {
  Block block = {.out = deepCopyIRSBExceptStmts(in), .layout = layout};
  // Those that are made here have no place, and no address is made of them.
  block.places = VG_(calloc)("inputs.values", (SizeT)in->tyenv->types_used + 1, sizeof(Place));
  for (Int i = 0; i < in->tyenv->types_used; ++i) block.places[i].root = (IRTemp)i;
  block.tracks_memory = !inputs_place(start)->is_plt;
  IRTemp return_address = IRTemp_INVALID;
  if (in->jumpkind == Ijk_Ret && in->next->tag == Iex_RdTmp && !aprof_compatible) {
    return_address = in->next->Iex.RdTmp.tmp;
  }
  Int first = 0;
  for (; first < in->stmts_used && in->stmts[first]->tag != Ist_IMark; ++first) {
    add(&block, in->stmts[first]);  // VEX's own preamble
  }
  for (Int i = first; i < in->stmts_used; ++i) {
    if (in->stmts[i]->tag == Ist_IMark) ++block.instructions;
  }
  note_all(&block, in, first, return_address);
  flush(&block);
  note_end(&block, in->next, in->jumpkind);
  VG_(free)(block.places);
  return block.out;
}
