/* Looks for the name `name` in directories, makes it in the last one, and looks there again. How is told by the first argument. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char name[4096], other[4096];

/* Asks in every way; all must agree. */
static int there(const char *path) {
    struct stat found;
    struct statx more;
    char target[8];
    FILE *stream = fopen(path, "r");
    int file = open(path, O_RDONLY | O_NONBLOCK);
    int answers[] = {stat(path, &found) == 0, lstat(path, &found) == 0, access(path, F_OK) == 0, stream != NULL, file >= 0,
                     faccessat(AT_FDCWD, path, F_OK, 0) == 0, fstatat(AT_FDCWD, path, &found, 0) == 0,
                     statx(AT_FDCWD, path, 0, STATX_ALL, &more) == 0, readlink(path, target, sizeof target) >= 0 || errno == EINVAL};
    int count = 0, all = sizeof answers / sizeof *answers;
    for (int i = 0; i < all; i++) count += answers[i];
    if (stream) fclose(stream);
    if (file >= 0) close(file);
    if (count && count != all) printf("%d of %d ways find it\n", count, all);
    return count;
}

static void make(void) { close(open(name, O_CREAT | O_WRONLY, 0600)); }
static void *make_in_thread(void *unused) { make(); return unused; }
static void cleaned(void *unused) { (void)unused; puts("cleaned up"); }
static void *sleeper(void *unused) {
    pthread_cleanup_push(cleaned, NULL);
    for (;;) usleep(1000);
    pthread_cleanup_pop(0);
    return unused;
}

int main(int count, char **words) {
    const char *how = words[1];
    for (int i = 2; i < count; i++) {
        snprintf(name, sizeof name, "%s/name", words[i]);
        for (int times = 0; times < 20; times++)
            if (there(name) != 0) { printf("%s is there\n", words[i]); break; }
    }
    snprintf(other, sizeof other, "%s/../other", words[count - 1]);
    if (!strcmp(how, "open")) make();
    else if (!strcmp(how, "stream")) fclose(fopen(name, "w"));
    else if (!strcmp(how, "creat")) close(creat(name, 0600));
    else if (!strcmp(how, "mkdir")) mkdir(name, 0700);
    else if (!strcmp(how, "rename")) { close(open(other, O_CREAT | O_WRONLY, 0600)); rename(other, name); }
    else if (!strcmp(how, "link")) { close(open(other, O_CREAT | O_WRONLY, 0600)); there(name); if (link(other, name)) perror(name); }
    else if (!strcmp(how, "symlink")) { if (symlink(".", name)) perror(name); }
    else if (!strcmp(how, "openat")) { int d = open(words[count - 1], O_PATH); close(openat(d, "name", O_CREAT | O_WRONLY, 0600)); }
    else if (!strcmp(how, "syscall")) close(syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_WRONLY, 0600));
    else if (!strcmp(how, "thread")) { pthread_t t; pthread_create(&t, NULL, make_in_thread, NULL); pthread_join(t, NULL); }
    else if (!strcmp(how, "fork")) { pid_t p = fork(); if (!p) { make(); _exit(0); } waitpid(p, NULL, 0); }
    else if (!strcmp(how, "vfork")) { pid_t p = vfork(); if (!p) { execl("/bin/touch", "touch", name, NULL); _exit(1); } waitpid(p, NULL, 0); }
    else if (!strcmp(how, "system")) { char line[8192]; snprintf(line, sizeof line, "touch %s", name); if (system(line)) abort(); }
    else if (!strcmp(how, "popen")) {
        char line[8192], said[9];
        snprintf(line, sizeof line, "touch %s; echo done; sleep 0.01", name);
        FILE *pipe = popen(line, "r");
        if (!fgets(said, sizeof said, pipe)) abort();
        if (!there(name)) puts("unseen");
        pclose(pipe);
    } else if (!strcmp(how, "spawn")) {
        char *arguments[] = {"touch", name, NULL};
        pid_t p;
        posix_spawn(&p, "/bin/touch", NULL, NULL, arguments, environ);
        while (waitpid(p, NULL, 0) < 0);
    } else if (!strcmp(how, "pipe")) {
        int ends[2];
        char byte;
        if (pipe(ends)) abort();
        if (!fork()) { make(); (void)!write(ends[1], "x", 1); sleep(1); _exit(0); }
        (void)!read(ends[0], &byte, 1);
    } else if (!strcmp(how, "told")) {
        /* Whoever feeds the standard input makes the name first. */
        puts("ready"); fflush(stdout);
        char line[64];
        if (!fgets(line, sizeof line, stdin)) abort();
    } else if (!strcmp(how, "outside")) {
        /* Somebody makes it, and nothing tells us. */
        puts("ready"); fflush(stdout);
        struct timespec begin, now;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do clock_gettime(CLOCK_MONOTONIC, &now);
        while (access(name, F_OK) && now.tv_sec - begin.tv_sec < 30);
    } else if (!strcmp(how, "cancel")) {
        pthread_t t;
        pthread_create(&t, NULL, sleeper, NULL);
        usleep(10000);
        pthread_cancel(t);
        pthread_join(t, NULL);
        make();
    }
    puts(there(name) ? "there" : "absent");
    return 0;
}
