#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define F(n) __attribute__((noinline)) int f##n(int x) { __asm__ volatile(""); return x + n; }
#define R(a) F(a##0) F(a##1) F(a##2) F(a##3) F(a##4) F(a##5) F(a##6) F(a##7) F(a##8) F(a##9)
R(1) R(2) R(3) R(4) R(5)
#define L(a) f##a##0, f##a##1, f##a##2, f##a##3, f##a##4, f##a##5, f##a##6, f##a##7, f##a##8, f##a##9
static int (*all[])(int) = {L(1), L(2), L(3), L(4), L(5)};
static pthread_barrier_t barrier;
static void handler(int s) { for (int i = 0; i < 50; i += 7) all[i](1); }
static void *run(void *x) { long sum = 0; for (int i = 0; i < 50; i++) { pthread_barrier_wait(&barrier); sum += all[i](1); } return (void *)sum; }
int main(void) {
  struct sigaction a = {0}; a.sa_handler = handler; a.sa_flags = SA_RESTART; sigaction(SIGALRM, &a, 0);
  struct itimerval v = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_REAL, &v, 0);
  pthread_t t[8]; pthread_barrier_init(&barrier, 0, 8); long sum = 0;
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, run, 0);
  for (int i = 0; i < 8; i++) { void *r; pthread_join(t[i], &r); sum += (long)r; }
  FILE *out = fopen("told", "a"); fprintf(out, "%ld\n", sum); fclose(out); return 0;
}
