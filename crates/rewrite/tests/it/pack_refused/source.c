static int value[4];
#define P8 &value[0], &value[1], &value[2], &value[3], &value[1], &value[2], &value[3], &value[0],
#define P64 P8 P8 P8 P8 P8 P8 P8 P8
#ifndef FEW
int *table[] = { P64 P64 P64 P64 P64 P64 P64 P64 };
#endif
#ifndef NONE
int *first = &value[1];
int *get(int number) { return first + number; }
int getpid(void);
int process(void) { return getpid(); }
#endif
#ifdef PROGRAM
int main(void) { return *get(0); }
#endif
