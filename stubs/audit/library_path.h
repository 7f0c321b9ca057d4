/* LD_LIBRARY_PATH keeps its place before what the table says.
 *
 * We need not find what the loader would find there, only whether it might find anything. So a directory with one of
 * the processor-dependent subdirectories counts as "might", and the loader searches by itself: which subdirectories it
 * takes depends on its release, the processor and GLIBC_TUNABLES. */
#ifndef LIBRARY_PATH_H
#define LIBRARY_PATH_H

#include "environment.h"
#include "system_call.h"

/* First parts of what elf/dl-hwcaps.c tries in each directory; AT_PLATFORM besides, up to glibc 2.36. */
static inline int has_subfolder(char *directory, word length) {
    static const char names[] =
        "glibc-hwcaps\0tls\0"
#if defined(__x86_64__) || defined(__i386__)
        "x86_64\0haswell\0xeon_phi\0avx512_1\0sse2\0"
#elif defined(__aarch64__)
        "atomics\0"
#elif defined(__arm__)
        "vfp\0neon\0"
#endif
        ;
    int own = platform[0] != 0;
    for (const char *name = names; *name || own;) {
        const char *one = *name ? name : platform;
        word size = length_of(one);
        if (length + size + 1 > PATH_MAXIMUM) return 1;
        for (word i = 0; i <= size; i++) directory[length + i] = one[i];
        if (is_readable(directory)) return 1;
        if (*name)
            name += size + 1;
        else
            own = 0;
    }
    return 0;
}

/* Whether one of the directories may have a library of that name. */
static int library_path_may_have(const char *name) {
    /* Absolute directories are looked through for subdirectories once in a process, as the loader does. */
    static u8 without_subdirectories = 0;
    char path[PATH_MAXIMUM];
    word size = length_of(name);
    for (const char *c = library_path; *c; c++)
        if (*c == '$') return 1;
    for (const char *element = library_path;; element++) {
        word length = 0;
        for (; element[length] && element[length] != ':' && element[length] != ';'; length++) {
            if (length + 2 >= PATH_MAXIMUM) return 1;
            path[length] = element[length];
        }
        element += length;
        int absolute = length && path[0] == '/';
        /* An empty element is the current directory. */
        if (length) path[length++] = '/';
        if (!(absolute && without_subdirectories) && has_subfolder(path, length)) return 1;
        if (length + size + 1 > PATH_MAXIMUM) return 1;
        for (word i = 0; i <= size; i++) path[length + i] = name[i];
        if (is_readable(path)) return 1;
        if (!*element) break;
    }
    without_subdirectories = 1;
    return 0;
}

#endif
