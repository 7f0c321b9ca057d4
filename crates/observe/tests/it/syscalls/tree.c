#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
static void *thread(void *unused) { for (int i = 0; i < 10; i++) access("/no/such/name", R_OK); return unused; }
int main(int count, char **arguments) {
    struct stat status;
    for (int i = 0; i < 3; i++) stat("/no/such/name", &status);
    for (int child = 0; child < 4; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < 20; i++) open("/no/such/libnone.so.3", O_RDONLY);
            if (child % 2) execl("/bin/true", "true", NULL);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_t id;
        pthread_create(&id, NULL, thread, NULL);
        pthread_join(id, NULL);
    }
    pid_t pid = vfork();
    if (pid == 0) { execl("/no/such/program", "program", NULL); _exit(1); }
    waitpid(pid, NULL, 0);
    return 7;
}
