/* The auditing library (rtld-audit(7)): gives glibc's loader each library's path, from a table that coldstart appends.
 *
 * It has no libc and needs no other library, so the loader maps it with a handful of calls. What a newcomer would not
 * guess: which functions it does *not* have is what keeps it fast. With la_symbind or la_pltenter the loader leaves the
 * short way of binding symbols (elf/dl-reloc.c), and with la_activity it calls us around each dlopen.
 *
 * In case of doubt (a damaged table, an unreadable environment), the name is returned unchanged, so
 * that the loader searches as usual. */

#include "environment.h"
#include "library_path.h"
#include "table.h"

/* elf/link.h of glibc: the part of the loader's record of an object that is public, and the same since 1997. */
struct link_map {
    word address;
    const char *name;
    const struct dynamic *dynamic;
};

/* The flag of la_objsearch for the name as the requester wrote it; others announce each place that is tried. */
#define LA_SER_ORIG 1

#define EXPORTED __attribute__((visibility("default")))

/* How far we are. Searches are answered in state ON only. */
enum { WAITING, ON, OFF };
static u8 state = OFF;

/* Called first. Zero says "not interested", and the loader unmaps us; any version up to its own is well, and what we
 * use has been the same in all of them. On some machines the loader takes its own version only. */
EXPORTED unsigned la_version(unsigned version) {
    if (!table_is_sound()) return 0;
    state = WAITING;
    return version;
}

/* Called for the program, then for the loader itself, then for each object after it has been mapped. The cookie that
 * we leave comes back with each search of that object. */
EXPORTED unsigned la_objopen(const struct link_map *map, long namespace_, word *cookie) {
    (void)namespace_;
    *cookie = 0;
    if (state == WAITING && map->name && map->name[0]) {
        /* The first with a name is the loader, or the kernel's own object before it. The loader's __libc_stack_end
         * leads to the environment without a call. */
        u32 size;
        char *room = scratch_from(0, &size);
        if (size > PATH_MAXIMUM) size = PATH_MAXIMUM;
        enum reading reading = read_environment(map->address, map->dynamic, room, size);
        if (reading != NOT_THE_LOADER) state = reading == TABLE_ON ? ON : OFF;
        return 0;
    }
    if (state != OFF && map->name) *cookie = requester_group(map->name);
    return 0;
}

/* The place of a library, or the name as it came. */
EXPORTED const char *la_objsearch(const char *name, const word *cookie, unsigned flag) {
    struct answer answer;
    if (flag != LA_SER_ORIG || state != ON || !name) return name;
    if (!find_entry(name, *cookie, &answer)) return name;
    /* LD_LIBRARY_PATH comes before RUNPATH and after RPATH, and is not asked about names with a slash. */
    if (!answer.before_library_path && library_path && !has_slash(name) && library_path_may_have(name)) return name;
    const char *path = answer.from_program ? below_program(answer.path) : answer.path;
    if (!path || (table_checks_files() && !is_readable(path))) return name;
    return path;
}
