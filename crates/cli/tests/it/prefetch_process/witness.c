#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (!strcmp(words[1], "subreaper")) {
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        execvp(words[2], words + 2);
    } else if (!strcmp(words[1], "blocked")) {
        sigprocmask(SIG_BLOCK, &set, 0);
        execvp(words[2], words + 2);
    } else if (!strcmp(words[1], "pending")) {
        sigpending(&set);
        puts(sigismember(&set, SIGCHLD) ? "pending" : "none");
        return 0;
    } else if (!strcmp(words[1], "children")) {
        int process = waitpid(-1, 0, WNOHANG | __WALL);
        puts(process == 0 ? "one that runs" : process > 0 ? "one that ended" : errno == ECHILD ? "none" : strerror(errno));
        return 0;
    } else if (!strcmp(words[1], "busy")) {
        /* Copies its input, and computes meanwhile. */
        char byte;
        fcntl(0, F_SETFL, O_NONBLOCK);
        for (ssize_t count; (count = read(0, &byte, 1)) != 0;)
            if (count == 1) write(1, &byte, 1);
        return 0;
    }
    return 1;
}
