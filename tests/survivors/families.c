/* Processes of two jobs outlive others, which are of either job.
 *
 *     families spawn WHAT [SEED]          the ranks start as many children, which run this program too
 *     families serve|call FILE WHAT [SEED]   two jobs connect; the first writes the name of its port into the file
 *
 * Ranks are numbered over both jobs, those of the first one from 0. Each process that goes on prints "well".
 */
#include "survivors.h"
#include <time.h>

static MPI_Comm all, between;
static int first_size, is_first;
static unsigned seed;

static double milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

/* Those that are left go on with these many. */
static void go_on(MPI_Comm comm, int expected)
{
	MPI_Comm smaller;
	int now, one = 1, sum = 0, flag = ~(1 << rank);
	CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
	MPI_Comm_size(smaller, &now);
	CHECK(now == expected);
	for (int round = 0; round < 20; round++)
		CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, smaller) == MPI_SUCCESS && sum == now);
	CHECK(MPIX_Comm_agree(smaller, &flag) == MPI_SUCCESS);
	CHECK(MPI_Barrier(smaller) == MPI_SUCCESS && failed_of(smaller) == 0);
	MPI_Comm_free(&smaller);
}

/* Process `who` fails; all calls of the others say so, and all goes on without it. */
static void loses(int who)
{
	int got, flag, mask = ~0;
	MPI_Request request;
	MPI_Group acked;
	for (int to = 0; to < size; to++)
		mask &= ~(1 << to);
	flag = ~(1 << rank);
	CHECK(MPIX_Comm_agree(all, &flag) == MPI_SUCCESS && flag == mask);
	MPI_Barrier(all);
	if (rank == who)
		die();
	double since = milliseconds();
	if (rank % 3 == 0)
		CHECK(says(MPI_Recv(&got, 1, MPI_INT, who, 1, all, MPI_STATUS_IGNORE), FAILED));
	else if (rank % 3 == 1)
		CHECK(says(MPI_Barrier(all), FAILED));
	else
		CHECK(says(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, all, MPI_STATUS_IGNORE), FAILED));
	printf("told %.1f\n", milliseconds() - since);
	CHECK(failed_of(all) == 1);
	CHECK(says(MPI_Bcast(&got, 1, MPI_INT, 0, all), FAILED));
	flag = ~(1 << rank);
	CHECK(says(MPIX_Comm_agree(all, &flag), FAILED) && flag == (mask | 1 << who));
	CHECK(MPIX_Comm_failure_ack(all) == MPI_SUCCESS);
	CHECK(MPIX_Comm_failure_get_acked(all, &acked) == MPI_SUCCESS);
	MPI_Group_size(acked, &got);
	CHECK(got == 1);
	MPI_Group_free(&acked);
	for (int round = 0; round < 20; round++) {
		flag = ~(1 << rank) - 256 * round;
		CHECK(MPIX_Comm_iagree(all, &flag, &request) == MPI_SUCCESS);
		CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	}
	go_on(all, size - 1);
}

static void child(void)
{
	loses(last);
}

static void parent(void)
{
	loses(first_size - 1);
}

/* The one that has started the others, or has opened the port. */
static void root(void)
{
	loses(0);
}

static void is_revoked(void)
{
	int got, flag, who = size - 1;
	MPI_Comm comm, more;
	CHECK(MPI_Comm_dup(all, &comm) == MPI_SUCCESS);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (rank == 1) {
		usleep(30000);
		CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
	} else if (rank % 2)
		CHECK(says(MPI_Recv(&got, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE), REVOKED));
	else
		CHECK(says(MPI_Barrier(comm), REVOKED));
	CHECK(says(MPI_Send(&rank, 1, MPI_INT, 0, 1, comm), REVOKED));
	CHECK(says(MPI_Barrier(comm), REVOKED));
	CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 1);
	CHECK(MPIX_Comm_is_revoked(all, &flag) == MPI_SUCCESS && flag == 0);
	flag = ~(1 << rank);
	CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && !(flag & 3));
	CHECK(MPIX_Comm_shrink(comm, &more) == MPI_SUCCESS);
	MPI_Comm_free(&comm);
	CHECK(MPI_Barrier(more) == MPI_SUCCESS);
	MPI_Comm_free(&more);
	/* The last one fails when nobody is inside of that any more. */
	CHECK(MPIX_Comm_agree(all, &flag) == MPI_SUCCESS);
	if (rank == who)
		die();
	while (failed_of(all) == 0)
		usleep(1000);
}

/* The communicator between the two jobs. */
static void both_groups(void)
{
	int flag = is_first ? 6 : 12, now, remote, one = 1, sum;
	MPI_Comm smaller, merged;
	CHECK(MPIX_Comm_agree(between, &flag) == MPI_SUCCESS && flag == (is_first ? 12 : 6));
	if (rank == last)
		die();
	CHECK(says(MPI_Barrier(between), FAILED));
	CHECK(failed_of(between) == !is_first);
	/* Nobody revokes it before all have been told. */
	flag = 1;
	CHECK(says(MPIX_Comm_agree(between, &flag), FAILED) && flag == 1);
	CHECK(MPIX_Comm_revoke(between) == MPI_SUCCESS);
	CHECK(says(MPI_Send(&one, 1, MPI_INT, 0, 1, between), REVOKED));
	CHECK(MPIX_Comm_shrink(between, &smaller) == MPI_SUCCESS);
	MPI_Comm_size(smaller, &now);
	MPI_Comm_remote_size(smaller, &remote);
	CHECK(now + remote == size - 1 && (is_first ? now : remote) == first_size);
	for (int round = 0; round < 10; round++) {
		CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, smaller) == MPI_SUCCESS && sum == remote);
		CHECK(MPI_Barrier(smaller) == MPI_SUCCESS);
	}
	CHECK(MPI_Intercomm_merge(smaller, !is_first, &merged) == MPI_SUCCESS);
	MPI_Comm_size(merged, &now);
	CHECK(now == size - 1 && MPI_Barrier(merged) == MPI_SUCCESS);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&smaller);
}

/* All of the second job fail. */
static void job(void)
{
	int now, remote, code = MPI_SUCCESS;
	MPI_Comm smaller;
	MPI_Barrier(all);
	if (!is_first)
		die();
	while (code == MPI_SUCCESS)
		code = MPI_Barrier(all);
	CHECK(says(code, FAILED));
	while (failed_of(all) < size - first_size)
		usleep(1000);
	go_on(all, first_size);
	CHECK(MPIX_Comm_shrink(between, &smaller) == MPI_SUCCESS);
	MPI_Comm_size(smaller, &now);
	MPI_Comm_remote_size(smaller, &remote);
	CHECK(now == first_size && remote == 0);
	MPI_Comm_free(&smaller);
}

/* All but rank 0 fail at some time. With even seeds they agree after each call whether all is well; with odd ones whoever has
 * seen a failure revokes the communicator. */
static void storm(void)
{
	MPI_Comm comm = all;
	int now = size, rounds = 0, one, sum, code;
	double longest = 0;
	/* Nobody fails before all have their communicator. */
	one = 1;
	CHECK(MPIX_Comm_agree(all, &one) == MPI_SUCCESS);
	die_at_some_time(seed, 60000);
	while (now > 1) {
		int kind = rounds++ % 3;
		one = 1, sum = 0;
		double since = milliseconds();
		if (kind == 0)
			code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		else if (kind == 1)
			code = MPI_Bcast(&one, 1, MPI_INT, rounds % now, comm);
		else
			code = MPI_Barrier(comm);
		if (milliseconds() - since > longest)
			longest = milliseconds() - since;
		CHECK(code != MPI_SUCCESS || kind != 0 || sum == now);
		if (has_shrunk(&comm, all, seed, code, &now))
			rounds = 0;
	}
	printf("longest %.1f\n", longest);
	MPI_Comm_free(&comm);
	CHECK(rank == 0 && failed_of(all) == size - 1);
}

static const struct test tests[] = {
	{ "child", child }, { "parent", parent }, { "root", root }, { "revoke", is_revoked }, { "both_groups", both_groups },
	{ "job", job },     { "storm", storm },   { NULL, NULL },
};

static void write_name(const char *file, const char *port)
{
	char name[512];
	snprintf(name, sizeof name, "%s.new", file);
	FILE *made = fopen(name, "w");
	fputs(port, made);
	fclose(made);
	rename(name, file);
}

static void read_name(const char *file, char *port)
{
	FILE *found;
	while (!(found = fopen(file, "r")))
		usleep(1000);
	CHECK(fgets(port, MPI_MAX_PORT_NAME, found) != NULL);
	fclose(found);
}

static void meet(char **argv)
{
	char port[MPI_MAX_PORT_NAME] = "";
	if (is_first) {
		if (rank == 0) {
			MPI_Open_port(MPI_INFO_NULL, port);
			write_name(argv[2], port);
		}
		CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between) == MPI_SUCCESS);
		if (rank == 0)
			MPI_Close_port(port);
	} else {
		if (rank == 0)
			read_name(argv[2], port);
		CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between) == MPI_SUCCESS);
	}
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	const char *way = argv[1], *what = argv[2];
	is_first = strcmp(way, "spawn") == 0 || strcmp(way, "serve") == 0;
	if (strcmp(way, "serve") == 0 || strcmp(way, "call") == 0) {
		what = argv[3];
		seed = argc > 4 ? atoi(argv[4]) : 0;
		meet(argv);
	} else {
		seed = argc > 3 ? atoi(argv[3]) : 0;
		char *words[] = { "child", argv[2], argv[3], NULL };
		if (is_first)
			CHECK(MPI_Comm_spawn(argv[0], words, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
			                     MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
		else
			MPI_Comm_get_parent(&between);
	}
	MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
	if (is_first)
		first_size = size;
	else
		MPI_Comm_remote_size(between, &first_size);
	CHECK(MPI_Intercomm_merge(between, !is_first, &all) == MPI_SUCCESS);
	MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &size);
	last = size - 1;
	run(tests, what);
	MPI_Comm_free(&all);
	MPI_Comm_free(&between);
	return end();
}
