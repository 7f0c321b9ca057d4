#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **arguments) {
    if (count > 2) return !dlopen(arguments[1], RTLD_NOW);
    struct sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog all = {1, allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 3;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0)) return 4;
    execl(arguments[0], arguments[0], arguments[1], "again", (char *)0);
    return 5;
}
