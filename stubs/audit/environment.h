/* The environment the program was started with, found without a system call.
 *
 * The loader exports __libc_stack_end, which points to what the kernel left on the stack: the count of arguments, the
 * arguments, the variables, the auxiliary vector. A library of our own namespace cannot link against it (that would
 * load the loader a second time), so its symbol table is searched here. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "symbols.h"

/* Types of the auxiliary vector, elf.h. */
#define AT_NULL 0
#define AT_BASE 7
#define AT_PLATFORM 15
#define AT_SECURE 23

/* The value of LD_LIBRARY_PATH; null when it is not set or empty, which is the same to the loader. A copy, for programs
 * write over their variables to show another name in ps. One that has no room for the copy counts as one with a dollar:
 * all is left to the loader. */
static const char *library_path = 0;
/* The value of AT_PLATFORM: the name of one of the legacy subdirectories. */
static char platform[16];

/* Copies a text with its final zero where there is room for it. */
static int copy_text(char *room, word size, const char *text) {
    for (word i = 0; i < size; i++)
        if (!(room[i] = text[i])) return 1;
    return 0;
}

/* The address of a symbol of the loader, or null. */
static const void *symbol_of_loader(word base, const struct dynamic *dynamic, const char *name) {
    word strings = 0, symbols = 0, table = 0;
    if (!dynamic) return 0;
    for (; dynamic->tag != DT_NULL; dynamic++) {
        /* The loader turns addresses in its own dynamic table into absolute ones, except where that is read-only. */
        word value = dynamic->value < base ? dynamic->value + base : dynamic->value;
        if (dynamic->tag == DT_STRTAB) strings = value;
        if (dynamic->tag == DT_SYMTAB) symbols = value;
        if (dynamic->tag == DT_GNU_HASH) table = value;
    }
    if (!strings || !symbols || !table) return 0;
    const u32 *header = (const u32 *)table;
    u32 bucket_count = header[0], first = header[1], filter_words = header[2];
    if (!bucket_count) return 0;
    const u32 *buckets = (const u32 *)(table + 16 + filter_words * sizeof(word));
    const u32 *chains = buckets + bucket_count;
    u32 hash = gnu_hash(name);
    u32 index = buckets[remainder_of(hash, bucket_count)];
    if (index < first) return 0;
    for (;; index++) {
        u32 found = chains[index - first];
        const struct symbol *symbol = (const struct symbol *)symbols + index;
        if ((found | 1) == (hash | 1) && same_text((const char *)strings + symbol->name, name))
            return symbol->section ? (const void *)(base + symbol->value) : 0;
        if (found & 1) return 0;
    }
}

enum reading { NOT_THE_LOADER, TABLE_OFF, TABLE_ON };

/* Reads what concerns us. The table must not be used when it is switched off, when the program gained rights at its
 * start, when the loader was run as a command (its --library-path is not to be seen here). LD_LIBRARY_PATH is copied
 * to `room`. */
static enum reading read_environment(word base, const struct dynamic *dynamic, char *room, word size) {
    const word *const *stack_end = symbol_of_loader(base, dynamic, "__libc_stack_end");
    if (!stack_end || !*stack_end) return NOT_THE_LOADER;
    const word *stack = *stack_end;
    const char *const *variables = (const char *const *)stack + 1 + *stack + 1;
    if (*stack > 0x1000000 || variables[-1]) return TABLE_OFF;
    const char *value;
    for (; *variables; variables++) {
        /* The first of several counts for getenv, the last for the loader. */
        if ((value = after(*variables, "LD_LIBRARY_PATH="))) library_path = *value ? value : 0;
        if ((value = after(*variables, "COLDSTART_DISABLE=")) && *value && !same_text(value, "0")) return TABLE_OFF;
    }
    int kernel_loaded_the_program = 0;
    for (const word *entry = (const word *)variables + 1; entry[0] != AT_NULL; entry += 2) {
        if (entry[0] == AT_SECURE && entry[1]) return TABLE_OFF;
        if (entry[0] == AT_BASE && entry[1]) kernel_loaded_the_program = 1;
        if (entry[0] == AT_PLATFORM && entry[1] && !copy_text(platform, sizeof platform, (const char *)entry[1]))
            platform[0] = 0;
    }
    if (library_path) library_path = copy_text(room, size, library_path) ? room : "$";
    return kernel_loaded_the_program ? TABLE_ON : TABLE_OFF;
}

#endif
