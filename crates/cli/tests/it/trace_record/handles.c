#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
static sigjmp_buf back; static volatile int count;
static void handler(int s, siginfo_t *i, void *c) { count++; siglongjmp(back, s); }
int main(void) {
  struct sigaction a = {0}; a.sa_sigaction = handler; a.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &a, 0); sigaction(SIGTRAP, &a, 0);
  for (int i = 0; i < 30; i++)
    if (!sigsetjmp(back, 1)) {
      if (i % 3 == 0) *(volatile int *)0 = 1; else if (i % 3 == 1) __asm__ volatile("int3"); else raise(SIGTRAP);
    }
  FILE *out = fopen("told", "a"); fprintf(out, "%d\n", count); fclose(out);
  printf("%d\n", count); return count == 30 ? 7 : 1;
}
