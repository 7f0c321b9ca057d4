#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned char *place(unsigned long at, int value) {
  unsigned char *page = mmap((void *)(at & ~4095ul), 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  unsigned char code[] = {TRAP, 0xb8, value, 0, 0, 0, 0xc3};
  memset(page, 0x90, 4096); memcpy((void *)at, code, sizeof code); return page;
}
static volatile int traps; static void handler(int s) { traps++; }
int main(void) {
  int s, sum = 0;
  if (TRAP == 0xcc) signal(SIGTRAP, handler);
  void *p = dlopen("./libwork.so", RTLD_NOW); int (*work)(int) = dlsym(p, "work"); unsigned long at = (unsigned long)work;
  int first = work(1) + work(1); dlclose(p);
  unsigned char *page = place(at, 77); int other = ((int (*)(void))at)() + ((int (*)(void))at)(); munmap(page, 4096);
  for (int i = 0; i < 5; i++) {
    p = dlopen("./libwork.so", RTLD_NOW); work = dlsym(p, "work");
    pid_t q = fork(); if (!q) _exit(work(1)); waitpid(q, &s, 0); sum += WEXITSTATUS(s) + work(1); dlclose(p);
  }
  p = dlopen("./libidle.so", RTLD_NOW); work = dlsym(p, "work"); at = (unsigned long)work; dlclose(p);
  page = place(at, 33); int third = ((int (*)(void))at)();
  FILE *out = fopen("told", "a"); fprintf(out, "%d %d %d %d %x traps %d\n", first, other, sum, third, page[at & 4095], traps); fclose(out);
  return 0;
}
