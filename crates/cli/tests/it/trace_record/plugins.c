#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int sum;
static void load(int i) {
  char name[32]; sprintf(name, "./p%d.so", i); void *p = dlopen(name, RTLD_NOW); if (!p) { puts(dlerror()); return; }
  int (*work)(void) = dlsym(p, "work"); sum += work(); if (i % 2) dlclose(p);
}
static void *other(void *x) { for (int i = 150; i < 300; i++) load(i); return 0; }
int main(void) {
  for (int i = 0; i < 150; i++) load(i);
  pthread_t t; pthread_create(&t, 0, other, 0); pthread_join(t, 0);
  for (int i = 0; i < 100; i++) load(i);
  printf("%d\n", sum); return 0;
}
