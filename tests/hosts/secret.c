/* Ranks tell each other a secret, in messages short and long, and rank 0 says when all have heard it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define SECRET "the magpie sits in the oak"
static char said[300000], heard[300000];

int main(int argc, char **argv)
{
	int rank, size, bad = 0, all = 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int length = sizeof SECRET; length <= (int)sizeof said; length *= 10)
		for (int round = 0; round < 20; round++) {
			for (int at = 0; at + (int)sizeof SECRET <= length; at += sizeof SECRET)
				memcpy(said + at, SECRET, sizeof SECRET);
			memset(heard, 0, length);
			MPI_Sendrecv(said, length, MPI_CHAR, (rank + 1) % size, 1, heard, length, MPI_CHAR, (rank + size - 1) % size, 1,
			             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			bad |= memcmp(said, heard, length) != 0;
			MPI_Bcast(heard, length, MPI_CHAR, round % size, MPI_COMM_WORLD);
			bad |= memcmp(said, heard, length) != 0;
		}
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		puts(all ? "wrong" : "heard");
	return MPI_Finalize();
}
