/* Checks the data of an MPI benchmark that does not check it itself.
 *
 * Preloaded into an unmodified program, it stands between the program and the library by MPI's profiling
 * interface (MPI-5.0 section 15.2). Before each call it fills what is sent with a pattern that follows from the
 * sender's rank, and what is received with another value; after the call, or when its request is complete, it looks
 * whether the right bytes came. Only MPI_BYTE, and MPI_FLOAT with MPI_SUM, are touched: the benchmarks use them for
 * their payload and nothing else. (IMB-MT, which uses MPI_INT, checks by itself.) At MPI_Finalize each rank prints
 * one line that the runner reads. With IMB_CHECK_PLANT set, one byte of the first message is spoilt on arrival: so
 * the runner knows that a defect would be seen.
 */
#ifndef CHECKER_H
#define CHECKER_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

/* One call, as its check needs it. A collective with different counts has arrays, else `count` holds for all. */
struct call {
    const char *name;
    MPI_Comm comm;
    int root;
    MPI_Datatype type;
    byte *out, *in;
    int out_count, in_count;
    const int *out_counts, *out_places, *in_counts, *in_places;
    void (*check)(const struct call *, const MPI_Status *);
};

/* The bytes of a buffer, where the processor can touch them, until the end of the view. */
byte *view(const void *buffer, long bytes);
void end_view(const void *buffer, byte *viewed, long bytes, int is_written);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

/* The bytes that `source` sends to `target` (0 where the target plays no part). */
void fill(void *buffer, long bytes, int source, int target);
/* A value that is in no pattern, so that a byte that never came is seen. */
void poison(void *buffer, long bytes);
void check(const char *name, const void *buffer, long bytes, int source, int target);
/* The same for a part of the bytes, from a place in them on. */
void check_from(const char *name, const void *buffer, long bytes, int source, int target, long place);

/* Reductions: small whole numbers, so that the sum is exact whatever the order. */
void fill_terms(void *buffer, long count, int rank);
/* `first` is the index of the buffer's first element in the whole vector. */
void check_sum(const char *name, const void *buffer, long count, int ranks, long first);

/* Runs the check of a call that has returned a request, when that request is complete. */
void check_later(MPI_Request request, const struct call *call);
/* How many calls whose data may still come write into this buffer. */
int under_way_into(const void *buffer);

#endif
