# A function whose first instruction has an address in it, which the loader relocates
# (`ld -z notext`).
    .text
    .globl item_done
    .type item_done, @function
item_done:
    movabs $items, %rax
    incq (%rax)
    ret
    .size item_done, . - item_done
    .globl main
    .type main, @function
main:
    push %rbx
    lea text(%rip), %rdi
    call puts@plt
    xor %edi, %edi
    call fflush@plt
again:
    call item_done
    mov $1000, %edi
    call usleep@plt
    jmp again
    .size main, . - main
    .section .rodata
text: .asciz "ready"
    .bss
    .balign 8
items: .quad 0
    .section .note.GNU-stack, "", @progbits
