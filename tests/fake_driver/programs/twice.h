/* Each operation is done twice: with buffers of the host, and with buffers of kinds of memory drawn
 * by chance for each rank. Every byte of both has to be the same afterwards, those that the
 * operation leaves alone too. */
#ifndef TWICE_H
#define TWICE_H

#include "fake_cuda.h"

/* Bytes of each of the two buffers of a rank. */
#define ROOM (1 << 20)

static uint64_t chance_of_all, chance_of_rank;

static inline unsigned draw(uint64_t *chance, unsigned below)
{
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*chance >> 33) % below;
}

/* By chance, the same at all ranks; and another one at each. */
static inline unsigned all_draw(unsigned below) { return draw(&chance_of_all, below); }
static inline unsigned rank_draw(unsigned below) { return draw(&chance_of_rank, below); }

static inline void twice_begin(void)
{
    const char *seed = getenv("FAKE_CUDA_SEED");
    chance_of_all = seed ? strtoull(seed, NULL, 10) : 1;
    chance_of_rank = chance_of_all + 1000 + rank;
    cuda_begin();
}

/* Whether ranks map memory of each other: the driver lends it, and they are on one node. */
static inline int lends_memory(void)
{
    return !getenv("FAKE_CUDA_IPC") && !getenv("SERRIED_NODES") && !getenv("SERRIED_TRANSPORT");
}

/* What an operation works with: its own two buffers, how many elements, and which of its forms. */
struct operation {
    char *send, *receive;
    int count, form;
    MPI_Datatype type;
    MPI_Comm comm;
};
typedef void operate(struct operation *);

/* One of several: how many forms it has; whether only for elements without gaps, or on a ring of ranks. */
struct listed {
    const char *name;
    operate *operate;
    int forms, is_plain, is_on_ring;
};

static int twice_failed;
/* Kinds of memory that are drawn from. */
static unsigned twice_kinds = KINDS;

/* One operation, twice. */
static inline void twice(const char *name, operate *operate, struct operation what, size_t bytes)
{
    struct buffer buffers[2] = {buffer_of(rank_draw(twice_kinds), bytes), buffer_of(rank_draw(twice_kinds), bytes)};
    char *hosts[2] = {malloc(bytes), malloc(bytes)};
    for (int which = 0; which < 2; which++) {
        for (size_t byte = 0; byte < bytes; byte++) /* small numbers: sums of them are exact */
            hosts[which][byte] = byte % 8 ? 0 : rank_draw(100);
        buffer_put(&buffers[which], hosts[which]);
    }
    what.send = hosts[0], what.receive = hosts[1];
    operate(&what);
    what.send = buffers[0].at, what.receive = buffers[1].at;
    operate(&what);
    for (int which = 0; which < 2; which++) {
        long long place = buffer_differs(&buffers[which], hosts[which]);
        if (place >= 0 && twice_failed++ < 5)
            check_failed(__FILE__, __LINE__, "%s, form %d, %d elements: byte %lld of %s of kind %d", name, what.form,
                         what.count, place, which ? "receive" : "send", buffers[which].kind);
        buffer_free(&buffers[which]);
        free(hosts[which]);
    }
}

#define WORKS(call) CHECK_CLASS(call, MPI_SUCCESS)

#endif
