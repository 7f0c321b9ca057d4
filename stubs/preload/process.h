/* Whether this process uses the table, and how long it believes what it has seen. */
#ifndef PROCESS_H
#define PROCESS_H

#include "calls.h"

#define EXPORTED __attribute__((visibility("default")))

/* The C library's own. Weak: a program without one need not be stopped by us. Functions as data, so that no linker makes a PLT for
 * them. */
extern char **environ __attribute__((weak));
extern const u8 errno_function[] __asm__("__errno_location") __attribute__((weak));
extern const u8 clock_function[] __asm__("clock_gettime") __attribute__((weak));
struct time {
    long seconds, nanoseconds;
};

/* The compiler must not see through it, or it would call the function directly. */
static inline word address_of(const u8 *function) {
    __asm__("" : "+r"(function));
    return (word)function;
}
static inline int *errno_place(void) { return ((int *(*)(void))address_of(errno_function))(); }
static inline int ask_clock(int clock, struct time *time) {
    return ((int (*)(int, struct time *))address_of(clock_function))(clock, time);
}

/* Reports an error as functions of the C library do. */
static inline long failed(int error, long result) {
    *errno_place() = error;
    return result;
}

#define CLOCK_MONOTONIC_COARSE 6

/* How long a directory is believed to be unchanged, in milliseconds. Long enough that a start asks for each directory a few times only;
 * shorter than what network file systems keep their own answers for (`acdirmin` of nfs(5): 30 s). */
#define BELIEF 100

enum { NOT_BEGUN, ON, OFF };
static int state = NOT_BEGUN;
/* The log of a recorded start, or null. */
static const char *log_path = 0;
/* What was seen in an earlier epoch is seen again. */
static u32 epoch = 0;

#define EPOCH_SHIFT 40
#define CHANGED (~0ull)

static inline void forget(void) { __atomic_add_fetch(&epoch, 1, __ATOMIC_SEQ_CST); }
/* Streams to other processes that are open. What comes through them is read in the C library, out of our sight. */
static u32 streams = 0;
static inline void talk(void) { __atomic_add_fetch(&streams, 1, __ATOMIC_SEQ_CST); }
static inline void talked(void) {
    forget();
    __atomic_sub_fetch(&streams, 1, __ATOMIC_SEQ_CST);
}
static inline void stop(void) { __atomic_store_n(&state, OFF, __ATOMIC_SEQ_CST); }

/* Another library that is preloaded may give names another meaning. */
static int has_several(const char *preloaded) {
    for (; *preloaded; preloaded++)
        if (*preloaded == ':' || *preloaded == ' ') return 1;
    return 0;
}

/* Whoever feeds our standard input may make files and tell us of them, through functions that cannot be seen from here. */
static int input_is_another_process(void) {
    struct answer answer;
    if (!ask(0, "", AT_EMPTY_PATH, &answer)) return 0;
    u32 kind = mode_of(&answer) & 0170000;
    return kind == 0010000 || kind == 0140000;
}

static int is_recorded_program(void) {
    struct answer answer;
    if (!ask(AT_FDCWD, "/proc/self/exe", 0, &answer)) return 0;
    const struct identity *programs = (const struct identity *)(table_bytes() + table.programs);
    for (u32 i = 0; i < table.program_count; i++)
        if (same_identity(&answer, &programs[i])) return 1;
    return 0;
}

static int begin(void) {
    const char *value, *log = 0;
    if (!errno_function || !clock_function || !table_is_sound()) return OFF;
    for (char **variable = environ; *variable; variable++) {
        if ((value = after(*variable, "COLDSTART_DISABLE=")) && *value && !same_text(value, "0")) return OFF;
        if ((value = after(*variable, "LD_PRELOAD=")) && has_several(value)) return OFF;
        if ((value = after(*variable, "COLDSTART_INDEX_LOG_PRELOAD=")) && *value) log = value;
    }
    if (input_is_another_process()) return OFF;
    /* A table without programs is one in the making. */
    if (!(log && !table.program_count) && !is_recorded_program()) return OFF;
    log_path = log;
    return ON;
}

static int is_on(void) {
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now != NOT_BEGUN) return now == ON;
    /* Asked so early that there is no environment yet. */
    if (!&environ || !environ) return 0;
    int begun = begin();
    /* Unless another thread has begun or stopped meanwhile. */
    return __atomic_compare_exchange_n(&state, &now, begun, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? begun == ON : now == ON;
}

/* Whether a directory has the same names as when the index was made. */
static int is_unchanged(struct guard *guard) {
    struct time time;
    if (ask_clock(CLOCK_MONOTONIC_COARSE, &time)) return 0;
    u64 now = (u64)time.seconds * 1000 + (u64)time.nanoseconds / 1000000;
    u64 current = (u64)__atomic_load_n(&epoch, __ATOMIC_SEQ_CST) << EPOCH_SHIFT;
    u64 believed = __atomic_load_n(&guard->believed, __ATOMIC_RELAXED);
    if (believed == CHANGED) return 0;
    if (believed > (current | now) && believed <= (current | (now + BELIEF))) return 1;
    struct answer answer;
    const char *path = string_at(guard->path);
    int same = path && ask(AT_FDCWD, path, 0, &answer) && same_identity(&answer, &guard->identity);
    __atomic_store_n(&guard->believed, same ? current | (now + BELIEF) : CHANGED, __ATOMIC_RELAXED);
    return same;
}

/* Whether a name is known to be absent now. */
static int is_absent(const char *path) {
    if (!path || path[0] != '/' || !is_on() || __atomic_load_n(&streams, __ATOMIC_SEQ_CST)) return 0;
    struct guard *guard = guard_of(path);
    return guard && is_unchanged(guard);
}

#endif
