/* Ranks that outlive others: what each call says when a rank that it needs has failed.
 *
 *     survivors WHAT     with at least 3 ranks; the last one fails, and each other one prints "well"
 *
 * The MPIX_ functions are declared here, so that the same program is for every ABI.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPIX_Comm_get_failed(MPI_Comm, MPI_Group *);
int MPIX_Comm_ack_failed(MPI_Comm, int, int *);
int MPIX_Comm_failure_ack(MPI_Comm);
int MPIX_Comm_failure_get_acked(MPI_Comm, MPI_Group *);

enum { LARGE = 3 << 20 };

static int rank, size, last;
static char large[LARGE];

#define CHECK(what)                                                                  \
	do {                                                                             \
		if (!(what)) {                                                               \
			fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #what); \
			MPI_Abort(MPI_COMM_WORLD, 9);                                            \
		}                                                                            \
	} while (0)

/* Whether a call has returned the error class that says that a process has failed; its number depends on the ABI. */
static int says(int code, const char *name)
{
	char text[MPI_MAX_ERROR_STRING];
	int length, class;
	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_class(code, &class);
	MPI_Error_string(class, text, &length);
	size_t end = strlen(name);
	if (strncmp(text, name, end) == 0 && text[end] == ':')
		return 1;
	MPI_Error_string(code, text, &length);
	fprintf(stderr, "rank %d: %s\n", rank, text);
	return 0;
}

#define FAILED "MPIX_ERR_PROC_FAILED"
#define PENDING "MPIX_ERR_PROC_FAILED_PENDING"

static void die(void)
{
	raise(SIGKILL);
}

static int failed_of(MPI_Comm comm)
{
	MPI_Group group;
	int count;
	CHECK(MPIX_Comm_get_failed(comm, &group) == MPI_SUCCESS);
	MPI_Group_size(group, &count);
	if (count)
		MPI_Group_free(&group);
	return count;
}

static void wait_for_failure(void)
{
	while (failed_of(MPI_COMM_WORLD) == 0)
		usleep(1000);
}

/* A communicator of those that are left. */
static MPI_Comm left(void)
{
	MPI_Group all, failed, alive;
	MPI_Comm comm;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
	MPI_Group_difference(all, failed, &alive);
	CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, alive, 5, &comm) == MPI_SUCCESS);
	MPI_Group_free(&all);
	MPI_Group_free(&failed);
	MPI_Group_free(&alive);
	return comm;
}

/* Those that are left can still do everything among themselves. */
static void all_goes_on(void)
{
	MPI_Comm comm = left(), more;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int round = 0; round < 20; round++) {
		int sum, one = 1, root = round % (size - 1), value = rank == root ? round : -1;
		CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size - 1);
		CHECK(MPI_Bcast(&value, 1, MPI_INT, root, comm) == MPI_SUCCESS && value == round);
		CHECK(MPI_Bcast(large, LARGE / 8, MPI_CHAR, root, comm) == MPI_SUCCESS);
		int to = (rank + 1) % (size - 1), from = (rank + size - 2) % (size - 1), got;
		CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 3, &got, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
		CHECK(got == from);
	}
	CHECK(MPI_Comm_dup(comm, &more) == MPI_SUCCESS);
	MPI_Comm_free(&more);
	MPI_Comm_free(&comm);
}

static void receive(void)
{
	int got;
	if (rank == last)
		die();
	CHECK(says(MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
	CHECK(says(MPI_Recv(large, LARGE, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
	CHECK(says(MPI_Probe(last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
}

static void send(void)
{
	if (rank == last)
		die();
	CHECK(says(MPI_Ssend(&rank, 1, MPI_INT, last, 1, MPI_COMM_WORLD), FAILED));
	CHECK(says(MPI_Send(large, LARGE, MPI_CHAR, last, 1, MPI_COMM_WORLD), FAILED));
	/* Small ones may go without its help, until there is no room for more. */
	int code = MPI_SUCCESS;
	for (int round = 0; round < 1000000 && code == MPI_SUCCESS; round++)
		code = MPI_Send(&rank, 1, MPI_INT, last, 2, MPI_COMM_WORLD);
	CHECK(says(code, FAILED));
}

/* What had come before it failed can be received. */
static void before(void)
{
	int got = -1;
	if (rank == last) {
		for (int to = 0; to < last; to++)
			MPI_Send(&to, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
		die();
	}
	wait_for_failure();
	CHECK(MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == rank);
	CHECK(says(MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
}

/* A receive from any source is told once, and goes on when that is acknowledged. */
static void any(void)
{
	int got = -1, acked = -1, flag;
	MPI_Request request;
	MPI_Group group;
	if (rank == last)
		die();
	CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
	CHECK(says(MPI_Wait(&request, MPI_STATUS_IGNORE), PENDING) && request != MPI_REQUEST_NULL);
	CHECK(says(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), PENDING) && request != MPI_REQUEST_NULL);
	CHECK(says(MPI_Recv(&flag, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
	CHECK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group) == MPI_SUCCESS && group == MPI_GROUP_EMPTY);
	if (rank % 2) {
		CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
	} else {
		CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acked) == MPI_SUCCESS && acked == 0);
		CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 7, &acked) == MPI_SUCCESS && acked == 1);
	}
	CHECK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group) == MPI_SUCCESS);
	int count, first = 0, which;
	MPI_Group world;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_size(group, &count);
	MPI_Group_translate_ranks(group, 1, &first, world, &which);
	CHECK(count == 1 && which == last);
	MPI_Group_free(&world);
	MPI_Group_free(&group);
	/* The next one has been told by now, and waits for this. */
	CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + last - 1) % last, 6, &which, 1, MPI_INT, (rank + 1) % last, 6, MPI_COMM_WORLD,
	                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % last, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
	CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == (rank + last - 1) % last);
}

/* One fails in the middle of collectives of every kind; the others hear of it in one that they wait in. */
static void collective(int kind)
{
	int code = MPI_SUCCESS, value = 1, sum;
	char *gathered = malloc((size_t)size * 1000);
	for (int round = 0; code == MPI_SUCCESS; round++) {
		MPI_Request request = MPI_REQUEST_NULL;
		if (rank == last && round == 40)
			die();
		CHECK(round < 2000);
		/* In some calls a rank need not wait for others, and is done with many before the failure is known. */
		if (round > 40)
			usleep(500);
		switch (kind) {
		case 0: code = MPI_Barrier(MPI_COMM_WORLD); break;
		case 1: code = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); break;
		case 2: code = MPI_Bcast(large, LARGE, MPI_CHAR, last, MPI_COMM_WORLD); break;
		case 3: code = MPI_Allgather(large, 1000, MPI_CHAR, gathered, 1000, MPI_CHAR, MPI_COMM_WORLD); break;
		case 4:
			code = MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
			if (code == MPI_SUCCESS)
				code = MPI_Wait(&request, MPI_STATUS_IGNORE);
			break;
		case 5: {
			MPI_Comm comm;
			code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
			if (code == MPI_SUCCESS)
				MPI_Comm_free(&comm);
			break;
		}
		default: CHECK(!"a kind"); break;
		}
	}
	CHECK(says(code, FAILED));
	CHECK(says(MPI_Barrier(MPI_COMM_WORLD), FAILED));
	free(gathered);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	last = size - 1;
	CHECK(failed_of(MPI_COMM_WORLD) == 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(what, "receive") == 0)
		receive();
	else if (strcmp(what, "send") == 0)
		send();
	else if (strcmp(what, "before") == 0)
		before();
	else if (strcmp(what, "any") == 0)
		any();
	else if (strncmp(what, "collective", 10) == 0)
		collective(atoi(what + 10));
	else if (strcmp(what, "fatal") == 0) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
		if (rank == last)
			die();
		MPI_Barrier(MPI_COMM_WORLD);
	} else
		CHECK(!"known");
	CHECK(failed_of(MPI_COMM_WORLD) == 1 && failed_of(MPI_COMM_SELF) == 0);
	all_goes_on();
	printf("well\n");
	return MPI_Finalize() != MPI_SUCCESS;
}
