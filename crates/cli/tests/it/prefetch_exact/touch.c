#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
int main(int count, char **words) {
    int file = open(words[1], O_RDONLY);
    struct stat stat;
    if (file < 0 || fstat(file, &stat)) return 2;
    volatile char *bytes = mmap(0, stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return 3;
    struct rusage before, after;
    long sum = 0, step = atol(words[2]);
    getrusage(RUSAGE_SELF, &before);
    for (long page = 0; page * 4096 < stat.st_size; page += step) sum += bytes[page * 4096];
    getrusage(RUSAGE_SELF, &after);
    printf("%ld\n", after.ru_majflt - before.ru_majflt);
    return sum == 42;
}
