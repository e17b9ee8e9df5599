/* Ranks that outlive others agree, and make communicators of those that are left.
 *
 *     agreements WHAT     with at least 3 ranks; the last one fails, and each other one prints "well"
 *     agreements storm SEED   all but rank 0 fail, each at any time
 */
#include "survivors.h"

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

/* Several at once end in the order in which they were begun, and none before all have spoken. */
static void iagree(void)
{
	MPI_Request requests[5];
	int flags[5], done;
	for (int i = 0; i < 5; i++) {
		flags[i] = ~(1 << rank) - 256 * i;
		CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[i], &requests[i]) == MPI_SUCCESS);
	}
	CHECK(MPI_Wait(&requests[4], MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(MPI_Testall(5, requests, &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS && done);
	for (int i = 0; i < 5; i++)
		CHECK(flags[i] == -(1 << size) - 256 * i);
	if (rank > 0)
		MPI_Barrier(MPI_COMM_WORLD);
	flags[0] = rank ? 13 : 11;
	CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[0], &requests[0]) == MPI_SUCCESS);
	if (rank == 0) {
		CHECK(MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && flags[0] == 11);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS && flags[0] == 9);
	if (rank == last)
		die();
	flags[0] = rank == 0 ? 3 : 7;
	CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[0], &requests[0]) == MPI_SUCCESS);
	flags[1] = rank == 0 ? 6 : 7;
	CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[1], &requests[1]) == MPI_SUCCESS);
	CHECK(says(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), FAILED) && flags[0] == 3);
	CHECK(says(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), FAILED) && flags[1] == 6);
	MPIX_Comm_failure_ack(MPI_COMM_WORLD);
	flags[0] = rank;
	CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[0], &requests[0]) == MPI_SUCCESS);
	CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS && flags[0] == 0);
}

/* The handle is there at once, and stands for the communicator when the request is complete. */
static void ishrink(void)
{
	MPI_Comm comm, more;
	MPI_Request request;
	int now, who, one = 1, sum;
	CHECK(MPIX_Comm_ishrink(MPI_COMM_WORLD, &comm, &request) == MPI_SUCCESS);
	CHECK(request != MPI_REQUEST_NULL);
	MPI_Comm copy = comm;
	CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && copy == comm);
	MPI_Comm_size(comm, &now);
	CHECK(now == size && MPIX_Comm_agree(comm, &one) == MPI_SUCCESS);
	if (rank == last)
		die();
	CHECK(says(MPI_Barrier(comm), FAILED));
	CHECK(MPIX_Comm_ishrink(comm, &more, &request) == MPI_SUCCESS);
	CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
	CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	MPI_Comm_size(more, &now);
	MPI_Comm_rank(more, &who);
	CHECK(now == size - 1 && who == rank);
	CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, more) == MPI_SUCCESS && sum == now);
	MPI_Comm_free(&more);
}

/* A communicator between those of two sides. */
static MPI_Comm between(int side, int leader, int remote_leader)
{
	MPI_Comm local, comm;
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, side, side ? -rank : rank, &local) == MPI_SUCCESS);
	CHECK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, remote_leader, 5, &comm) == MPI_SUCCESS);
	MPI_Comm_free(&local);
	return comm;
}

/* How many of the first so many ranks have this rest of two. */
static int of_side(int side, int count)
{
	return (count + 1 - side) / 2;
}

static void both_groups(void)
{
	int side = rank % 2, leader, flag, now, remote, one = 1, sum, who, before;
	MPI_Comm_size(MPI_COMM_WORLD, &now);
	/* The ranks of the second group are in the opposite order. */
	leader = side ? of_side(1, size) - 1 : 0;
	MPI_Comm comm = between(side, leader, side ? 0 : 1), smaller;
	MPI_Request request;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	flag = side ? 6 : 12;
	CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == (side ? 12 : 6));
	MPI_Comm_rank(comm, &before);
	if (rank == last)
		die();
	flag = ~(1 << rank);
	int all = ~0;
	for (int other = 1 - side; other < last; other += 2)
		all &= ~(1 << other);
	CHECK(says(MPIX_Comm_agree(comm, &flag), FAILED) && flag == all);
	CHECK(says(MPI_Barrier(comm), FAILED));
	CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
	flag = ~(1 << rank);
	CHECK(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS);
	CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == all);
	CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
	for (int kind = 0; kind < 2; kind++) {
		if (kind == 0)
			CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
		else {
			CHECK(MPIX_Comm_ishrink(comm, &smaller, &request) == MPI_SUCCESS);
			CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
		}
		MPI_Comm_size(smaller, &now);
		MPI_Comm_remote_size(smaller, &remote);
		CHECK(now == of_side(side, last) && remote == of_side(1 - side, last));
		MPI_Comm_rank(smaller, &who);
		CHECK(who == before - (side && last % 2));
		for (int round = 0; round < 10; round++) {
			CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, smaller) == MPI_SUCCESS && sum == remote);
			CHECK(MPI_Barrier(smaller) == MPI_SUCCESS);
		}
		MPI_Comm merged;
		CHECK(MPI_Intercomm_merge(smaller, side, &merged) == MPI_SUCCESS);
		MPI_Comm_size(merged, &now);
		CHECK(now == size - 1 && MPI_Barrier(merged) == MPI_SUCCESS);
		MPI_Comm_free(&merged);
		MPI_Comm_free(&smaller);
	}
	MPI_Comm_free(&comm);
}

/* One fails in the middle of collectives between two groups. */
static void collectives_between(void)
{
	int side = rank % 2, me, value = 1, sum, code = MPI_SUCCESS;
	MPI_Comm comm = between(side, side ? of_side(1, size) - 1 : 0, side ? 0 : 1);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_rank(comm, &me);
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &value) == MPI_SUCCESS);
	for (int round = 0; code == MPI_SUCCESS; round++) {
		if (rank == last && round == 40 + size % 3)
			die();
		if (round % 3 == 0)
			code = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
		else if (round % 3 == 1)
			code = MPI_Barrier(comm);
		else
			code = MPI_Bcast(&value, 1, MPI_INT, side ? 0 : me ? MPI_PROC_NULL : MPI_ROOT, comm);
	}
	CHECK(says(code, FAILED) && says(MPI_Barrier(comm), FAILED));
	MPI_Comm_free(&comm);
}

/* Nobody is left on the other side. */
static void no_remote_group(void)
{
	MPI_Comm comm = between(rank == last, 0, rank == last ? 0 : last), smaller;
	int now, remote, flag = 5;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 5);
	if (rank == last)
		die();
	CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
	MPI_Comm_size(smaller, &now);
	MPI_Comm_remote_size(smaller, &remote);
	CHECK(now == size - 1 && remote == 0);
	MPI_Comm_free(&comm);
	CHECK(MPIX_Comm_agree(smaller, &flag) == MPI_SUCCESS && flag == -1);
	CHECK(says(MPI_Barrier(smaller), FAILED));
	CHECK(says(MPI_Intercomm_merge(smaller, 0, &comm), FAILED));
	MPI_Comm_free(&smaller);
}

/* All but rank 0 fail at some time. With even seeds the others are in two groups. */
static void storm(unsigned seed)
{
	MPI_Comm comm = MPI_COMM_WORLD, smaller;
	MPI_Request requests[3];
	int now = size, local, remote = 0, flags[2];
	if (seed % 2 == 0) {
		comm = between(rank % 2, rank % 2 ? of_side(1, size) - 1 : 0, 1 - rank % 2);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	}
	/* Nobody fails before all have their communicator. */
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &now) == MPI_SUCCESS);
	die_at_some_time(seed, 60000);
	while (now > 1) {
		flags[0] = now;
		flags[1] = 1;
		CHECK(MPIX_Comm_iagree(comm, &flags[0], &requests[0]) == MPI_SUCCESS);
		CHECK(MPIX_Comm_ishrink(comm, &smaller, &requests[1]) == MPI_SUCCESS);
		CHECK(MPIX_Comm_iagree(comm, &flags[1], &requests[2]) == MPI_SUCCESS);
		for (int i = 2; i >= 0; i--) {
			int code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
			CHECK(code == MPI_SUCCESS || (i != 1 && says(code, FAILED)));
		}
		CHECK((flags[0] == now || flags[0] == -1) && (flags[1] == 1 || flags[1] == -1));
		if (comm != MPI_COMM_WORLD)
			MPI_Comm_free(&comm);
		comm = smaller;
		int before = now;
		MPI_Comm_size(comm, &local);
		if (seed % 2 == 0)
			MPI_Comm_remote_size(comm, &remote);
		now = local + remote;
		CHECK(now <= before);
	}
	MPI_Comm_free(&comm);
}

static const struct test tests[] = {
	{ "agree", agree },   { "shrink", shrink },           { "iagree", iagree },
	{ "ishrink", ishrink }, { "both_groups", both_groups }, { "no_remote_group", no_remote_group },
	{ "collectives_between", collectives_between },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	if (argc > 2) {
		storm(atoi(argv[2]));
		CHECK(rank == 0 && failed_of(MPI_COMM_WORLD) == size - 1);
	} else {
		run(tests, argc > 1 ? argv[1] : "");
		CHECK(failed_of(MPI_COMM_WORLD) == 1 && failed_of(MPI_COMM_SELF) == 0);
	}
	return end();
}
