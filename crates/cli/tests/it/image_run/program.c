/* A program that tells where its files come from. Its words are orders; after `-` they come from standard input, one a line.
 * Built by mod.rs, with `lib/libpart.so` beside it, which it finds by $ORIGIN. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE 4096

int part(void);

static void failed(const char *path) { printf("%s: %s\n", path, strerror(errno)); }

static const char *kind(int file) {
    struct statfs found;
    return fstatfs(file, &found) == 0 && (unsigned)found.f_type == 0xe0f5e1e2 ? "erofs" : "disk";
}

/* Which file system a file comes from, and its first line. */
static void look(const char *path) {
    char line[80] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed(path);
    ssize_t length = read(file, line, sizeof line - 1);
    if (length < 0) failed(path);
    line[strcspn(line, "\n")] = 0;
    printf("%s %s %s\n", path, kind(file), line);
    close(file);
}

static void write_to(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, "more\n", 5) != 5) return failed(path);
    printf("%s written\n", path);
    close(file);
}

static void own_program(void) {
    char path[4096] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return failed("exe");
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    printf("exe %s %s\n", path, kind(file));
    close(file);
}

/* The library by its name in the loader's list, and whether what is mapped is the file of that name. */
static void own_library(void) {
    Dl_info info;
    struct stat named;
    char *line = NULL, wanted[64];
    size_t room = 0;
    dladdr((void *)part, &info);
    int file = open(info.dli_fname, O_RDONLY | O_CLOEXEC), mapped = 0;
    if (file < 0 || fstat(file, &named) != 0) return failed(info.dli_fname);
    snprintf(wanted, sizeof wanted, " %lu", (unsigned long)named.st_ino);
    FILE *maps = fopen("/proc/self/maps", "re");
    while (getline(&line, &room, maps) > 0) {
        unsigned major, minor;
        unsigned long inode;
        if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) == 3 && strstr(line, "libpart.so"))
            mapped += inode == named.st_ino && makedev(major, minor) == named.st_dev;
    }
    fclose(maps);
    printf("part %d %s %s %s\n", part(), info.dli_fname, kind(file), mapped ? "mapped" : "not mapped");
    close(file);
}

static void descriptors(void) {
    DIR *list = opendir("/proc/self/fd");
    struct dirent *entry;
    char open_ones[1024];
    for (int number = 0; number < 1024; number++) open_ones[number] = 0;
    while ((entry = readdir(list)))
        if (atoi(entry->d_name) != dirfd(list) && entry->d_name[0] != '.') open_ones[atoi(entry->d_name) % 1024] = 1;
    printf("descriptors");
    for (int number = 0; number < 1024; number++)
        if (open_ones[number]) printf(" %d", number);
    printf("\n");
    closedir(list);
}

/* Uses one page of a file, and no other. */
static void use_page(const char *path, int page) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0) return failed(path);
    volatile char *bytes = mmap(NULL, found.st_size, PROT_READ, MAP_SHARED, file, 0);
    madvise((void *)bytes, found.st_size, MADV_RANDOM);
    printf("page %d %d\n", page, bytes[(long)page * PAGE]);
    munmap((void *)bytes, found.st_size);
    close(file);
}

/* The number in a file, which is one more for the next start. */
static int next(const char *path) {
    int number = 0;
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%d", &number) != 1) number = 0;
        fclose(file);
    }
    file = fopen(path, "we");
    fprintf(file, "%d\n", number + 1);
    fclose(file);
    return number;
}

static void order(const char *word, const char *object) {
    if (!strcmp(word, "look")) look(object);
    else if (!strcmp(word, "write")) write_to(object);
    else if (!strcmp(word, "remove")) { if (unlink(object) == 0) printf("%s removed\n", object); else failed(object); }
    else if (!strcmp(word, "exe")) own_program();
    else if (!strcmp(word, "part")) own_library();
    else if (!strcmp(word, "descriptors")) descriptors();
    else if (!strcmp(word, "env")) printf("env %s\n", getenv(object) ? getenv(object) : "none");
    else if (!strcmp(word, "user")) printf("user %u %u\n", getuid(), geteuid());
    else if (!strcmp(word, "exit")) { fflush(stdout); exit(atoi(object)); }
    else if (!strcmp(word, "wait-at")) { if (next(object) >= 1) { write_to(object); pause(); } }
    else printf("%s?\n", word);
    fflush(stdout);
}

int main(int count, char **words) {
    printf("argv %s\n", words[0]);
    for (int at = 1; at + 1 < count; at += 2) {
        if (!strcmp(words[at], "next") && at + 2 < count) {
            /* next COUNTER FILE: each start uses another page. */
            use_page(words[at + 2], 10 + 10 * next(words[at + 1]));
            at++;
        } else if (!strcmp(words[at], "page") && at + 2 < count) {
            use_page(words[at + 1], atoi(words[at + 2]));
            at++;
        } else order(words[at], words[at + 1]);
    }
    fflush(stdout);
    if (count % 2 == 0 && !strcmp(words[count - 1], "-")) {
        char *line = NULL;
        size_t room = 0;
        while (getline(&line, &room, stdin) > 0) {
            line[strcspn(line, "\n")] = 0;
            char *object = strchr(line, ' ');
            if (object) *object++ = 0;
            order(line, object ? object : "");
        }
    }
    return 0;
}
