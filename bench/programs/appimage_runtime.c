// A runtime of an AppImage. Its image begins where its own section headers end. It extracts the image, or with MOUNT has squashfuse mount it until
// AppRun has ended, as real runtimes do; then it starts AppRun.
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((used, section(".upd_info"))) static char update[1024] = "gh-releases-zsync|me|app|latest|app.zsync";
__attribute__((used, section(".sha256_sig"))) static char signature[1024] = SIGNATURE;
__attribute__((used, section(".digest_md5"))) static char digest[16] = "0123456789abcde";
#ifdef MOUNT
static int start(const char *offset, char *directory, const char *program) {
    char own[64];
    struct stat before, now;
    int status = 1;
    snprintf(own, sizeof own, "/proc/%d/exe", getpid());
    if (stat(directory, &before)) return 1;
    pid_t mounter = fork();
    if (mounter == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execlp("squashfuse", "squashfuse", "-f", "-o", offset, own, directory, (char *)0);
        _exit(1);
    }
    for (int wait = 0; wait < 10000 && waitpid(mounter, 0, WNOHANG) == 0; wait++) {
        if (stat(directory, &now) == 0 && now.st_dev != before.st_dev) {
            pid_t child = fork();
            if (child == 0) {
                execl(program, program, (char *)0);
                _exit(1);
            }
            waitpid(child, &status, 0);
            kill(mounter, SIGTERM);
            waitpid(mounter, 0, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
        usleep(1000);
    }
    return 1;
}
#else
static int start(const char *offset, char *directory, const char *program) {
    char command[8192];
    snprintf(command, sizeof command, "unsquashfs -quiet -no-progress -o %s -d %s /proc/%d/exe >&2",
             offset + sizeof "offset=" - 1, directory, getpid());
    if (system(command)) return 1;
    execl(program, program, (char *)0);
    return 1;
}
#endif
int main(int count, char **words) {
    Elf64_Ehdr header;
    FILE *own = fopen("/proc/self/exe", "r");
    char offset[64], program[4000];
    if (count != 2 || fread(&header, sizeof header, 1, own) != 1) return 1;
    snprintf(offset, sizeof offset, "offset=%lu", (unsigned long)(header.e_shoff + header.e_shnum * header.e_shentsize));
    snprintf(program, sizeof program, "%s/AppRun", words[1]);
    return start(offset, words[1], program);
}
