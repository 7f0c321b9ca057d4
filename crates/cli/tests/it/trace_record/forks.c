#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <signal.h>
#include <unistd.h>
#include <dlfcn.h>
#include <sys/wait.h>
extern char **environ; static int shared; static char stack[131072];
static int child(void *x) { shared = 42 + (dlopen("libm.so.6", RTLD_NOW) != 0); return 5; }
int main(void) {
  setbuf(stdout, 0); int s;
  pid_t q = fork(); if (!q) _exit(3); waitpid(q, &s, 0); printf("fork %d\n", WEXITSTATUS(s));
  q = vfork(); if (!q) { execl("/bin/false", "false", (char *)0); _exit(9); } waitpid(q, &s, 0); printf("vfork %d\n", WEXITSTATUS(s));
  q = vfork(); if (!q) { execl("/no/such", "x", (char *)0); _exit(9); } waitpid(q, &s, 0); printf("no exec %d\n", WEXITSTATUS(s));
  char *a[] = {"sh", "-c", "exit 6", 0}; posix_spawn(&q, "/bin/sh", 0, 0, a, environ); waitpid(q, &s, 0); printf("spawn %d\n", WEXITSTATUS(s));
  q = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0); waitpid(q, &s, 0); printf("clone %d %d\n", WEXITSTATUS(s), shared);
  if (!(q = fork())) { setsid(); if (!fork()) { close(1); close(2); sleep(60); _exit(0); } _exit(8); } waitpid(q, &s, 0); printf("daemon %d\n", WEXITSTATUS(s));
  return 0;
}
