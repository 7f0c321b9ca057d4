// A directory behind a network: each request waits SLOW_TREE_US microseconds, then is answered from the directory
// SLOW_TREE_ROOT. Names, also absent ones, and attributes are remembered by the kernel for 30 s, as NFS does.
//
// Built with: gcc -O2 slow_tree.c $(pkg-config --cflags --libs fuse3)
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *root;
static useconds_t latency;

static int below(char *full, const char *path) {
    usleep(latency);
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
    usleep(latency);
    ssize_t length = pread((int)info->fh, into, size, offset);
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
    return fuse_main(count, words, &operations, NULL);
}
