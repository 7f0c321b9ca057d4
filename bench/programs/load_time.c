/* How long does the loader take for one library? Prints `{"nanoseconds": N, "minor_faults": N, "dirty_bytes": N}` for
 *
 *     load_time LIBRARY
 *
 * Built with `-shared -fPIC -DPRELOADED` and preloaded, it prints `dirty_bytes N` of the program itself to stderr, before
 * the program's own initialisers.
 *
 * Built by `cargo xtask bench` (`pack-load`, `pack-passes`) with `cc -O2`. The whole of dlopen(3) is timed: mapping, relocating, and the
 * library's own initialisers, with those of libraries that it needs and that are not loaded yet. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a file's mappings that were written to, and -1 where that is not known. They are `Anonymous` in proc(5);
 * `Private_Dirty` also counts pages of the file that a writer has left to the kernel to write back. */
static long dirty_bytes(const char *file)
{
    char path[PATH_MAX], line[PATH_MAX + 200], name[PATH_MAX];
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (!maps || !realpath(file, path))
        return -1;
    long kib, sum = 0;
    int is_ours = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_ours = sscanf(line, "%*s %*s %*s %*s %*s %[^\n]", name) == 1 && !strcmp(name, path);
        else if (is_ours && sscanf(line, "Anonymous: %ld kB", &kib) == 1)
            sum += kib * 1024;
    }
    fclose(maps);
    return sum;
}

#ifdef PRELOADED
__attribute__((constructor)) static void tell(void)
{
    fprintf(stderr, "dirty_bytes %ld\n", dirty_bytes("/proc/self/exe"));
}
#else
static long minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fputs("usage: load_time LIBRARY\n", stderr);
        return 2;
    }
    struct timespec begin, end;
    long faults = minor_faults();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    faults = minor_faults() - faults;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    long long nanoseconds = (end.tv_sec - begin.tv_sec) * 1000000000LL + (end.tv_nsec - begin.tv_nsec);
    printf("{\"nanoseconds\": %lld, \"minor_faults\": %ld, \"dirty_bytes\": %ld}\n", nanoseconds, faults,
           dirty_bytes(arguments[1]));
    fflush(stdout);
    /* Finalisers of a library that was never used as it expects may wait or crash; they are not what is measured. */
    _exit(0);
}
#endif
