/* Opens what it is told to, and tells what came. The words:
 *   NAME             dlopen, and call value()
 *   apart:NAME       the same in a namespace of its own
 *   through:NAME     the function through() of the library opened last opens NAME
 *   together:A,B...  eight threads open each name at once
 *   overwrite        writes over the variables, as programs do that show another name in ps
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell(const char *name, void *library) {
    int (*value)(void) = library ? dlsym(library, "value") : NULL;
    if (value)
        printf("%s %d\n", name, value());
    else
        printf("%s not there\n", name);
}

static pthread_barrier_t barrier;
static char *names[64];
static int name_count;

static void *open_all(void *shift) {
    pthread_barrier_wait(&barrier);
    long failed = 0;
    for (int i = 0; i < name_count; i++) failed += !dlopen(names[(i + (long)shift) % name_count], RTLD_NOW);
    return (void *)failed;
}

static void together(char *list) {
    pthread_t threads[8];
    long failed = 0;
    for (char *name = strtok(list, ","); name && name_count < 64; name = strtok(NULL, ",")) names[name_count++] = name;
    pthread_barrier_init(&barrier, NULL, 8);
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, open_all, (void *)i);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        failed += (long)result;
    }
    printf("failed %ld\n", failed);
}

int main(int argc, char **argv) {
    void *last = NULL;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (!strncmp(word, "apart:", 6)) {
            tell(word, dlmopen(LM_ID_NEWLM, word + 6, RTLD_NOW));
        } else if (!strncmp(word, "through:", 8)) {
            void *(*through)(const char *) = last ? dlsym(last, "through") : NULL;
            tell(word, through ? through(word + 8) : NULL);
        } else if (!strncmp(word, "together:", 9)) {
            together(word + 9);
        } else if (!strcmp(word, "overwrite")) {
            for (char **variable = environ; *variable; variable++) memset(*variable, 'x', strlen(*variable));
        } else {
            last = dlopen(word, RTLD_NOW);
            tell(word, last);
        }
    }
    puts("end");
}
