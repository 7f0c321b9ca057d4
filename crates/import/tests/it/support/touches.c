#include <fcntl.h>
#include <sys/mman.h>
static const int pages[] = {160, 0, 96, 224, 32};
int main(int count, char **words) {
    if (count < 2) return 2;
    int file = open(words[1], O_RDONLY);
    volatile char *data = mmap(0, 256 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return 3;
    madvise((void *)data, 256 * 4096, MADV_RANDOM);
    int sum = 0;
    for (int at = 0; at < 5; at++) sum += data[pages[at] * 4096L + 8];
    return sum != 5 * 'x';
}
