/* Ranks that outlive others: what each call says when a rank that it needs has failed.
 *
 *     survivors WHAT     with at least 3 ranks; the last one fails, and each other one prints "well"
 *     survivors storm SEED   all but rank 0 fail, each at any time
 *
 * The MPIX_ functions are declared here, so that the same program is for every ABI.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int MPIX_Comm_get_failed(MPI_Comm, MPI_Group *);
int MPIX_Comm_ack_failed(MPI_Comm, int, int *);
int MPIX_Comm_failure_ack(MPI_Comm);
int MPIX_Comm_failure_get_acked(MPI_Comm, MPI_Group *);
int MPIX_Comm_agree(MPI_Comm, int *);
int MPIX_Comm_shrink(MPI_Comm, MPI_Comm *);
int MPIX_Comm_revoke(MPI_Comm);
int MPIX_Comm_is_revoked(MPI_Comm, int *);

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
#define REVOKED "MPIX_ERR_REVOKED"

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

/* Those that are left agree, although one fails before it has spoken; and on the same when all know of it. */
static void agree(void)
{
	int flag = ~(1 << rank), all = ~0, none;
	for (int to = 0; to < size; to++)
		all &= ~(1 << to);
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == all);
	if (rank == last)
		die();
	for (int round = 0; round < 50; round++) {
		flag = ~(1 << rank);
		CHECK(says(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), FAILED) && flag == (all | 1 << last));
	}
	/* As long as one does not know of it, all are told. */
	if (rank > 0)
		MPIX_Comm_failure_ack(MPI_COMM_WORLD);
	flag = none = rank + 1;
	CHECK(says(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), FAILED));
	MPIX_Comm_failure_ack(MPI_COMM_WORLD);
	for (int round = 0; round < 50; round++) {
		flag = -1 - round;
		CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == -1 - round);
	}
}

static void shrink(void)
{
	MPI_Comm comm, more;
	int now, who;
	CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
	MPI_Comm_size(comm, &now);
	MPI_Comm_rank(comm, &who);
	CHECK(now == size && who == rank);
	if (rank == last)
		die();
	CHECK(says(MPI_Barrier(comm), FAILED));
	CHECK(MPIX_Comm_shrink(comm, &more) == MPI_SUCCESS);
	MPI_Comm_size(more, &now);
	MPI_Comm_rank(more, &who);
	CHECK(now == size - 1 && who == rank);
	CHECK(MPI_Barrier(more) == MPI_SUCCESS);
	MPI_Comm_free(&more);
	MPI_Comm_free(&comm);
}

/* Rank 0 revokes a communicator in which the others wait, each in another call. */
static void is_revoked(void)
{
	MPI_Comm comm, more;
	MPI_Request request;
	int flag = 1, got, now;
	CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
	CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 0);
	MPI_Barrier(comm);
	if (rank == 0) {
		usleep(50000);
		CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS && MPIX_Comm_revoke(comm) == MPI_SUCCESS);
	} else if (rank % 5 == 1) {
		CHECK(says(MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE), REVOKED));
	} else if (rank % 5 == 2) {
		CHECK(says(MPI_Barrier(comm), REVOKED));
	} else if (rank % 5 == 3) {
		CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request) == MPI_SUCCESS);
		CHECK(says(MPI_Wait(&request, MPI_STATUS_IGNORE), REVOKED) && request == MPI_REQUEST_NULL);
	} else if (rank % 5 == 4) {
		CHECK(says(MPI_Ssend(large, LARGE, MPI_CHAR, 0, 1, comm), REVOKED));
	} else {
		CHECK(says(MPI_Comm_dup(comm, &more), REVOKED));
	}
	CHECK(says(MPI_Send(&rank, 1, MPI_INT, 0, 1, comm), REVOKED));
	CHECK(says(MPI_Recv(&rank, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE), REVOKED));
	CHECK(says(MPI_Irecv(&rank, 1, MPI_INT, 0, 1, comm, &request), REVOKED));
	CHECK(says(MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE), REVOKED));
	CHECK(says(MPI_Bcast(&got, 1, MPI_INT, 0, comm), REVOKED));
	CHECK(says(MPI_Ibarrier(comm, &request), REVOKED));
	CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 1);
	CHECK(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == 0);
	flag = ~(1 << rank);
	CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && !(flag & 3));
	CHECK(MPIX_Comm_shrink(comm, &more) == MPI_SUCCESS);
	MPI_Comm_free(&comm);
	MPI_Comm_size(more, &now);
	CHECK(now == size && MPI_Barrier(more) == MPI_SUCCESS && MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
	MPI_Comm_free(&more);
	if (rank == last)
		die();
	wait_for_failure();
}

static void strike(int signal)
{
	(void)signal;
	die();
}

/* All but rank 0 fail at some time, wherever they are. Those that are left go on together. With even seeds they agree after
 * each call whether all is well; with odd ones whoever has seen a failure revokes the communicator. */
static void storm(unsigned seed)
{
	MPI_Comm comm = MPI_COMM_WORLD, smaller;
	int now = size, rounds = 0;
	srand(seed * 1000 + rank);
	struct itimerval when = { { 0, 0 }, { 0, 1000 + rand() % 60000 } };
	signal(SIGALRM, strike);
	if (rank > 0)
		setitimer(ITIMER_REAL, &when, NULL);
	while (now > 1) {
		int one = 1, sum = 0, *all = malloc(sizeof(int) * size), well;
		int kind = rounds++ % 4, code = MPI_SUCCESS;
		if (kind == 0)
			code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		else if (kind == 1)
			code = MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
		else if (kind == 2)
			code = MPI_Bcast(large, LARGE / 16, MPI_CHAR, rounds % now, comm);
		else
			code = MPI_Barrier(comm);
		well = code == MPI_SUCCESS;
		CHECK(well || (seed % 2 && says(code, REVOKED)) || says(code, FAILED));
		CHECK(!well || kind != 0 || sum == now);
		free(all);
		if (seed % 2 == 0) {
			code = MPIX_Comm_agree(comm, &well);
			CHECK(code == MPI_SUCCESS || says(code, FAILED));
		}
		if (code == MPI_SUCCESS && well)
			continue;
		if (seed % 2)
			CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
		rounds = 0;
		CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
		if (comm != MPI_COMM_WORLD)
			MPI_Comm_free(&comm);
		comm = smaller;
		int before = now;
		MPI_Comm_size(comm, &now);
		CHECK(now <= before);
	}
	MPI_Comm_free(&comm);
}

/* An error that nobody handles. */
static void fatal(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	if (rank == last)
		die();
	MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "receive", receive }, { "send", send },     { "before", before },     { "any", any },
	{ "agree", agree },     { "shrink", shrink }, { "revoke", is_revoked }, { "fatal", fatal },
};

/* Runs the test of that name, if there is one. */
static int run(const char *what)
{
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (strcmp(what, tests[i].name) == 0) {
			tests[i].run();
			return 1;
		}
	}
	return 0;
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
	if (strcmp(what, "storm") == 0) {
		storm(argc > 2 ? atoi(argv[2]) : 0);
		CHECK(rank == 0 && failed_of(MPI_COMM_WORLD) == size - 1);
	} else {
		if (strncmp(what, "collective", 10) == 0)
			collective(atoi(what + 10));
		else
			CHECK(run(what));
		CHECK(failed_of(MPI_COMM_WORLD) == 1 && failed_of(MPI_COMM_SELF) == 0);
		all_goes_on();
	}
	printf("well\n");
	return MPI_Finalize() != MPI_SUCCESS;
}
