#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define PAGES 64
#define PAGE 4096
#define AT_A_PAGE __attribute__((aligned(4096), used))
const char in_rodata[PAGES * PAGE] AT_A_PAGE = {1};
volatile char in_data[PAGES * PAGE] AT_A_PAGE = {1};
volatile char in_bss[PAGES * PAGE] AT_A_PAGE;
volatile char *in_file;
struct done { unsigned char array, page, write; };
struct list { struct done done[4096]; int count; unsigned seed; };
/* Filled before anything is measured, so that keeping the list touches nothing new. */
struct list *lists;
static unsigned next(struct list *list) { return (list->seed = list->seed * 1103515245 + 12345) >> 16; }
static const char *names[] = {"in_rodata", "in_data", "in_bss", "in_file"};
static volatile char *arrays(int array) {
    switch (array) {
    case 0: return (volatile char *)in_rodata;
    case 1: return in_data;
    case 2: return in_bss;
    default: return in_file;
    }
}
static void use(struct list *list, int array, int page, int write) {
    struct done done = {array, page, write};
    list->done[list->count++] = done;
    volatile char *byte = arrays(array) + page * PAGE + next(list) % PAGE;
    if (write) *byte = 7; else (void)*byte;
}
/* Those pages whose number divided by four leaves `part`. */
static void use_part(struct list *list, int part) {
    unsigned char order[4 * PAGES]; int count = 0;
    for (int array = 0; array < 4; array++)
        for (int page = part; page < PAGES; page += 4) order[count++] = array * PAGES + page;
    for (int at = count - 1; at > 0; at--) {
        int other = next(list) % (at + 1);
        unsigned char kept = order[at]; order[at] = order[other]; order[other] = kept;
    }
    for (int at = 0; at < count; at++) {
        int array = order[at] / PAGES, page = order[at] % PAGES;
        int kind = array == 0 ? 0 : next(list) % 3;
        if (kind != 1) use(list, array, page, 0);
        if (kind != 0) use(list, array, page, 1);
    }
}
static void *thread(void *list) { use_part(list, 1); return 0; }
static void tell(struct list *list, const char *folder, const char *name) {
    char path[4096]; snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    for (int at = 0; at < list->count; at++)
        fprintf(file, "%s %d %d\n", names[list->done[at].array], list->done[at].page, list->done[at].write);
    fclose(file);
}
int main(int count, char **arguments) {
    lists = mmap(0, sizeof *lists * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    for (int at = 0; at < 4; at++) lists[at].seed = at + 1;
    int file = open(arguments[2], O_RDONLY);
    in_file = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    pthread_t other;
    pthread_create(&other, 0, thread, &lists[1]);
    use_part(&lists[0], 0);
    pthread_join(other, 0);
    pid_t child = fork();
    if (child == 0) {
        use_part(&lists[2], 2);
        tell(&lists[2], arguments[1], "child");
        _exit(0);
    }
    waitpid(child, 0, 0);
    use_part(&lists[3], 3);
    tell(&lists[0], arguments[1], "main"); tell(&lists[1], arguments[1], "thread"); tell(&lists[3], arguments[1], "later");
    return 0;
}
