/* ranks: 2 3
 * OpenSHMEM's transfers with local arrays in memory of every kind: blocks, single strides and strided blocks, also those that do not
 * wait. The gaps of an array keep what they have. */
#include "twice.h"

#include <shmem.h>

#define ITEMS 3000

static long *symmetric;
static long local[ITEMS], seen[ITEMS];

static void number_from(long seed)
{
    for (long item = 0; item < ITEMS; item++)
        local[item] = item * 5 + seed;
}

/* Item number of an array with blocks of so many items, each so many items behind the one before. */
static int place_of(int item, int block, int stride) { return item / block * stride + item % block; }

static void put(int form, struct buffer *source, int block, int blocks, int stride, int pe)
{
    const long *from = (const long *)source->at;
    if (form == 0)
        shmem_long_put(symmetric, from, block * blocks, pe);
    else if (form == 1)
        shmem_long_put_nbi(symmetric, from, block * blocks, pe);
    else if (form == 2)
        shmem_long_iput(symmetric, from, 1, stride, blocks, pe);
    else
        shmem_long_ibput(symmetric, from, block, stride, block, blocks, pe);
}

static void get(int form, struct buffer *dest, int block, int blocks, int stride, int pe)
{
    long *to = (long *)dest->at;
    if (form == 0)
        shmem_long_get(to, symmetric, block * blocks, pe);
    else if (form == 1)
        shmem_long_get_nbi(to, symmetric, block * blocks, pe);
    else if (form == 2)
        shmem_long_iget(to, symmetric, stride, 1, blocks, pe);
    else
        shmem_long_ibget(to, symmetric, stride, block, block, blocks, pe);
}

/* Every rank puts to the next one, and gets from it what it has put. */
static void round_trip(int form, enum kind kind, int block, int blocks, int stride)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    struct buffer array = buffer_of(kind, sizeof local);
    if (form == 2) /* single items */
        block = 1;
    if (form < 2)
        stride = block;
    int number = block * blocks;
    number_from(100 * rank);
    buffer_put(&array, (char *)local);
    memset(symmetric, 0, sizeof local);
    shmem_barrier_all();
    put(form, &array, block, blocks, stride, next);
    shmem_barrier_all();
    for (int item = 0; item < number; item++) {
        int from = place_of(item, block, stride);
        if (symmetric[item] != from * 5 + 100 * before)
            check_failed(__FILE__, __LINE__, "put, form %d, memory %d: item %d is %ld", form, kind, item, symmetric[item]), item = number;
    }
    number_from(-7);
    buffer_put(&array, (char *)local);
    get(form, &array, block, blocks, stride, next);
    shmem_quiet();
    buffer_get(&array, (char *)seen);
    for (int item = 0; item < number; item++) {
        int to = place_of(item, block, stride);
        local[to] = to * 5 + 100 * rank;
    }
    for (int item = 0; item < ITEMS; item++)
        if (seen[item] != local[item]) {
            check_failed(__FILE__, __LINE__, "get, form %d, memory %d: item %d is %ld, not %ld", form, kind, item, seen[item], local[item]);
            break;
        }
    shmem_barrier_all();
    buffer_free(&array);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    shmem_init();
    twice_begin();
    symmetric = shmem_malloc(sizeof local);
    for (int form = 0; form < 4; form++)
        for (int kind = HOST; kind < KINDS; kind++)
            for (int round = 0; round < 6; round++) {
                int block = 1 + all_draw(12), blocks = all_draw(100), more = all_draw(10);
                round_trip(form, round % 2 ? (enum kind)kind : (enum kind)rank_draw(KINDS), block, blocks, block + more);
            }
    shmem_free(symmetric);
    shmem_finalize();
    return check_end();
}
