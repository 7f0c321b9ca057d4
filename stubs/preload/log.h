/* The log of a recorded start: the program, and each name that was asked for and absent. `crates/index/src/log.rs` reads it. */
#ifndef LOG_H
#define LOG_H

#include "process.h"

#define LOG_FLAGS (02001 | 02000000) /* O_WRONLY, O_APPEND, O_CLOEXEC */
#define F_DUPFD_CLOEXEC 1030
/* Programs expect that their first file gets the lowest number. */
#define HIGH 200

/* The log's descriptor, and what it must lead to: the program may have closed it and opened something else. */
static long log_file = -1;
static u64 log_device, log_inode;

static int log_is_open(void) {
    struct answer answer;
    if (log_file >= 0 && ask(log_file, "", AT_EMPTY_PATH, &answer) && answer.words[0] == log_device
        && answer.words[1] == log_inode)
        return 1;
    long low = system_call(OPENAT, AT_FDCWD, (long)log_path, LOG_FLAGS, 0);
    if (low < 0) return 0;
    long high = system_call(FCNTL, low, F_DUPFD_CLOEXEC, HIGH, 0);
    if (high >= 0) system_call(CLOSE, low, 0, 0, 0);
    log_file = high >= 0 ? high : low;
    if (!ask(log_file, "", AT_EMPTY_PATH, &answer)) return 0;
    log_device = answer.words[0];
    log_inode = answer.words[1];
    return 2;
}

static char *put(char *room, const char *text) {
    for (; *text; text++) {
        char escape = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text == '\\' ? '\\' : 0;
        if (escape) *room++ = '\\';
        *room++ = escape ? escape : *text;
    }
    return room;
}

static void write_event(char kind, const char *field) {
    char line[2 * PATH_MAXIMUM + 32], digits[24];
    char *end = line, *digit = digits + sizeof digits - 1;
    if (length_of(field) >= PATH_MAXIMUM) return;
    *digit = 0;
    for (word rest = (word)system_call(GETPID, 0, 0, 0, 0); rest || !*digit; rest /= 10) *--digit = '0' + (char)(rest % 10);
    *end++ = kind;
    *end++ = '\t';
    end = put(end, digit);
    *end++ = '\t';
    end = put(end, field);
    *end++ = '\n';
    system_call(WRITE, log_file, (long)line, end - line, 0);
}

/* Writes down that a name was absent. */
static void note_absence(const char *path) {
    char program[PATH_MAXIMUM];
    if (!path || path[0] != '/' || !is_on() || !log_path) return;
    int opened = log_is_open();
    if (opened == 2) {
        long size = system_call(READLINKAT, AT_FDCWD, (long)"/proc/self/exe", (long)program, PATH_MAXIMUM - 1);
        program[size > 0 ? size : 0] = 0;
        write_event('P', program);
    }
    if (opened) write_event('M', path);
}

#endif
