/* Collective operations of the sweep. `bytes` is what a rank gives; where it has a block for each rank, the block. */
#ifndef SWEEP_COLLECTIVES_H
#define SWEEP_COLLECTIVES_H

#include "sweep.h"

#define WORLD MPI_COMM_WORLD

/* A collective by the parts in which calls differ: what is written before, read after, and the call. */
struct shape {
    long produced, consumed;
};

static int uneven[64], places[64], even_counts[64], even_places[64];
static MPI_Comm ring = MPI_COMM_NULL;

/* Lengths that differ by rank, none above the cell's. */
static void fill_tables(void)
{
    for (int who = 0; who < ranks; who++) {
        uneven[who] = cell.bytes - cell.bytes / 4 * (who % 3);
        places[who] = who * cell.bytes;
        even_counts[who] = cell.bytes;
        even_places[who] = who * cell.bytes;
    }
}

static MPI_Comm ring_of_ranks(void)
{
    int periodic = 1;
    if (ring == MPI_COMM_NULL)
        MPI_Cart_create(WORLD, 1, &ranks, &periodic, 0, &ring);
    return ring;
}

static int doubles(void) { return cell.bytes / 8; }

#define COLLECTIVE(name, writes, reads, CALL)                                                                          \
    static void op_##name(void)                                                                                        \
    {                                                                                                                  \
        char *out = block(0), *in = block(1);                                                                          \
        int bytes = cell.bytes, root = root_of_call(), at_root = rank == root;                                         \
        long each = bytes, all = (long)bytes * ranks;                                                                  \
        (void)out, (void)in, (void)root, (void)at_root, (void)each, (void)all;                                         \
        produce(out, writes);                                                                                          \
        CALL;                                                                                                          \
        consume(in, reads);                                                                                            \
    }
#define WAITED(name, writes, reads, CALL)                                                                              \
    COLLECTIVE(name, writes, reads, MPI_Request request; CALL; MPI_Wait(&request, MPI_STATUS_IGNORE))

COLLECTIVE(barrier, 0, 0, MPI_Barrier(WORLD))
/* One buffer: the root's is `out`. */
COLLECTIVE(bcast, at_root ? each : 0, at_root ? 0 : each, MPI_Bcast(at_root ? out : in, bytes, MPI_BYTE, root, WORLD))
COLLECTIVE(reduce, each, at_root ? each : 0, MPI_Reduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, root, WORLD))
COLLECTIVE(allreduce, each, each, MPI_Allreduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD))
COLLECTIVE(allreduce_int_max, each, each, MPI_Allreduce(out, in, bytes / 4, MPI_INT, MPI_MAX, WORLD))
COLLECTIVE(allreduce_in_place, 0, each, produce(in, each);
           MPI_Allreduce(MPI_IN_PLACE, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD))
COLLECTIVE(scan, each, each, MPI_Scan(out, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD))
COLLECTIVE(exscan, each, rank ? each : 0, MPI_Exscan(out, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD))
COLLECTIVE(gather, each, at_root ? all : 0, MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, WORLD))
COLLECTIVE(gatherv, uneven[rank], at_root ? all : 0,
           MPI_Gatherv(out, uneven[rank], MPI_BYTE, in, uneven, places, MPI_BYTE, root, WORLD))
COLLECTIVE(scatter, at_root ? all : 0, each, MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, WORLD))
COLLECTIVE(scatterv, at_root ? all : 0, uneven[rank],
           MPI_Scatterv(out, uneven, places, MPI_BYTE, in, uneven[rank], MPI_BYTE, root, WORLD))
COLLECTIVE(allgather, each, all, MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, WORLD))
COLLECTIVE(allgatherv, uneven[rank], all,
           MPI_Allgatherv(out, uneven[rank], MPI_BYTE, in, uneven, places, MPI_BYTE, WORLD))
COLLECTIVE(alltoall, all, all, MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, WORLD))
COLLECTIVE(alltoallv, all, all,
           MPI_Alltoallv(out, even_counts, even_places, MPI_BYTE, in, even_counts, even_places, MPI_BYTE, WORLD))
COLLECTIVE(reduce_scatter_block, all, each,
           MPI_Reduce_scatter_block(out, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD))
COLLECTIVE(neighbor_allgather, each, 2 * each,
           MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring_of_ranks()))
COLLECTIVE(neighbor_alltoall, 2 * each, 2 * each,
           MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring_of_ranks()))
WAITED(ibarrier, 0, 0, MPI_Ibarrier(WORLD, &request))
WAITED(ibcast, at_root ? each : 0, at_root ? 0 : each,
       MPI_Ibcast(at_root ? out : in, bytes, MPI_BYTE, root, WORLD, &request))
WAITED(ireduce, each, at_root ? each : 0,
       MPI_Ireduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, root, WORLD, &request))
WAITED(iallreduce, each, each, MPI_Iallreduce(out, in, doubles(), MPI_DOUBLE, MPI_SUM, WORLD, &request))
WAITED(igather, each, at_root ? all : 0,
       MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, WORLD, &request))
WAITED(iscatter, at_root ? all : 0, each,
       MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, WORLD, &request))
WAITED(iallgather, each, all, MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, WORLD, &request))
WAITED(ialltoall, all, all, MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, WORLD, &request))

#endif
