/* What our OpenSHMEM test programs share: checks that count.
 *
 * A program calls check_begin, checks, and returns check_end() from main: not zero where a check failed on this PE. A
 * failed check says where and goes on, so that no other PE is left waiting. */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int me, npes;

#define CHECK_FAILED(...)                                                               \
    do {                                                                                \
        if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED) <= 10) {           \
            fprintf(stderr, "%s:%d: PE %d of %d: ", __FILE__, __LINE__, me, npes);      \
            fprintf(stderr, __VA_ARGS__);                                               \
            fputc('\n', stderr);                                                        \
        }                                                                               \
    } while (0)

/* Two integers are the same. */
#define CHECK_EQUAL(value, expected)                                                     \
    do {                                                                                 \
        long long value_ = (long long)(value), expected_ = (long long)(expected);        \
        if (value_ != expected_)                                                         \
            CHECK_FAILED("%s is %lld, not %lld", #value, value_, expected_);             \
    } while (0)

/* Something is true. */
#define CHECK(condition)                                  \
    do {                                                  \
        if (!(condition))                                 \
            CHECK_FAILED("not so: %s", #condition);       \
    } while (0)

static inline void check_begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
}

static inline int check_end(void)
{
    shmem_barrier_all();
    shmem_finalize();
    return check_failures != 0;
}

/* Each type of the standard: its name in functions, and in C. */
#define AMO_TYPES(X)                                                                                        \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned) X(ulong, unsigned long)              \
    X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)                \
    X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define BITWISE_TYPES(X)                                                                                    \
    X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)            \
    X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define RMA_TYPES(X)                                                                                        \
    AMO_TYPES(X) X(float, float) X(double, double) X(longdouble, long double) X(char, char)                 \
    X(schar, signed char) X(short, short) X(uchar, unsigned char) X(ushort, unsigned short)                 \
    X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)

#endif
