/* Processes that outlive another one, which ARMCI cannot tell them: the job ends with a sentence.
 *
 *     armci WHAT     with at least 3 processes; the last one fails
 *     armci storm SEED   the last one fails at any time
 */
#include <armci.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { NUMBERS = 3000 };

static void strike(int signal)
{
	(void)signal;
	raise(SIGKILL);
}

/* All use all of it until one fails. */
static void storm(unsigned seed, int rank, int size)
{
	void *pointers[64];
	double *mine, one = 1.0;
	if (ARMCI_Malloc(pointers, NUMBERS * sizeof(double)) != 0 || !(mine = ARMCI_Malloc_local(NUMBERS * sizeof(double))))
		ARMCI_Error("no memory", 8);
	memset(mine, 0, NUMBERS * sizeof(double));
	ARMCI_Barrier();
	srand(seed * 1000 + rank);
	struct itimerval when = { { 0, 0 }, { 0, 1000 + rand() % 40000 } };
	signal(SIGALRM, strike);
	if (rank == size - 1)
		setitimer(ITIMER_REAL, &when, NULL);
	for (int round = 0;; round++) {
		int to = rand() % size;
		ARMCI_Lock(0, 0);
		ARMCI_Unlock(0, 0);
		if (ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, pointers[to], NUMBERS * sizeof(double), to) != 0)
			ARMCI_Error("ARMCI_Acc has failed", 7);
		if (round % 5 == 0)
			ARMCI_Barrier();
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank, size;
	MPI_Init(&argc, &argv);
	ARMCI_Init();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	void *pointers[64];
	ARMCI_Create_mutexes(1);
	if (strcmp(what, "storm") == 0)
		storm(argc > 2 ? atoi(argv[2]) : 0, rank, size);
	if (rank == size - 1)
		ARMCI_Lock(0, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1) {
		usleep(20000);
		raise(SIGKILL);
	}
	if (strcmp(what, "barrier") == 0)
		ARMCI_Barrier();
	else if (strcmp(what, "mutex") == 0)
		ARMCI_Lock(0, 0);
	else if (strcmp(what, "malloc") == 0 && ARMCI_Malloc(pointers, 1000) != 0)
		ARMCI_Error("ARMCI_Malloc has failed", 7);
	printf("not so: %s has ended\n", what);
	return 0;
}
