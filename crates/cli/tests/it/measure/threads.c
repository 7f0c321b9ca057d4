#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *work(void *path) {
  char page[65536];
  int file = open(path, O_RDONLY);
  while (read(file, page, sizeof page) > 0) ;
  write(1, "ready\n", 6);
  for (;;) pause();
}
int main(int count, char **arguments) {
  pthread_t thread;
  if (count > 2) signal(SIGCHLD, SIG_IGN);
  pthread_create(&thread, 0, work, arguments[1]);
  pthread_exit(0);
}
