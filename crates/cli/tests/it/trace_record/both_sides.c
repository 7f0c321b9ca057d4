#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum;
#define F(n) __attribute__((noinline)) int f##n(int x) { sum += x; return sum + n; }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16)
static int (*all[])(int) = {f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16};
int main(void) {
  int told[2], status, result = 0; pipe(told);
  pid_t middle = fork();
  if (!middle) {
    if (fork()) _exit(0);
    for (int i = 0; i < 16; i += 2) sum += all[i](i);
    write(told[1], &sum, 1); _exit(0);
  }
  pid_t child = fork();
  for (int i = 0; i < 16; i++) sum += all[i](i);
  if (!child) _exit(0);
  waitpid(child, &status, 0); result |= status; waitpid(middle, &status, 0); result |= status;
  close(told[1]); char byte; int lived = read(told[0], &byte, 1) == 1;
  FILE *out = fopen("told", "a"); fprintf(out, "%x %d\n", result, lived); fclose(out); return 0;
}
