// A directory behind a network: each request waits SLOW_TREE_US microseconds, then is answered from the directory
// SLOW_TREE_ROOT. Names, also absent ones, and attributes are remembered by the kernel for 30 s, as NFS does.
//
// With SLOW_TREE_QUEUE, a file of zeros of the size of `struct queue`, all mounts that name it are clients of one server, which serves
// one request after the other: each takes SLOW_TREE_SERVICE_US and its bytes at SLOW_TREE_MB_PER_S, and is answered after the latency.
//
// Built with: gcc -O2 slow_tree.c $(pkg-config --cflags --libs fuse3)
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *root;
static useconds_t latency;

// What all clients of a server share. The script that starts them reads it, too.
struct queue {
    uint64_t free_at; // CLOCK_MONOTONIC in nanoseconds, when the last request of the queue is served
    uint64_t names;   // requests about names and attributes
    uint64_t reads;
    uint64_t bytes;
};
static struct queue *queue;
static uint64_t service, nanoseconds_per_megabyte;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void be_served(size_t bytes) {
    if (!queue) {
        usleep(latency);
        return;
    }
    uint64_t lasts = service + bytes * nanoseconds_per_megabyte / 1000000;
    uint64_t before = __atomic_load_n(&queue->free_at, __ATOMIC_RELAXED), at = now(), end;
    do end = (before > at ? before : at) + lasts;
    while (!__atomic_compare_exchange_n(&queue->free_at, &before, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    end += (uint64_t)latency * 1000;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000), .tv_nsec = (long)(end % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

static int below(char *full, const char *path) {
    if (queue) __atomic_add_fetch(&queue->names, 1, __ATOMIC_RELAXED);
    be_served(0);
    return snprintf(full, PATH_MAX, "%s%s", root, path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int slow_getattr(const char *path, struct stat *found, struct fuse_file_info *info) {
    char full[PATH_MAX];
    (void)info;
    int failed = below(full, path);
    return failed ? failed : lstat(full, found) ? -errno : 0;
}

static int slow_readlink(const char *path, char *target, size_t size) {
    char full[PATH_MAX];
    int failed = below(full, path);
    if (failed) return failed;
    ssize_t length = readlink(full, target, size - 1);
    if (length < 0) return -errno;
    target[length] = 0;
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info) {
    char full[PATH_MAX];
    int failed = below(full, path);
    if (failed) return failed;
    int descriptor = open(full, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    info->fh = (uint64_t)descriptor;
    info->keep_cache = 1;
    return 0;
}

static int slow_read(const char *path, char *into, size_t size, off_t offset, struct fuse_file_info *info) {
    (void)path;
    ssize_t length = pread((int)info->fh, into, size, offset);
    size_t bytes = length < 0 ? 0 : (size_t)length;
    if (queue) {
        __atomic_add_fetch(&queue->reads, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&queue->bytes, bytes, __ATOMIC_RELAXED);
    }
    be_served(bytes);
    return length < 0 ? -errno : (int)length;
}

static int slow_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    close((int)info->fh);
    return 0;
}

static int slow_readdir(const char *path, void *into, fuse_fill_dir_t add, off_t offset, struct fuse_file_info *info,
                        enum fuse_readdir_flags flags) {
    char full[PATH_MAX];
    (void)offset;
    (void)info;
    (void)flags;
    int failed = below(full, path);
    if (failed) return failed;
    DIR *directory = opendir(full);
    if (!directory) return -errno;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat found = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        add(into, entry->d_name, &found, 0, 0);
    }
    closedir(directory);
    return 0;
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    if (connection->capable & FUSE_CAP_CACHE_SYMLINKS) connection->want |= FUSE_CAP_CACHE_SYMLINKS;
    config->use_ino = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 30;
    return NULL;
}

static const struct fuse_operations operations = {
    .getattr = slow_getattr,
    .readlink = slow_readlink,
    .open = slow_open,
    .read = slow_read,
    .release = slow_release,
    .readdir = slow_readdir,
    .init = slow_init,
};

int main(int count, char **words) {
    const char *microseconds = getenv("SLOW_TREE_US");
    root = getenv("SLOW_TREE_ROOT");
    if (!root || !microseconds) return 2;
    latency = (useconds_t)atoi(microseconds);
    const char *shared = getenv("SLOW_TREE_QUEUE"), *each = getenv("SLOW_TREE_SERVICE_US"), *rate = getenv("SLOW_TREE_MB_PER_S");
    if (shared) {
        int descriptor = open(shared, O_RDWR | O_CLOEXEC);
        if (descriptor < 0 || !each || !rate || atof(rate) <= 0) return 2;
        queue = mmap(NULL, sizeof *queue, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        close(descriptor);
        if (queue == MAP_FAILED) return 2;
        service = (uint64_t)(atof(each) * 1000);
        nanoseconds_per_megabyte = (uint64_t)(1e9 / atof(rate));
    }
    return fuse_main(count, words, &operations, NULL);
}
