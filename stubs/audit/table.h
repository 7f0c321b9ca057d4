/* The table that coldstart puts after the library: docs/formats/audit-table.md.
 *
 * Nothing in it is trusted: each offset is checked against the table's size before it is read, and the size against what
 * the program header maps. A wrong table may give wrong paths, but no wild reads. */
#ifndef TABLE_H
#define TABLE_H

#include "system_call.h"
#include "words.h"

struct header {
    u8 magic[8];
    u32 checksum; /* of the header, with zero here */
    u32 size;     /* of everything, from the header on */
    u32 flags;
    u32 group_count;
    u32 program_group;
    u32 requesters, requester_count;
    u32 entries, entry_count;
    u32 strings, strings_size;
    u32 scratch, scratch_size;
    u32 reserved;
};

/* A file that requests libraries. A slot without a name is empty; the first string of the table is empty, too. */
struct requester {
    u32 hash, name, group;
};

struct entry {
    u32 hash, name, path, group;
};

#define CHECKS_FILES 1u
#define RELATIVE_REQUESTERS 2u

/* Of `group`, beside its number in the low half. */
#define FROM_PROGRAM 0x80000000u
#define BEFORE_LIBRARY_PATH 0x40000000u
#define GROUP 0xffffu

#define EMPTY_TABLE                                                                                                    \
    { .magic = "COLDTBL1", .size = 0 }

/* The last in the file that is mapped; coldstart puts the whole table in its place. */
__attribute__((section(".coldstart"), used, aligned(16))) static volatile struct header table = EMPTY_TABLE;

/* The start of the file in memory, from the linker. */
extern const u8 file_start[] __attribute__((visibility("hidden")));

struct answer {
    const char *path;
    int before_library_path;
    int from_program;
};

static inline const u8 *table_bytes(void) { return (const u8 *)&table; }

static inline int table_checks_files(void) { return (table.flags & CHECKS_FILES) != 0; }

#ifdef __LP64__
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
#else
struct file_header {
    u8 identity[16];
    u16 type, machine;
    u32 version;
    word entry, segments, sections;
    u32 flags;
    u16 own_size, segment_size, segment_count;
};
struct segment {
    u32 type;
    word offset, address, physical, file_size, memory_size, flags, alignment;
};
#endif

#define PT_LOAD 1

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

/* FNV-1a. */
#define HASH_START 0x811c9dc5u
static inline u32 hash_byte(u32 hash, u8 byte) { return (hash ^ byte) * 0x01000193u; }

static inline u32 hash_name(const char *name, u32 group) {
    u32 hash = HASH_START;
    for (; *name; name++) hash = hash_byte(hash, (u8)*name);
    return hash_byte(hash_byte(hash, group & 0xff), group >> 8 & 0xff);
}

/* Whether `count` records of `size` bytes (16 at most), a power of two or none, are at `place` in the table. */
static int slots_fit(u32 place, u32 count, u32 size) {
    if (count & (count - 1)) return 0;
    return !(place & 3) && place <= table.size && count <= 1u << 27 && count * size <= table.size - place;
}

/* Whether the header is one that coldstart wrote and all it points to is in what is mapped. */
static int table_is_sound(void) {
    const volatile u8 *bytes = (const volatile u8 *)&table;
    static const char magic[] = "COLDTBL1";
    u32 sum = HASH_START;
    for (u32 i = 0; i < sizeof table.magic; i++)
        if (bytes[i] != (u8)magic[i]) return 0;
    for (u32 i = 0; i < sizeof table; i++) sum = hash_byte(sum, i >= 8 && i < 12 ? 0 : bytes[i]);
    return sum == table.checksum && table.size >= sizeof table && table.size <= mapped_from_table()
        && slots_fit(table.requesters, table.requester_count, sizeof(struct requester))
        && slots_fit(table.entries, table.entry_count, sizeof(struct entry)) && table.strings <= table.size
        && table.strings_size <= table.size - table.strings && table.scratch <= table.size
        && table.scratch_size <= table.size - table.scratch
        /* The only part that is written must not be the header, which is believed from now on. */
        && (!table.scratch_size || table.scratch >= sizeof table);
}

/* A string of the table, or null when it does not end in it. */
static const char *string_at(u32 place) {
    const char *strings = (const char *)table_bytes() + table.strings;
    u32 size = table.strings_size;
    if (place >= size) return 0;
    for (u32 end = place; end < size; end++)
        if (!strings[end]) return strings + place;
    return 0;
}

/* The scratch space, or the part of it from `start` on; none where the table has less. */
static char *scratch_from(u32 start, u32 *size) {
    u32 whole = table.scratch_size;
    *size = start < whole ? whole - start : 0;
    return (char *)table_bytes() + table.scratch + (whole - *size);
}

/* The program's own directory with a slash at the end, in the scratch space after the copy of LD_LIBRARY_PATH; null when it is
 * not known. One call in a process. The loader's $ORIGIN is the requester's folder, not the program's, so it does not help here. */
static const char *program_folder(u32 *length) {
    static u32 known = 0, asked = 0;
    u32 room;
    char *scratch = scratch_from(PATH_MAXIMUM, &room);
    if (!asked) {
        asked = 1;
        if (room < PATH_MAXIMUM) return 0;
        long size = system_call(READLINKAT, AT_FDCWD, (long)"/proc/self/exe", (long)scratch, PATH_MAXIMUM);
        /* A path that fills the whole room may have been cut off. */
        if (size <= 0 || size >= PATH_MAXIMUM || scratch[0] != '/') return 0;
        while (size && scratch[size - 1] != '/') size--;
        known = (u32)size;
    }
    *length = known;
    return known ? scratch : 0;
}

/* A path that is written relative to the program's folder, as a whole. The loader copies what we return before it
 * calls us again, and holds its lock meanwhile. */
static const char *below_program(const char *path) {
    u32 length, room;
    const char *folder = program_folder(&length);
    if (!folder) return 0;
    char *rest = scratch_from(PATH_MAXIMUM + length, &room);
    word size = length_of(path) + 1;
    if (size > room) return 0;
    for (word i = 0; i < size; i++) rest[i] = path[i];
    return folder;
}

/* The group of a requester in the table by its name; zero when it is not there. */
static u32 group_of(const char *name, u32 relative) {
    u32 mask = table.requester_count - 1;
    u32 hash = hash_name(name, relative ? 1 : 0);
    const struct requester *slots = (const struct requester *)(table_bytes() + table.requesters);
    for (u32 probe = 0, i = hash; probe < table.requester_count; probe++, i++) {
        const struct requester *slot = &slots[i & mask];
        if (!slot->name) return 0;
        if (slot->hash != hash || !(slot->group & FROM_PROGRAM) != !relative) continue;
        const char *own = string_at(slot->name);
        if (own && same_text(own, name)) return slot->group & GROUP;
    }
    return 0;
}

/* The number of the entries that hold for an object: of the program, whose name is empty, or by its path. */
static u32 requester_group(const char *name) {
    u32 length;
    if (!name[0]) return table.program_group;
    u32 group = group_of(name, 0);
    if (group || !(table.flags & RELATIVE_REQUESTERS)) return group;
    const char *folder = program_folder(&length);
    if (!folder) return 0;
    for (u32 i = 0; i < length; i++)
        if (name[i] != folder[i]) return 0;
    return group_of(name + length, 1);
}

static int find_in_group(const char *name, u32 group, struct answer *answer) {
    u32 mask = table.entry_count - 1;
    u32 hash = hash_name(name, group);
    const struct entry *slots = (const struct entry *)(table_bytes() + table.entries);
    for (u32 probe = 0, i = hash; probe < table.entry_count; probe++, i++) {
        const struct entry *slot = &slots[i & mask];
        if (!slot->name) return 0;
        if (slot->hash != hash || (slot->group & GROUP) != group) continue;
        const char *own = string_at(slot->name);
        if (!own || !same_text(own, name)) continue;
        answer->path = string_at(slot->path);
        answer->before_library_path = (slot->group & BEFORE_LIBRARY_PATH) != 0;
        answer->from_program = (slot->group & FROM_PROGRAM) != 0;
        return answer->path && answer->path[0];
    }
    return 0;
}

/* The entry for a name: of the requester's group, else of group 0, which holds for all. */
static int find_entry(const char *name, word cookie, struct answer *answer) {
    if (cookie && cookie <= table.group_count && cookie <= GROUP && find_in_group(name, (u32)cookie, answer)) return 1;
    return find_in_group(name, 0, answer);
}

#endif
