/* The two system calls that the library may do, without a libc. Numbers: the kernel's arch/.../syscalls tables. */
#ifndef SYSTEM_CALL_H
#define SYSTEM_CALL_H

#include "words.h"

#define AT_FDCWD (-100)
#define R_OK 4

#if defined(__x86_64__) && defined(__LP64__)
#define READLINKAT 267
#define FACCESSAT 269
static inline long system_call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__i386__)
#define READLINKAT 305
#define FACCESSAT 307
static inline long system_call(long number, long a, long b, long c, long d) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
    return result;
}
#elif defined(__aarch64__) || defined(__riscv)
#define READLINKAT 78
#define FACCESSAT 48
#ifdef __riscv
#define REGISTER(n) "a" #n
#define NUMBER "a7"
#define TRAP "ecall"
#else
#define REGISTER(n) "x" #n
#define NUMBER "x8"
#define TRAP "svc 0"
#endif
static inline long system_call(long number, long a, long b, long c, long d) {
    register long which __asm__(NUMBER) = number;
    register long first __asm__(REGISTER(0)) = a;
    register long second __asm__(REGISTER(1)) = b;
    register long third __asm__(REGISTER(2)) = c;
    register long fourth __asm__(REGISTER(3)) = d;
    __asm__ volatile(TRAP : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
}
#elif defined(__arm__)
#define READLINKAT 332
#define FACCESSAT 334
static inline long system_call(long number, long a, long b, long c, long d) {
    register long which __asm__("r7") = number;
    register long first __asm__("r0") = a;
    register long second __asm__("r1") = b;
    register long third __asm__("r2") = c;
    register long fourth __asm__("r3") = d;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
}
#elif defined(__s390x__)
#define READLINKAT 298
#define FACCESSAT 300
static inline long system_call(long number, long a, long b, long c, long d) {
    register long which __asm__("r1") = number;
    register long first __asm__("r2") = a;
    register long second __asm__("r3") = b;
    register long third __asm__("r4") = c;
    register long fourth __asm__("r5") = d;
    __asm__ volatile("svc 0" : "+d"(first) : "d"(which), "d"(second), "d"(third), "d"(fourth) : "memory");
    return first;
}
#else
#error "no system calls for this machine"
#endif

/* Whether the loader could open the file. It has no other rights than those of faccessat: in secure mode we are off. */
static inline int is_readable(const char *path) {
    return system_call(FACCESSAT, AT_FDCWD, (long)path, R_OK, 0) == 0;
}

#endif
