/* Symbols as they lie in the memory of an object that the loader has mapped. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "words.h"

/* ElfW(Dyn) of the gABI. */
struct dynamic {
    word tag;
    word value;
};

#define DT_NULL 0
#define DT_STRTAB 5
#define DT_SYMTAB 6
#define DT_GNU_HASH 0x6ffffef5
#define DT_VERSYM 0x6ffffff0

/* ElfW(Sym) of the gABI. */
struct symbol {
    u32 name;
#ifdef __LP64__
    u8 info, other;
    u16 section;
    word value, size;
#else
    word value, size;
    u8 info, other;
    u16 section;
#endif
};

/* The hash of DT_GNU_HASH. */
static inline u32 gnu_hash(const char *name) {
    u32 hash = 5381;
    for (; *name; name++) hash = hash * 33 + (u8)*name;
    return hash;
}

/* Without a division, for which ARM's compiler would call libgcc. */
static u32 remainder_of(u32 number, u32 divisor) {
    u32 rest = 0;
    for (int bit = 31; bit >= 0; bit--) {
        u32 carried = rest >> 31;
        rest = rest << 1 | (number >> bit & 1);
        if (carried || rest >= divisor) rest -= divisor;
    }
    return rest;
}

#endif
