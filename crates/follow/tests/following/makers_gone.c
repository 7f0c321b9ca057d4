#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *makes(void *unused) { for (int i = 0; i < 20; i++) if (fork() == 0) _exit(0); return unused; }
int main(int count, char **words) {
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, makes, NULL);
            if (round % 2) makes(NULL);
            usleep(rand_r(&(unsigned){round}) % 2000);
            execl("/bin/true", "true", NULL);
        }
        usleep(round * 50);
        if (round % 3) kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return 6;
}
