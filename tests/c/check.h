/* What our C test programs share: checks that count, and a pattern of bytes.
 *
 * A program calls check_begin, checks, and returns check_end() from main: not
 * zero where a check failed on this rank. A failed check says where and goes
 * on, so that no other rank is left waiting. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int rank, size;

static inline void check_failed(const char *file, int line, const char *format, ...)
{
    if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED) > 10)
        return;
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, rank, size, sentence);
}

/* Two integers are the same. */
#define CHECK_EQUAL(value, expected)                                                         \
    do {                                                                                     \
        long long value_ = (value), expected_ = (expected);                                  \
        if (value_ != expected_)                                                             \
            check_failed(__FILE__, __LINE__, "%s is %lld, not %lld", #value, value_, expected_); \
    } while (0)

/* Something is true. */
#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition))                                             \
            check_failed(__FILE__, __LINE__, "not so: %s", #condition); \
    } while (0)

/* The class of an error code; MPI_SUCCESS is its own class. */
static inline int class_of(int code)
{
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &error_class);
    return error_class;
}

/* A call gives an error of one class (or MPI_SUCCESS). */
#define CHECK_CLASS(call, expected)                                                   \
    do {                                                                              \
        int class_ = class_of(call), expected_ = (expected);                          \
        if (class_ != expected_)                                                      \
            check_failed(__FILE__, __LINE__, "%s gives class %d, not %s (%d)", #call, \
                         class_, #expected, expected_);                               \
    } while (0)

static inline unsigned char pattern(size_t index, unsigned seed)
{
    return (unsigned char)(index * 131 + (index >> 8) * 7 + seed * 29 + 1);
}

/* Fills a buffer with the pattern of a seed. */
static inline void fill(void *buffer, size_t bytes, unsigned seed)
{
    for (size_t index = 0; index < bytes; index++)
        ((unsigned char *)buffer)[index] = pattern(index, seed);
}

/* A buffer holds the pattern of a seed. */
static inline void check_filled(const char *file, int line, const void *buffer, size_t bytes,
                                unsigned seed)
{
    const unsigned char *data = buffer;
    for (size_t index = 0; index < bytes; index++)
        if (data[index] != pattern(index, seed)) {
            check_failed(file, line, "byte %zu of %zu is %d, not %d", index, bytes, data[index],
                         pattern(index, seed));
            return;
        }
}
#define CHECK_FILLED(buffer, bytes, seed) check_filled(__FILE__, __LINE__, buffer, bytes, seed)

static inline void check_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int check_end(void)
{
    MPI_Finalize();
    return check_failures != 0;
}

#endif
