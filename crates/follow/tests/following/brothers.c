#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends)) return 1;
    for (int i = 0; i < 30; i++) {
        if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) {
            if (write(ends[1], "x", 1) != 1) _exit(1);
            _exit(0);
        }
    }
    for (int i = 0; i < 30; i++) if (read(ends[0], &byte, 1) != 1) return 2;
    return 8;
}
