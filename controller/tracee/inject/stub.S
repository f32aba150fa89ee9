// The pause stub: handler of SIGTRAP inside the target. Freestanding, position-independent; the
// injector copies [causalctl_stub_begin, causalctl_stub_end) into one page of the target and fills
// in the parameters at its end before the page becomes read-only.
//
// void handler(int signal, siginfo_t*, ucontext_t*), installed with SA_SIGINFO | SA_ONSTACK |
// SA_RESTART | SA_RESTORER and every signal masked that the target handles, so that nothing nests in
// it (save a handler that the target installs later, for a signal it ignored). A signal that is ours
// carries TRAP_PERF and the address of the thread's Slot (slot.h). It then sleeps on absolute
// deadlines, or spins, until paid_total reaches owed_total, which the controller may change meanwhile:
//
//   entered++; now = entered_at = left_at = clock()
//   if (now - armed_at <= stale_after)
//     while ((owed = owed_total - paid_total) > 0 && now < entered_at + longest)
//       sleep until min(now + owed, entered_at + longest); where bit 0 of stale_after is set: spin
//         for a few microseconds
//       then = clock(); paid_total += then - now; now = then
//   left_at = now; left++
//
// So paid_total grows by exactly left_at - entered_at. A failing sleep only makes the loop spin:
// time passes all the same, and it ends. Any other SIGTRAP gets the default action, for that was the
// disposition of before, after rt_sigreturn: a core dump with the right registers.
//
// Registers need no saving: rt_sigreturn restores them all. Uses 40 bytes of stack.

#include "slot_offsets.h"

#define SIGTRAP_NUMBER 5
#define TRAP_PERF_CODE 6
#define SI_CODE 8
#define SI_PERF_DATA 24
#define LONGEST_NS 1000000000
#define PAUSES_A_LOOK 64  // some microseconds; each lets the core's other hardware thread run
#define NS_PER_SECOND 1000000000
#define MONOTONIC 1
#define ABSOLUTE 1
#define SYS_RT_SIGACTION 13
#define SYS_GETPID 39
#define SYS_GETTID 186
#define SYS_CLOCK_GETTIME 228
#define SYS_CLOCK_NANOSLEEP 230
#define SYS_TGKILL 234

    .section .rodata.causalctl_stub, "a", @progbits
    .balign 16
    .globl causalctl_stub_begin
    .hidden causalctl_stub_begin
causalctl_stub_begin:
    endbr64
    cmpl    $TRAP_PERF_CODE, SI_CODE(%rsi)
    jne     .Lforeign
    movq    SI_PERF_DATA(%rsi), %rax
    cmpq    .Lslots_begin(%rip), %rax
    jb      .Lforeign
    cmpq    .Lslots_end(%rip), %rax
    jae     .Lforeign
    testb   $(CAUSALCTL_SLOT_SIZE - 1), %al
    jnz     .Lforeign

    // r12 slot, r13 entered_at, r14 now
    movq    %rax, %r12
    subq    $24, %rsp
    incq    CAUSALCTL_SLOT_ENTERED(%r12)
    call    .Lclock
    movq    %rax, %r13
    movq    %rax, %r14
    movq    %rax, CAUSALCTL_SLOT_ENTERED_AT(%r12)
    movq    %rax, CAUSALCTL_SLOT_LEFT_AT(%r12)
    subq    CAUSALCTL_SLOT_ARMED_AT(%r12), %rax
    cmpq    CAUSALCTL_SLOT_STALE_AFTER(%r12), %rax
    jg      .Lleave

.Lsleep:
    movq    CAUSALCTL_SLOT_OWED_TOTAL(%r12), %rbx
    subq    CAUSALCTL_SLOT_PAID_TOTAL(%r12), %rbx
    jle     .Lleave
    leaq    LONGEST_NS(%r13), %rax
    subq    %r14, %rax
    jle     .Lleave
    testb   $CAUSALCTL_SLOT_SPINS, CAUSALCTL_SLOT_STALE_AFTER(%r12)
    jnz     .Lspin
    cmpq    %rax, %rbx
    cmovg   %rax, %rbx
    leaq    (%rbx, %r14), %rax
    xorl    %edx, %edx
    movl    $NS_PER_SECOND, %ecx
    divq    %rcx
    movq    %rax, (%rsp)
    movq    %rdx, 8(%rsp)
    movl    $SYS_CLOCK_NANOSLEEP, %eax
    movl    $MONOTONIC, %edi
    movl    $ABSOLUTE, %esi
    movq    %rsp, %rdx
    xorl    %r10d, %r10d
    syscall
.Lpassed:
    call    .Lclock
    movq    %rax, %rbx
    subq    %r14, %rbx
    addq    %rbx, CAUSALCTL_SLOT_PAID_TOTAL(%r12)
    movq    %rax, %r14
    jmp     .Lsleep

.Lspin:
    movl    $PAUSES_A_LOOK, %ecx
.Lrelax:
    pause
    decl    %ecx
    jnz     .Lrelax
    jmp     .Lpassed

.Lleave:
    movq    %r14, CAUSALCTL_SLOT_LEFT_AT(%r12)
    incq    CAUSALCTL_SLOT_LEFT(%r12)
    addq    $24, %rsp
    ret

// Returns CLOCK_MONOTONIC in nanoseconds in rax; uses the caller's 16 bytes at the top of stack.
.Lclock:
    movl    $SYS_CLOCK_GETTIME, %eax
    movl    $MONOTONIC, %edi
    leaq    8(%rsp), %rsi
    syscall
    imulq   $NS_PER_SECOND, 8(%rsp), %rax
    addq    16(%rsp), %rax
    ret

.Lforeign:  // an all-zero kernel_sigaction is SIG_DFL
    subq    $40, %rsp
    movq    $0, (%rsp)
    movq    $0, 8(%rsp)
    movq    $0, 16(%rsp)
    movq    $0, 24(%rsp)
    movl    $SYS_RT_SIGACTION, %eax
    movl    $SIGTRAP_NUMBER, %edi
    movq    %rsp, %rsi
    xorl    %edx, %edx
    movl    $8, %r10d
    syscall
    movl    $SYS_GETTID, %eax
    syscall
    movl    %eax, %ebx
    movl    $SYS_GETPID, %eax
    syscall
    movl    %eax, %edi
    movl    %ebx, %esi
    movl    $SIGTRAP_NUMBER, %edx
    movl    $SYS_TGKILL, %eax
    syscall
    addq    $40, %rsp
    ret

    .balign 16
    .globl causalctl_stub_restorer
    .hidden causalctl_stub_restorer
causalctl_stub_restorer:  // these very bytes: unwinders know a signal frame by them
    movq    $15, %rax
    syscall

    .balign 16
    .globl causalctl_stub_parameters
    .hidden causalctl_stub_parameters
causalctl_stub_parameters:  // struct StubParameters in stub.h
.Lslots_begin:
    .quad   0
.Lslots_end:
    .quad   0

    .globl causalctl_stub_end
    .hidden causalctl_stub_end
causalctl_stub_end:

    .section .note.GNU-stack, "", @progbits
