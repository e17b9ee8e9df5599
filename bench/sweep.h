/* A cell of the sweep: one operation at one length, with buffers of one kind, touched in one way.
 *
 * The runner writes a cell as a line `OPERATION BYTES BUFFERS TOUCHED ROOT` (sweep.py draws them); here it is read, its
 * buffers are made, and what the program itself does with them before and after a call is done.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "measure.h"

/* Where the buffers lie: blocks of malloc, the same 24 bytes off, variables of the program with initial values (no
 * library can have made them shared), blocks of malloc that take turns, or blocks made for each call. */
enum buffers { HEAP, OFFSET, STATIC, ROTATING, FRESH };
/* What the program does with its data: nothing, a byte written before, all written before and all read afterwards. */
enum touched { NOT, ONE_BYTE, ALL };
enum root { FIRST, LAST, TURNING };

static const char *const buffers_names[] = {"heap", "offset", "static", "rotating", "fresh", NULL};
static const char *const touched_names[] = {"not", "byte", "all", NULL};
static const char *const root_names[] = {"first", "last", "turning", NULL};

#define LARGEST_STATIC (2 << 20)
#define TURNS 8
#define OFFSET_BYTES 24

/* The operation of a cell that this library sits out. */
#define LEFT_OUT "left_out"

struct cell {
    char name[32];
    int operation, bytes;
    enum buffers buffers;
    enum touched touched;
    enum root root;
    int is_left_out;  /* this library has failed in it: it only passes the gate */
    int is_on_window; /* then these count, not the buffers and the root: sweep_windows.h */
    int kind, synchronisation, layout, parts, where;
};

static struct cell cell; /* the one that is measured */
static long bytes_out, bytes_in;
static char *blocks[2][TURNS];
static volatile long sink;

static int number_of(const char *const *names, const char *word)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    fprintf(stderr, "sweep: what is %s?\n", word);
    exit(2);
}

static int root_of_call(void)
{
    return cell.root == FIRST ? 0 : cell.root == LAST ? ranks - 1 : call % ranks;
}

/* The block for a call; 0: what goes out, 1: what comes in. */
static char *block(int which)
{
    static char statics[2][LARGEST_STATIC] = {{1}, {1}};
    long bytes = which ? bytes_in : bytes_out;
    switch (cell.buffers) {
    case STATIC:
        return statics[which];
    case OFFSET:
        return blocks[which][0] + OFFSET_BYTES;
    case ROTATING:
        return blocks[which][call % TURNS];
    case FRESH:
        free(blocks[which][0]);
        return blocks[which][0] = malloc(bytes + OFFSET_BYTES);
    default:
        return blocks[which][0];
    }
}

static void make_blocks(long out, long in)
{
    int turns = cell.buffers == ROTATING ? TURNS : 1;
    bytes_out = out, bytes_in = in;
    for (int turn = 0; turn < turns && cell.buffers != STATIC; turn++) {
        blocks[0][turn] = buffer_of(out + OFFSET_BYTES);
        blocks[1][turn] = buffer_of(in + OFFSET_BYTES);
    }
}

static void free_blocks(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        free(blocks[0][turn]);
        free(blocks[1][turn]);
        blocks[0][turn] = blocks[1][turn] = NULL;
    }
}

/* The program makes its data. Small whole numbers, whatever they are taken for. */
static void produce(char *data, long bytes)
{
    if (cell.touched == ALL)
        memset(data, call & 1, bytes);
    else if (cell.touched == ONE_BYTE && bytes > 0)
        data[bytes / 2] = call & 1;
}

/* The program uses what it has got. */
static void consume(const char *data, long bytes)
{
    long sum = 0;
    if (cell.touched != ALL)
        return;
    for (long i = 0; i + 8 <= bytes; i += 8)
        sum += *(const long *)(data + i);
    for (long i = bytes & ~7L; i < bytes; i++)
        sum += data[i];
    sink += sum;
}

#endif
