/* Runs into breakpoints that its tracer takes away one by one; prints the seconds that took. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
int main(int count, char **words) {
    long traps = atol(words[1]);
    unsigned char *code = mmap(0, traps + 1, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(code, 0xcc, traps);
    code[traps] = 0xc3;
    pid_t child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        ((void (*)(void))code)();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    char name[64];
    sprintf(name, "/proc/%d/mem", child);
    int memory = open(name, O_RDWR);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ptrace(PTRACE_CONT, child, 0, 0);
    for (long seen = 0; waitpid(child, &status, 0) > 0 && WIFSTOPPED(status); seen++) {
        struct user_regs_struct registers;
        unsigned char nop = 0x90;
        ptrace(PTRACE_GETREGS, child, 0, &registers);
        registers.rip -= 1;
        if (pwrite(memory, &nop, 1, registers.rip) != 1) return 2;
        ptrace(PTRACE_SETREGS, child, 0, &registers);
        ptrace(PTRACE_CONT, child, 0, 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f\n", end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
    return WEXITSTATUS(status);
}
