/* The function of the same name in the next library, as `dlsym(RTLD_NEXT)` gives it. glibc before 2.34 has that function in a library of its
 * own, which a program need not have loaded; the loader's own list of objects is always there. */
#ifndef NEXT_H
#define NEXT_H

#include "../audit/symbols.h"
#include "process.h"

/* elf/link.h of glibc. */
struct link_map {
    word address;
    const char *name;
    const struct dynamic *dynamic;
    const struct link_map *next;
};
struct debug {
    int version;
    const struct link_map *map;
};
extern const struct debug _r_debug __attribute__((weak));
extern const struct dynamic _DYNAMIC[] __attribute__((visibility("hidden")));

typedef long (*function)();

#define ENOSYS 38

/* In place of a function that this C library does not have. */
static long no_such_function(void) {
    return errno_function ? failed(ENOSYS, -1) : -1;
}

#define HIDDEN_VERSION 0x8000

/* The address of a function of an object, or null. A symbol of an old version, which new programs do not get, is left out, as dlsym(3)
 * does. */
static const void *function_of(const struct link_map *map, const char *name) {
    word strings = 0, symbols = 0, table = 0, versions = 0;
    for (const struct dynamic *entry = map->dynamic; entry && entry->tag != DT_NULL; entry++) {
        /* The loader makes these addresses absolute, except where the table is read-only. */
        word value = entry->value < map->address ? entry->value + map->address : entry->value;
        if (entry->tag == DT_STRTAB) strings = value;
        if (entry->tag == DT_SYMTAB) symbols = value;
        if (entry->tag == DT_GNU_HASH) table = value;
        if (entry->tag == DT_VERSYM) versions = value;
    }
    const u32 *header = (const u32 *)table;
    if (!strings || !symbols || !table || !header[0]) return 0;
    const u32 *buckets = (const u32 *)(table + 16 + header[2] * sizeof(word));
    const u32 *chains = buckets + header[0];
    u32 hash = gnu_hash(name), first = header[1], index = buckets[remainder_of(hash, header[0])];
    for (int last = index < first; !last; index++) {
        const struct symbol *symbol = (const struct symbol *)symbols + index;
        last = chains[index - first] & 1;
        if ((chains[index - first] | 1) != (hash | 1) || !symbol->section) continue;
        if (versions && ((const u16 *)versions)[index] & HIDDEN_VERSION) continue;
        if (same_text((const char *)strings + symbol->name, name)) return (const void *)(map->address + symbol->value);
    }
    return 0;
}

static function next(const char *name) {
    const struct link_map *map = &_r_debug ? _r_debug.map : 0;
    while (map && map->dynamic != _DYNAMIC) map = map->next;
    while (map && (map = map->next)) {
        const void *found = function_of(map, name);
        if (found) return (function)found;
    }
    return (function)no_such_function;
}

/* Looked for once. Threads that do so at the same time find the same. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        static function known = 0;                                                                                     \
        function found = __atomic_load_n(&known, __ATOMIC_RELAXED);                                                    \
        if (!found) __atomic_store_n(&known, found = next(#name), __ATOMIC_RELAXED);                                   \
        found;                                                                                                         \
    })

#endif
