/* Touches known pages in a known order and prints each touch: "THREAD ADDRESS read|write|kernel".
 *
 * Build: gcc -O1 -pthread touches.c. Run: touches FILE ROUNDS; FILE has at least 1 MiB.
 * What should hold: each line is one page fault and no other falls into the two ranges, because reads are 64 KiB apart (the kernel maps up
 * to 16 pages around a read of a file) and a page is written to once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WINDOW = 65536, WINDOWS = 16, ROUND = 500, MOST = 4096 };

struct touch {
    int thread;
    const volatile char *address;
    const char *how;
};

/* Shared with the child, and in memory before the first touch. */
static struct touch *touches;
static int *count;
static volatile char *file, *memory;

static void note(const volatile char *address, const char *how)
{
    touches[(*count)++] = (struct touch){gettid(), address, how};
}

static void look(volatile char *address)
{
    note(address, "read");
    (void)*address;
}

static void change(volatile char *address)
{
    note(address, "write");
    *address = 1;
}

static void *in_thread(void *unused)
{
    (void)unused;
    change(memory + 3 * PAGE);
    change(memory + 1 * PAGE);
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    touches = mmap(NULL, MOST * sizeof *touches, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    count = (int *)(touches + MOST - 1);
    file = mmap(NULL, WINDOWS * WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    memory = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fd < 0 || touches == MAP_FAILED || file == MAP_FAILED || memory == MAP_FAILED)
        return 2;
    madvise((void *)file, WINDOWS * WINDOW, MADV_NOHUGEPAGE);
    madvise((void *)memory, 64 * PAGE, MADV_NOHUGEPAGE);

    /* Backwards, so that it is not the order of addresses. */
    for (int window = WINDOWS - 1; window >= 0; window -= 2)
        look(file + window * WINDOW + 5 * PAGE);
    /* The second fault of a page that was read: a copy is made. */
    for (int window = 1; window < WINDOWS; window += 4)
        change(file + window * WINDOW + 5 * PAGE + 8);
    /* The only fault of one that was not. */
    change(file + 2 * WINDOW);
    change(file + 2 * WINDOW + PAGE);

    note(memory + 7 * PAGE, "kernel");
    if (pread(fd, (void *)(memory + 7 * PAGE), 16, 0) != 16)
        return 2;

    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
        return 2;
    pid_t child = fork();
    if (child == 0) {
        change(memory + 9 * PAGE);
        change(file + 4 * WINDOW);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        return 2;

    /* Many pages, with time in between to have them written down. */
    for (int round = 0; round < rounds; round++) {
        volatile char *many = mmap(NULL, ROUND * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise((void *)many, ROUND * PAGE, MADV_NOHUGEPAGE);
        for (int page = 0; page < ROUND; page++)
            many[page * PAGE] = 1;
        munmap((void *)many, ROUND * PAGE);
        usleep(1000);
    }

    mprotect((void *)file, WINDOW, PROT_READ);
    printf("file %lx %x\n", (unsigned long)file, WINDOWS * WINDOW);
    printf("memory %lx %x\n", (unsigned long)memory, 64 * PAGE);
    for (int at = 0; at < *count; at++)
        printf("%d %lx %s\n", touches[at].thread, (unsigned long)touches[at].address, touches[at].how);
    return 0;
}
