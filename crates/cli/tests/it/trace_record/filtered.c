#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
int main(int count, char **words) {
  if (count > 1) { puts("after exec"); return 0; }
  setbuf(stdout, 0); prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  struct sock_filter f[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 32), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog p = {sizeof f / sizeof *f, f};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 3;
  if (!dlopen("./libinit.so", RTLD_NOW)) puts(dlerror());
  int s; pid_t q = fork(); if (!q) { puts("child"); _exit(0); } if (waitpid(q, &s, 0) < 0 || s) return 4;
  execl(words[0], "filtered", "after", (char *)0); return 5;
}
