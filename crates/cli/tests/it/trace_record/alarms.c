#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <dlfcn.h>
#include <unistd.h>
static volatile int count; static void handler(int s) { count++; }
int main(void) {
  struct sigaction a = {0}; a.sa_handler = handler; a.sa_flags = SA_RESTART; sigaction(SIGALRM, &a, 0);
  struct itimerval t = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_REAL, &t, 0);
  for (int i = 0; i < 30; i++) {
    void *p = dlopen("libm.so.6", RTLD_NOW); if (!p) return 2; dlclose(p);
    pid_t q = fork(); if (!q) { execl("/bin/true", "true", (char *)0); _exit(3); }
    int s; if (waitpid(q, &s, 0) < 0 || s) return 4;
  }
  puts(count > 3 ? "alarms" : "none"); return 0;
}
