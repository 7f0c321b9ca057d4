#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int first(void); int second(void); int third(void);
int main(int count, char **words) {
    for (int place = 1; place + 1 < count; place += 2) {
        const char *verb = words[place], *what = words[place + 1];
        if (!strcmp(verb, "open")) {
            void *library = dlopen(what, RTLD_NOW);
            if (!library) { puts(dlerror()); return 3; }
            int (*plugin)(void) = (int (*)(void)) dlsym(library, "plugin");
            printf("plugin %d\n", plugin ? plugin() : -1);
        } else if (!strcmp(verb, "child")) {
            fflush(stdout);
            return system(what) ? 4 : 0;
        } else if (!strcmp(verb, "wait")) {
            puts("ready"); fflush(stdout); getchar();
        }
    }
    printf("%d %d %d\n", first(), second(), third());
    return 0;
}
