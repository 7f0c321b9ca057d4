/* The preloaded library of `coldstart index make --shim`: answers "no such file" for names that were absent when the index was made, as
 * long as their directory is unchanged. Everything else goes to the C library's own function.
 *
 * What a newcomer would not guess: the list of functions below is longer for events than for questions. An absence is believed only
 * while nothing has happened through which the process could have learned of a change, so we have to see what happens. */

#include "process.h"
#include "next.h"
#include "log.h"

/* Flags of linux/fcntl.h and linux/stat.h, the same on all machines that we are built for. */
#define O_CREAT 0100
#define TMPFILE_BIT 020000000
#define CREATES(flags) ((flags) & (O_CREAT | TMPFILE_BIT))
#define NOFOLLOW_EACCESS 0x300
#define STAT_FLAGS (0x100 | 0x800 | 0x1000)
#define STATX_FLAGS (STAT_FLAGS | 0x6000)
#define STATX_RESERVED 0x80000000
#define PR_SET_SECCOMP 22

/* A function that asks for a name. It is answered if `known` holds: with other arguments the kernel may have another answer. */
#define ASKS(function, type, failure, known, parameters, arguments)                                                    \
    EXPORTED long function parameters {                                                                                \
        if ((known) && is_absent(path)) {                                                                              \
            note_absence(path);                                                                                        \
            return failed(ENOENT, failure);                                                                            \
        }                                                                                                              \
        long result = NEXT(function) arguments;                                                                        \
        if ((type)result == failure && (known) && *errno_place() == ENOENT) note_absence(path);                   \
        return result;                                                                                                 \
    }

/* A function after which what was known has to be asked again: it makes a name, or waits for somebody else. */
#define CHANGES(function, parameters, arguments)                                                                       \
    EXPORTED long function parameters {                                                                                \
        long result = NEXT(function) arguments;                                                                        \
        forget();                                                                                                      \
        return result;                                                                                                 \
    }

/* A function with which a process begins to talk with others, or to see other files: it asks the kernel for everything from now on. */
#define ENDS(function, condition, parameters, arguments)                                                               \
    EXPORTED long function parameters {                                                                                \
        if (condition) stop();                                                                                         \
        return NEXT(function) arguments;                                                                               \
    }

/* Opening: a question, or the making of a name. */
#define OPENS(function, parameters, arguments)                                                                         \
    EXPORTED long function parameters {                                                                                \
        if (!CREATES(flags) && is_absent(path)) {                                                                      \
            note_absence(path);                                                                                        \
            return failed(ENOENT, -1);                                                                                 \
        }                                                                                                              \
        long result = NEXT(function) arguments;                                                                        \
        if (CREATES(flags))                                                                                            \
            forget();                                                                                                  \
        else if ((int)result == -1 && *errno_place() == ENOENT)                                                   \
            note_absence(path);                                                                                        \
        return result;                                                                                                 \
    }

#define OPENS_STREAM(function)                                                                                         \
    EXPORTED long function(const char *path, const char *mode) {                                                       \
        int reads = mode && mode[0] == 'r';                                                                            \
        if (reads && is_absent(path)) {                                                                                \
            note_absence(path);                                                                                        \
            return failed(ENOENT, 0);                                                                                  \
        }                                                                                                              \
        long result = NEXT(function)(path, mode);                                                                      \
        if (!reads)                                                                                                    \
            forget();                                                                                                  \
        else if (!result && *errno_place() == ENOENT)                                                             \
            note_absence(path);                                                                                        \
        return result;                                                                                                 \
    }

OPENS(open, (const char *path, long flags, long mode), (path, flags, mode))
OPENS(open64, (const char *path, long flags, long mode), (path, flags, mode))
OPENS(__open_2, (const char *path, long flags), (path, flags))
OPENS(__open64_2, (const char *path, long flags), (path, flags))
OPENS(openat, (long directory, const char *path, long flags, long mode), (directory, path, flags, mode))
OPENS(openat64, (long directory, const char *path, long flags, long mode), (directory, path, flags, mode))
OPENS(__openat_2, (long directory, const char *path, long flags), (directory, path, flags))
OPENS(__openat64_2, (long directory, const char *path, long flags), (directory, path, flags))
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

ASKS(opendir, long, 0, 1, (const char *path), (path))
ASKS(access, int, -1, !(mode & ~7), (const char *path, int mode), (path, mode))
ASKS(eaccess, int, -1, !(mode & ~7), (const char *path, int mode), (path, mode))
ASKS(euidaccess, int, -1, !(mode & ~7), (const char *path, int mode), (path, mode))
ASKS(faccessat, int, -1, !(mode & ~7) && !(flags & ~NOFOLLOW_EACCESS), (long directory, const char *path, int mode, int flags),
     (directory, path, mode, flags))
ASKS(stat, int, -1, 1, (const char *path, void *found), (path, found))
ASKS(stat64, int, -1, 1, (const char *path, void *found), (path, found))
ASKS(lstat, int, -1, 1, (const char *path, void *found), (path, found))
ASKS(lstat64, int, -1, 1, (const char *path, void *found), (path, found))
ASKS(fstatat, int, -1, !(flags & ~STAT_FLAGS), (long directory, const char *path, void *found, int flags),
     (directory, path, found, flags))
ASKS(fstatat64, int, -1, !(flags & ~STAT_FLAGS), (long directory, const char *path, void *found, int flags),
     (directory, path, found, flags))
/* What programs call that were built before glibc 2.33. */
ASKS(__xstat, int, -1, 1, (long version, const char *path, void *found), (version, path, found))
ASKS(__xstat64, int, -1, 1, (long version, const char *path, void *found), (version, path, found))
ASKS(__lxstat, int, -1, 1, (long version, const char *path, void *found), (version, path, found))
ASKS(__lxstat64, int, -1, 1, (long version, const char *path, void *found), (version, path, found))
ASKS(__fxstatat, int, -1, !(flags & ~STAT_FLAGS), (long version, long directory, const char *path, void *found, int flags),
     (version, directory, path, found, flags))
ASKS(__fxstatat64, int, -1, !(flags & ~STAT_FLAGS), (long version, long directory, const char *path, void *found, int flags),
     (version, directory, path, found, flags))
ASKS(statx, int, -1, !(flags & ~STATX_FLAGS) && !(mask & STATX_RESERVED),
     (long directory, const char *path, int flags, u32 mask, void *found), (directory, path, flags, mask, found))
ASKS(readlink, long, -1, size > 0, (const char *path, char *room, long size), (path, room, size))
ASKS(readlinkat, long, -1, size > 0, (long directory, const char *path, char *room, long size), (directory, path, room, size))

/* Names are made. */
CHANGES(creat, (const char *path, long mode), (path, mode))
CHANGES(creat64, (const char *path, long mode), (path, mode))
CHANGES(freopen, (const char *path, const char *mode, void *stream), (path, mode, stream))
CHANGES(freopen64, (const char *path, const char *mode, void *stream), (path, mode, stream))
CHANGES(mkdir, (const char *path, long mode), (path, mode))
CHANGES(mkdirat, (long directory, const char *path, long mode), (directory, path, mode))
CHANGES(mknod, (const char *path, long mode, word device), (path, mode, device))
CHANGES(mknodat, (long directory, const char *path, long mode, word device), (directory, path, mode, device))
CHANGES(__xmknod, (long version, const char *path, long mode, word device), (version, path, mode, device))
CHANGES(link, (const char *from, const char *to), (from, to))
CHANGES(linkat, (long a, const char *from, long b, const char *to, long flags), (a, from, b, to, flags))
CHANGES(symlink, (const char *from, const char *to), (from, to))
CHANGES(symlinkat, (const char *from, long directory, const char *to), (from, directory, to))
CHANGES(rename, (const char *from, const char *to), (from, to))
CHANGES(renameat, (long a, const char *from, long b, const char *to), (a, from, b, to))
CHANGES(renameat2, (long a, const char *from, long b, const char *to, long flags), (a, from, b, to, flags))
CHANGES(bind, (long socket, const void *address, long size), (socket, address, size))

/* Others had time to make names, and told us perhaps. */
CHANGES(wait, (void *status), (status))
CHANGES(wait3, (void *status, long options, void *usage), (status, options, usage))
CHANGES(wait4, (long process, void *status, long options, void *usage), (process, status, options, usage))
CHANGES(waitpid, (long process, void *status, long options), (process, status, options))
CHANGES(waitid, (long kind, long id, void *info, long options), (kind, id, info, options))
CHANGES(sleep, (long seconds), (seconds))
CHANGES(usleep, (long time), (time))
CHANGES(nanosleep, (const void *time, void *left), (time, left))
CHANGES(clock_nanosleep, (long clock, long flags, const void *time, void *left), (clock, flags, time, left))
CHANGES(pause, (void), ())
CHANGES(sigsuspend, (const void *set), (set))
CHANGES(sigwait, (const void *set, void *number), (set, number))
CHANGES(sigwaitinfo, (const void *set, void *info), (set, info))
CHANGES(sigtimedwait, (const void *set, void *info, const void *time), (set, info, time))
CHANGES(poll, (void *files, word count, long time), (files, count, time))
CHANGES(ppoll, (void *files, word count, const void *time, const void *set), (files, count, time, set))
CHANGES(select, (long count, void *a, void *b, void *c, void *time), (count, a, b, c, time))
CHANGES(pselect, (long count, void *a, void *b, void *c, const void *time, const void *set), (count, a, b, c, time, set))
CHANGES(epoll_wait, (long file, void *events, long count, long time), (file, events, count, time))
CHANGES(epoll_pwait, (long file, void *events, long count, long time, const void *set), (file, events, count, time, set))

/* The process sees directories with other rights. */
CHANGES(setuid, (long user), (user))
CHANGES(seteuid, (long user), (user))
CHANGES(setreuid, (long a, long b), (a, b))
CHANGES(setresuid, (long a, long b, long c), (a, b, c))
CHANGES(setgid, (long group), (group))
CHANGES(setegid, (long group), (group))
CHANGES(setregid, (long a, long b), (a, b))
CHANGES(setresgid, (long a, long b, long c), (a, b, c))
CHANGES(setgroups, (word count, const void *groups), (count, groups))
CHANGES(setfsuid, (long user), (user))
CHANGES(setfsgid, (long group), (group))

/* The process waits for another one that it has made. */
CHANGES(system, (const char *command), (command))
EXPORTED long popen(const char *command, const char *mode) {
    talk();
    long stream = NEXT(popen)(command, mode);
    if (!stream) talked();
    return stream;
}
EXPORTED long pclose(void *stream) {
    long result = NEXT(pclose)(stream);
    talked();
    return result;
}

/* The process has others beside it, or talks with them. */
ENDS(fork, 1, (void), ())
ENDS(_Fork, 1, (void), ())
ENDS(daemon, 1, (long a, long b), (a, b))
ENDS(posix_spawn, 1, (void *process, const char *path, const void *a, const void *b, const void *c, const void *d),
     (process, path, a, b, c, d))
ENDS(posix_spawnp, 1, (void *process, const char *path, const void *a, const void *b, const void *c, const void *d),
     (process, path, a, b, c, d))
ENDS(pipe, 1, (void *files), (files))
ENDS(pipe2, 1, (void *files, long flags), (files, flags))
ENDS(mkfifo, 1, (const char *path, long mode), (path, mode))
ENDS(mkfifoat, 1, (long directory, const char *path, long mode), (directory, path, mode))
ENDS(socket, 1, (long a, long b, long c), (a, b, c))
ENDS(socketpair, 1, (long a, long b, long c, void *files), (a, b, c, files))
ENDS(accept, 1, (long socket, void *address, void *size), (socket, address, size))
ENDS(accept4, 1, (long socket, void *address, void *size, long flags), (socket, address, size, flags))
ENDS(recvmsg, 1, (long socket, void *message, long flags), (socket, message, flags))
ENDS(inotify_init, 1, (void), ())
ENDS(inotify_init1, 1, (long flags), (flags))
ENDS(fanotify_init, 1, (long flags, long file_flags), (flags, file_flags))
ENDS(signalfd, 1, (long file, const void *set, long flags), (file, set, flags))

/* Names mean other files, or calls of ours may be forbidden. */
ENDS(chroot, 1, (const char *path), (path))
ENDS(mount, 1, (const char *a, const char *b, const char *c, word flags, const void *data), (a, b, c, flags, data))
ENDS(umount, 1, (const char *path), (path))
ENDS(umount2, 1, (const char *path, long flags), (path, flags))
ENDS(unshare, 1, (long flags), (flags))
ENDS(setns, 1, (long file, long kind), (file, kind))
ENDS(prctl, (int)option == PR_SET_SECCOMP, (long option, word a, word b, word c, word d), (option, a, b, c, d))
ENDS(syscall, !is_harmless(number), (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f))
