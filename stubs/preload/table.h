/* The table that coldstart puts after the library: docs/formats/index.md, "For any program".
 *
 * Nothing in it is trusted: each offset is checked against the table's size before it is used, and the size against what the program
 * header maps. */
#ifndef TABLE_H
#define TABLE_H

#include "../audit/words.h"

typedef unsigned long long u64;
typedef long long i64;

/* A file or directory as it was. */
struct identity {
    u64 device; /* 0: not compared */
    u64 inode;
    i64 modified, changed; /* in nanoseconds since 1970 */
};

struct guard {
    struct identity identity;
    u64 believed; /* until when, and in which epoch: process.h */
    u32 path;     /* with `/.` behind it: asking for that needs the right to search the directory */
    u32 unused;
};

struct absence {
    u32 hash, path, guard;
};

struct header {
    u8 magic[8];
    u32 size;                      /* of everything, from the header on */
    u32 programs, program_count;   /* struct identity */
    u32 guards, guard_count;
    u32 absences, absence_count;   /* slots of a hash table: none, or a power of two */
    u32 strings, strings_size;     /* texts that end in a zero; the first is empty */
    u32 unused;
};

/* The last in the file that is mapped; coldstart puts the whole table in its place. */
__attribute__((section(".coldstart"), used, aligned(16))) static volatile struct header table = {.magic = "COLDABS1"};

/* The start of the file in memory, from the linker. */
extern const u8 file_start[] __attribute__((visibility("hidden")));

/* Elf64_Ehdr and Elf64_Phdr of the gABI. */
struct file_header {
    u8 identity[16];
    u16 type, machine;
    u32 version;
    word entry, segments, sections;
    u32 flags;
    u16 own_size, segment_size, segment_count;
};
struct segment {
    u32 type, flags;
    word offset, address, physical, file_size, memory_size, alignment;
};
#define PT_LOAD 1

static inline u8 *table_bytes(void) { return (u8 *)&table; }

/* How many bytes from the table on are mapped from the file. */
static word mapped_from_table(void) {
    const struct file_header *header = (const struct file_header *)file_start;
    const struct segment *segments = (const struct segment *)(file_start + header->segments);
    word place = (word)(table_bytes() - file_start);
    for (u32 i = 0; i < header->segment_count; i++) {
        const struct segment *segment = &segments[i];
        if (segment->type == PT_LOAD && place >= segment->address && place - segment->address <= segment->file_size)
            return segment->file_size - (place - segment->address);
    }
    return 0;
}

static int records_fit(u32 place, u32 count, u32 size) {
    return !(place & 7) && place >= sizeof table && place <= table.size && (u64)count * size <= table.size - place;
}

/* Whether there is a table, and all it points to is in what is mapped. */
static int table_is_sound(void) {
    u32 count = table.absence_count;
    return table.size >= sizeof table && table.size <= mapped_from_table()
        && records_fit(table.programs, table.program_count, sizeof(struct identity))
        && records_fit(table.guards, table.guard_count, sizeof(struct guard))
        && records_fit(table.absences, count, sizeof(struct absence)) && !(count & (count - 1))
        && records_fit(table.strings, table.strings_size, 1)
        /* So every text ends in the table. */
        && table.strings_size && !table_bytes()[table.strings + table.strings_size - 1];
}

static const char *string_at(u32 place) {
    return place < table.strings_size ? (const char *)table_bytes() + table.strings + place : 0;
}

/* FNV-1a. */
static inline u32 hash_of(const char *name) {
    u32 hash = 0x811c9dc5u;
    for (; *name; name++) hash = (hash ^ (u8)*name) * 0x01000193u;
    return hash;
}

/* The guard of a name that was absent, or null. */
static struct guard *guard_of(const char *path) {
    u32 count = table.absence_count, hash = hash_of(path);
    const struct absence *slots = (const struct absence *)(table_bytes() + table.absences);
    for (u32 probe = 0, i = hash; probe < count; probe++, i++) {
        const struct absence *slot = &slots[i & (count - 1)];
        if (!slot->path) return 0;
        if (slot->hash != hash) continue;
        const char *own = string_at(slot->path);
        if (!own || !same_text(own, path)) continue;
        return slot->guard < table.guard_count ? (struct guard *)(table_bytes() + table.guards) + slot->guard : 0;
    }
    return 0;
}

#endif
