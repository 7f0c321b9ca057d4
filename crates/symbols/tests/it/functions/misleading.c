__asm__(
    ".text\n"
    /* Whole instructions, and no unwind entry. */
    ".globl clean\n.type clean,@function\nclean: mov %edi,%eax\n add $1,%eax\n ret\n.size clean,.-clean\n"
    /* Says that it is a function, and is a table: 0x06 is no instruction of 64-bit code. */
    ".globl table\n.type table,@function\ntable: .byte 0x48,0x06,0x06,0x06,0x06,0x07,0x07,0x17\n.size table,.-table\n"
    /* A table whose last "instruction" reaches behind it. */
    ".globl unfinished\n.type unfinished,@function\nunfinished: .byte 0x90,0x48,0xb8,1,2\n.size unfinished,.-unfinished\n"
    /* A breakpoint stands there already. */
    ".globl broken\n.type broken,@function\nbroken: int3\n ret\n.size broken,.-broken\n"
    /* An unwind entry with a second function in it, whose address a table holds, and a symbol amid an instruction. */
    ".globl outer\n.type outer,@function\nouter: .cfi_startproc\n mov $0x12345678,%eax\n.globl amid\n.type amid,@function\n"
    ".set amid, .-3\n.size amid,3\n ret\n .balign 16\nsecond: mov %edi,%eax\n ret\n.cfi_endproc\n.size outer,.-outer\n"
);
extern char second_pointer[];
__asm__(".data\n.globl second_pointer\nsecond_pointer: .quad second\n.text\n");
void *keep(void) { return second_pointer; }
/* A jump table of the compiler, and labels whose addresses a table holds. */
int jumps(int x) { switch (x) { case 0: return 5; case 1: return 77; case 2: return 2; case 3: return 19; case 4: return 6; case 5: return 91; } return x; }
int labels(int x, int y) {
    static void *const table[] = {&&one, &&two, &&three};
    goto *table[x];
one: y = y * 3 + 1; if (y > 1000) return y; goto *table[y % 3];
two: y = y * 5 + 2; if (y > 1000) return y; goto *table[y % 3];
three: y = y * 7 + 3; if (y > 1000) return y; goto *table[y % 3];
}
