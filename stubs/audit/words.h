/* Words, and the few functions on strings that a libc would bring. */
#ifndef WORDS_H
#define WORDS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long word; /* of the machine: ElfW(Addr), uintptr_t */

#define PATH_MAXIMUM 4096 /* PATH_MAX of linux/limits.h, with the final zero */

static inline word length_of(const char *text) {
    word length = 0;
    while (text[length]) length++;
    return length;
}

static inline int same_text(const char *one, const char *other) {
    while (*one && *one == *other) one++, other++;
    return *one == *other;
}

/* What follows `start` in a text, or null where it does not start so. */
static inline const char *after(const char *text, const char *start) {
    while (*start)
        if (*text++ != *start++) return 0;
    return text;
}

static inline int has_slash(const char *text) {
    for (; *text; text++)
        if (*text == '/') return 1;
    return 0;
}

#endif
