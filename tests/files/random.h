/* What the parts of the random tester share (random.c). All ranks throw the same dice, so each knows what all do: the model is
 * the file's bytes, changed one operation after the other. */
#ifndef RANDOM_H
#define RANDOM_H

#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24 << 20, RANKS = 12, PIECES = 24, HANDLES = 3, BUFFER = 4096, LARGE = 5 << 18, ROOM = 6 * LARGE };

/* The bytes of a tile that a rank sees. */
struct view {
    int number, size, extent, at[PIECES], length[PIECES];
};

/* An open file. Arrays are by place: by rank in its communicator, or in the world if each rank has opened it alone. */
struct handle {
    MPI_File file;
    MPI_Comm comm;
    int is_alone, me, reads, writes, is_atomic, is_common, is_external, unit, displacement;
    MPI_Datatype etype;
    struct view views[RANKS];
    long pointer[RANKS], shared; /* in bytes of the view */
};

/* What one place moves: where it begins in bytes of its view, and how many bytes. */
struct part {
    long position, bytes;
};

/* The ways to move data, by an explicit offset, the own pointer, and from IN_ORDER on by that of all. */
enum way { AT, ALL_AT, I_AT, I_ALL_AT, SPLIT_AT, OWN, ALL, I_OWN, I_ALL, SPLIT, IN_ORDER, SPLIT_IN_ORDER, SHARED, I_SHARED, WAYS };

extern int rank, size;
extern unsigned char model[MOST], memory[ROOM];
extern long end, operation;
extern char path[4096];

long below(long limit);         /* the same at all ranks */
long below_of_mine(long limit); /* of this rank alone */
void wrong(const char *what, long found, long wanted);
void must(int code, const char *what);
#define MUST(call) must(call, #call)
unsigned char value(int who, long place);

/* random_views.c */
long offset_of(const struct handle *h, int who, long position);
long position_at_end(const struct handle *h, int who);
long mirrored(const struct handle *h, long place);
void deal_view(struct handle *h);
void open_handle(struct handle *h, int first);
void close_handle(struct handle *h);
void look_at_pointers(struct handle *h);

/* random_moves.c */
void transfer(struct handle *h);
void several_at_once(struct handle *h);

/* random_contended.c */
int can_contend(const struct handle *h);
void overlap(struct handle *h);
void contend_for_the_pointer(struct handle *h);

#endif
