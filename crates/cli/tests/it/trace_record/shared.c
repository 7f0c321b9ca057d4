#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int (*volatile found)(int); static volatile int sum; static char stack[131072];
__attribute__((noinline)) static int mine(int k) { __asm__ volatile(""); return k * 2; }
__attribute__((noinline)) static int other(int k) { __asm__ volatile(""); return k * 3; }
static int child(void *x) { while (!found) usleep(1000); sum += found(1) + other(1); return 5; }
int main(void) {
  int s; pid_t q = vfork(); if (!q) { sum += mine(1); _exit(0); } waitpid(q, &s, 0); sum += mine(1);
  q = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
  found = dlsym(dlopen("./libwork.so", RTLD_NOW), "work"); waitpid(q, &s, 0);
  FILE *out = fopen("told", "a"); fprintf(out, "%d %d %d\n", sum, found(2) + other(2), s); fclose(out); return 0;
}
