/* ranks: 2 3 4
 * A window that nobody frees: a rank that ends stays until the others need its memory no more.
 */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
	int *words, value = 1, got = 0;
	MPI_Win win, dynamic;
	check_begin(&argc, &argv);
	MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank > 0) {
		usleep(200000);
		CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
		CHECK(MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Get(&got, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
		CHECK(got == value);
	}
	return check_end();
}
