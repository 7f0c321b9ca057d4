static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
void _start(void) {
    for (int i = 0; i < 1000; i++) call(39, 0, 0, 0);                 /* getpid */
    for (int i = 0; i < 7; i++) call(3, -1, 0, 0);                    /* close: EBADF */
    for (int i = 0; i < 5; i++) call(2, (long)"/no/such/file", 0, 0); /* open: ENOENT */
    call(257, -100, (long)"lib/libnone.so.1", 0);                     /* openat */
    call(262, -100, (long)"lib", 0);                                  /* newfstatat of its directory */
    call(262, -100, (long)"lib", 0);
    call(21, 1, 0, 0);                                                /* access: EFAULT */
    call(5000, 0, 0, 0);                                              /* ENOSYS */
    call(60, 42, 0, 0);
}
