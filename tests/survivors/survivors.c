/* Ranks that outlive others: what each call says when a rank that it needs has failed.
 *
 *     survivors WHAT     with at least 3 ranks; the last one fails, and each other one prints "well"
 *     survivors storm SEED   all but rank 0 fail, each at any time
 */
#include "survivors.h"

enum { LARGE = 3 << 20 };

static char large[LARGE];

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

/* One fails when it has ended a call which nobody ends before all have begun it, or which makes a communicator: the others end it
 * well, also if they are some milliseconds late. */
static void ended(int kind)
{
	int code = MPI_SUCCESS, value = rank, most = 0;
	char *gathered = calloc(size, LARGE);
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_Request request;
	for (int round = 0; round < 20; round++)
		CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
	switch (kind) {
	case 0: code = MPI_Barrier(MPI_COMM_WORLD); break;
	case 1: code = MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); break;
	case 2: code = MPI_Allgather(large, LARGE, MPI_CHAR, gathered, LARGE, MPI_CHAR, MPI_COMM_WORLD); break;
	case 3: code = MPI_Alltoall(MPI_IN_PLACE, 1, MPI_CHAR, gathered, 1000, MPI_CHAR, MPI_COMM_WORLD); break;
	case 4: code = MPI_Comm_dup(MPI_COMM_WORLD, &comm); break;
	case 5: code = MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm); break;
	case 6:
		MPI_Iallreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
		code = MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	default: CHECK(!"a kind"); break;
	}
	if (rank == last)
		die();
	CHECK(code == MPI_SUCCESS && (kind % 5 != 1 || most == last));
	/* The communicator that was made is one with a failed member. */
	while (failed_of(MPI_COMM_WORLD) == 0)
		usleep(1000);
	if (comm != MPI_COMM_NULL) {
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		CHECK(says(MPI_Barrier(comm), FAILED));
		MPI_Comm_free(&comm);
	}
	free(gathered);
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
	CHECK(now == size && MPI_Barrier(more) == MPI_SUCCESS);
	/* The last one fails when nobody is inside of that any more. */
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
	MPI_Comm_free(&more);
	if (rank == last)
		die();
	wait_for_failure();
}

/* All but rank 0 fail at some time, wherever they are. Those that are left go on together. With even seeds they agree after
 * each call whether all is well; with odd ones whoever has seen a failure revokes the communicator. */
static void storm(unsigned seed)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	int now = size, rounds = 0;
	die_at_some_time(seed, 60000);
	while (now > 1) {
		int one = 1, sum = 0, *all = malloc(sizeof(int) * size);
		int kind = rounds++ % 4, code = MPI_SUCCESS;
		if (kind == 0)
			code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		else if (kind == 1)
			code = MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
		else if (kind == 2)
			code = MPI_Bcast(large, LARGE / 16, MPI_CHAR, rounds % now, comm);
		else
			code = MPI_Barrier(comm);
		CHECK(code != MPI_SUCCESS || kind != 0 || sum == now);
		free(all);
		if (has_shrunk(&comm, MPI_COMM_WORLD, seed, code, &now))
			rounds = 0;
	}
	MPI_Comm_free(&comm);
}

/* The last one is lost with its host, which the test takes away when all are up. */
static void host(void)
{
	int got;
	printf("up\n");
	fflush(stdout);
	if (rank == last)
		for (;;)
			pause();
	CHECK(says(MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
	CHECK(says(MPI_Barrier(MPI_COMM_WORLD), FAILED));
}

/* The second half of the ranks is lost together. */
static void party(void)
{
	int got, others = 0;
	char name[32];
	MPI_Comm smaller;
	snprintf(name, sizeof name, "ready.%d", rank);
	FILE *ready = fopen(name, "w");
	fprintf(ready, "%d\n", (int)getpid());
	fclose(ready);
	if (rank >= size / 2)
		for (;;)
			pause();
	CHECK(says(MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), FAILED));
	CHECK(says(MPI_Barrier(MPI_COMM_WORLD), FAILED));
	while (others < size - size / 2) {
		others = failed_of(MPI_COMM_WORLD);
		usleep(1000);
	}
	CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &smaller) == MPI_SUCCESS);
	CHECK(MPI_Barrier(smaller) == MPI_SUCCESS);
	MPI_Comm_free(&smaller);
	printf("well\n");
	MPI_Finalize();
	exit(0);
}

/* An error that nobody handles. */
static void fatal(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	if (rank == last)
		die();
	MPI_Barrier(MPI_COMM_WORLD);
}

/* It takes no part in what the others do while it fails, so they do not hear of it. */
static void outside(void)
{
	MPI_Group world, group;
	MPI_Comm comm, more;
	int not_me[] = { last }, reported = 0;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_excl(world, 1, not_me, &group);
	if (rank == last)
		die_at_some_time(size, 30000);
	for (int round = 0; rank == last || reported < 20; round++) {
		if (rank == last)
			continue;
		CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, round, &comm) == MPI_SUCCESS);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		CHECK(MPI_Comm_split(comm, rank % 2, rank, &more) == MPI_SUCCESS);
		MPI_Comm_free(&more);
		CHECK(MPI_Comm_dup(comm, &more) == MPI_SUCCESS);
		MPI_Comm_free(&more);
		/* All of them end after the same round. */
		int failed = failed_of(MPI_COMM_WORLD);
		CHECK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS);
		reported += failed;
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&world);
	MPI_Group_free(&group);
}

/* It fails while others wait for one that connects, and neither side has anything to do with it. */
static void accepts(void)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm local, between;
	int sum = 0, one = 1, connects = rank == 1;
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank == last ? MPI_UNDEFINED : connects, rank, &local) == MPI_SUCCESS);
	if (rank == last) {
		usleep(20000);
		die();
	}
	MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
	if (connects) {
		CHECK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
		wait_for_failure();
		usleep(300000);
		CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, local, &between) == MPI_SUCCESS);
	} else {
		if (rank == 0) {
			CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
			CHECK(MPI_Send(port, sizeof port, MPI_CHAR, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
		}
		CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, local, &between) == MPI_SUCCESS);
	}
	MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
	CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between) == MPI_SUCCESS);
	CHECK(sum == (connects ? last - 1 : 1));
	CHECK(MPI_Comm_disconnect(&between) == MPI_SUCCESS);
	MPI_Comm_free(&local);
}

/* A handler is told the error of the first operation that failed, and the call says where to look. */
static int told;

static void note(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	told = *code;
}

static void several(void)
{
	MPI_Errhandler handler;
	MPI_Request requests[3];
	MPI_Status statuses[3];
	int values[3], flag = 0, count, which[3], code;
	MPI_Comm_create_errhandler(note, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	if (rank == last) {
		usleep(20000);
		die();
	}
	for (int call = 0; call < 4; call++) {
		told = 0;
		for (int i = 0; i < 3; i++)
			CHECK(MPI_Irecv(&values[i], 1, MPI_INT, i == 1 ? last : rank, 40 + i, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
		for (int i = 0; i < 3; i += 2)
			CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 40 + i, MPI_COMM_WORLD) == MPI_SUCCESS);
		if (call == 0)
			code = MPI_Waitall(3, requests, statuses);
		else if (call == 1)
			while ((code = MPI_Testall(3, requests, &flag, statuses)) == MPI_SUCCESS)
				CHECK(!flag);
		else
			do
				code = call == 2 ? MPI_Waitsome(3, requests, &count, which, statuses)
				                 : MPI_Testsome(3, requests, &count, which, statuses);
			while (code == MPI_SUCCESS && count != MPI_UNDEFINED);
		CHECK(code == MPI_ERR_IN_STATUS && says(told, FAILED));
		int first = 0;
		while (call < 2 ? first != 1 : which[first] != 1)
			first++;
		CHECK(statuses[first].MPI_ERROR == told);
		/* The code is the class: programs compare it. */
		int class;
		MPI_Error_class(told, &class);
		CHECK(class == told);
		MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Errhandler_free(&handler);
}

static const struct test tests[] = {
	{ "outside", outside },   { "several", several },
	{ "receive", receive },   { "send", send },   { "before", before }, { "any", any },
	{ "revoke", is_revoked }, { "fatal", fatal },
	{ "accepts", accepts },   { "host", host },   { "party", party },   { NULL, NULL },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	begin(&argc, &argv);
	if (strcmp(what, "storm") == 0) {
		storm(argc > 2 ? atoi(argv[2]) : 0);
		CHECK(rank == 0 && failed_of(MPI_COMM_WORLD) == size - 1);
	} else {
		if (strncmp(what, "collective", 10) == 0)
			collective(atoi(what + 10));
		else if (strncmp(what, "ended", 5) == 0)
			ended(atoi(what + 5));
		else
			run(tests, what);
		CHECK(failed_of(MPI_COMM_WORLD) == 1 && failed_of(MPI_COMM_SELF) == 0);
		all_goes_on();
	}
	return end();
}
