/* How long does the loader take for one library? Prints `{"nanoseconds": N, "minor_faults": N}` for
 *
 *     load_time LIBRARY
 *
 * Built by `cargo xtask bench pack-load` with `cc -O2`. The whole of dlopen(3) is timed: mapping, relocating, and the
 * library's own initialisers, with those of libraries that it needs and that are not loaded yet. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

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
    printf("{\"nanoseconds\": %lld, \"minor_faults\": %ld}\n", nanoseconds, faults);
    fflush(stdout);
    /* Finalisers of a library that was never used as it expects may wait or crash; they are not what is measured. */
    _exit(0);
}
