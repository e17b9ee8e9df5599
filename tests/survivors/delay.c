/* How long it takes until those that wait for a rank are told that it has failed. The last ranks fail one after the other, in
 * front of calls of several kinds; the others print the milliseconds, a line for each call.
 */
#include "survivors.h"
#include <time.h>

static double clock_of_all(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static int blocked(int kind, int who, MPI_Comm comm, MPI_Win win)
{
	int value = 1, all[64];
	MPI_Request request;
	switch (kind) {
	case 0: return MPI_Recv(&value, 1, MPI_INT, who, 1, comm, MPI_STATUS_IGNORE);
	case 1: return MPI_Barrier(comm);
	case 2: return MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
	case 3: return MPI_Win_fence(0, win);
	case 4: return hold(MPI_LOCK_SHARED, 0, win);
	default:
		MPI_Irecv(&value, 1, MPI_INT, who, 1, comm, &request);
		return MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "MPI_Recv", "MPI_Barrier", "MPI_Allgather", "MPI_Win_fence", "MPI_Win_lock", "MPI_Wait" };
	MPI_Comm comm = MPI_COMM_WORLD, smaller;
	begin(&argc, &argv);
	for (int kind = 0; kind < 6; kind++) {
		int now, flag = 1, *words;
		double when = 0;
		MPI_Win win;
		MPI_Comm_size(comm, &now);
		int who = now - 1;
		CHECK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, comm, &words, &win) == MPI_SUCCESS);
		MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
		if (rank == who)
			CHECK(hold(MPI_LOCK_EXCLUSIVE, 0, win) == MPI_SUCCESS);
		CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
		/* It says before when it will fail: what a process sends last may be lost with it. The others are asleep by then. */
		when = clock_of_all() + 60;
		CHECK(MPI_Bcast(&when, 1, MPI_DOUBLE, who, comm) == MPI_SUCCESS && MPI_Barrier(comm) == MPI_SUCCESS);
		if (rank == who) {
			while (clock_of_all() < when)
				usleep(1000);
			die();
		}
		CHECK(says(blocked(kind, who, comm, win), FAILED));
		double told = clock_of_all();
		printf("%s %.3f\n", names[kind], told - when);
		fflush(stdout);
		CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
		comm = smaller;
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	}
	return end();
}
