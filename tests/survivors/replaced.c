/* One rank fails, those that are left start another one in its place, and all go on as many as before. Nobody waits for the
 * others at the end: each finalizes when its own work is done, though all are connected.
 */
#include "survivors.h"

static char **words;

/* A communicator of as many as there were: of those that are left of `comm` and of new ones, which give none. */
static MPI_Comm replaced(MPI_Comm comm)
{
	MPI_Comm left = MPI_COMM_WORLD, between, all;
	int flag = 1, before, now;
	if (comm == MPI_COMM_NULL) {
		MPI_Comm_get_parent(&between);
		MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
	} else {
		CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
		MPI_Comm_size(comm, &before);
		MPI_Comm_size(left, &now);
		CHECK(now == before - 1);
		MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
		CHECK(MPI_Comm_spawn(words[0], words + 1, 1, MPI_INFO_NULL, 0, left, &between, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
		CHECK(MPIX_Comm_agree(left, &flag) == MPI_SUCCESS && flag == 1);
	}
	CHECK(MPI_Intercomm_merge(between, 1, &all) == MPI_SUCCESS);
	CHECK(MPIX_Comm_agree(between, &flag) == MPI_SUCCESS && flag == 1);
	MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
	MPI_Comm_free(&between);
	if (left != MPI_COMM_WORLD)
		MPI_Comm_free(&left);
	return all;
}

int main(int argc, char **argv)
{
	MPI_Comm comm, all;
	int value = 0, sum = 0;
	words = argv;
	begin(&argc, &argv);
	MPI_Comm_get_parent(&comm);
	if (comm == MPI_COMM_NULL) {
		CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		if (rank == size / 2)
			die();
		MPI_Bcast(&value, 1, MPI_INT, 0, comm);
		all = replaced(comm);
		MPI_Comm_free(&comm);
	} else {
		all = replaced(MPI_COMM_NULL);
	}
	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &size);
	value = rank == 0 ? 77 : 0;
	CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, all) == MPI_SUCCESS && value == 77);
	CHECK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, all) == MPI_SUCCESS);
	CHECK(rank != 0 || sum == size * (size - 1) / 2);
	MPI_Comm_free(&all);
	return end();
}
