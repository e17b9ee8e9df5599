/* One rank after the other is killed, each at a random time inside of calls of a random kind, until one is left. Each survivor
 * prints, for each kill, the kind and the milliseconds from the death to the return of its call:
 *
 *     kills SEED FILE     the file is for the times of the deaths, which outlive the dead
 */
#include "survivors.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#define LARGE (512 << 10)

static volatile double *deaths;
static char *large, *room;
static MPI_Comm comm;
static int me, now, victim;
static MPI_Win window;
static MPI_File file;
static int *words;

static double milliseconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static void end_here(int signal)
{
	(void)signal;
	deaths[rank] = milliseconds();
	die();
}

/* The victim tells all others; they hear it, by a call of each kind. */
static int star(int kind, int bytes)
{
	MPI_Request requests[64];
	MPI_Status status;
	MPI_Message message;
	int code = MPI_SUCCESS, flag = 0, one;
	if (me == victim) {
		for (int to = 0; to < now && code == MPI_SUCCESS; to++)
			if (to != me)
				code = kind == 1 ? MPI_Ssend(large, bytes, MPI_CHAR, to, 1, comm) : MPI_Send(large, bytes, MPI_CHAR, to, 1, comm);
		return code;
	}
	switch (kind) {
	case 2:
		if ((code = MPI_Irecv(room, bytes, MPI_CHAR, victim, 1, comm, requests)) == MPI_SUCCESS)
			code = MPI_Wait(requests, MPI_STATUS_IGNORE);
		return code;
	case 3:
		if ((code = MPI_Irecv(room, bytes, MPI_CHAR, victim, 1, comm, requests)) == MPI_SUCCESS)
			while (code == MPI_SUCCESS && !flag)
				code = MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
		return code;
	case 4:
		if ((code = MPI_Probe(victim, 1, comm, &status)) == MPI_SUCCESS)
			code = MPI_Recv(room, bytes, MPI_CHAR, victim, 1, comm, MPI_STATUS_IGNORE);
		return code;
	case 5:
		if ((code = MPI_Mprobe(victim, 1, comm, &message, &status)) == MPI_SUCCESS)
			code = MPI_Mrecv(room, bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
		return code;
	case 6:
		return MPI_Recv(room, bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
	case 7:
		code = MPI_Recv_init(room, bytes, MPI_CHAR, victim, 1, comm, requests);
		if (code == MPI_SUCCESS && (code = MPI_Start(requests)) == MPI_SUCCESS)
			code = MPI_Wait(requests, MPI_STATUS_IGNORE);
		MPI_Request_free(requests);
		return code;
	case 8:
		if ((code = MPI_Irecv(room, bytes, MPI_CHAR, victim, 1, comm, requests)) == MPI_SUCCESS)
			code = MPI_Waitany(1, requests, &one, &status);
		return code;
	default:
		return MPI_Recv(room, bytes, MPI_CHAR, victim, 1, comm, MPI_STATUS_IGNORE);
	}
}

/* All others tell the victim. */
static int many_to_one(int bytes)
{
	int code = MPI_SUCCESS;
	if (me != victim)
		return MPI_Ssend(large, bytes, MPI_CHAR, victim, 1, comm);
	for (int from = 0; from < now && code == MPI_SUCCESS; from++)
		if (from != me)
			code = MPI_Recv(room, bytes, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
	return code;
}

static int waited(int code, MPI_Request *request)
{
	return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

static int collective(int kind)
{
	int one = 1, sum = 0, *all = (int *)room, *mine = (int *)large;
	MPI_Request request;
	switch (kind) {
	case 0: return MPI_Barrier(comm);
	case 1: return MPI_Bcast(large, 64, MPI_CHAR, victim, comm);
	case 2: return MPI_Bcast(large, LARGE, MPI_CHAR, 0, comm);
	case 3: return MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm) || MPI_Barrier(comm) ? MPI_Barrier(comm) : 0;
	case 4: return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	case 5: return MPI_Allreduce(mine, all, LARGE / 8, MPI_INT, MPI_SUM, comm);
	case 6: return MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
	case 7: return MPI_Alltoall(mine, 1000, MPI_INT, all, 1000, MPI_INT, comm);
	case 8: return MPI_Scatter(mine, 10, MPI_INT, all, 10, MPI_INT, victim, comm);
	case 9: return MPI_Gather(mine, 10, MPI_INT, all, 10, MPI_INT, 0, comm) || MPI_Barrier(comm) ? MPI_Barrier(comm) : 0;
	case 10: return MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm) || MPI_Barrier(comm) ? MPI_Barrier(comm) : 0;
	case 11: return MPI_Reduce_scatter_block(mine, all, 50, MPI_INT, MPI_SUM, comm);
	case 12: return waited(MPI_Ibarrier(comm, &request), &request);
	case 13: return waited(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request), &request);
	case 14: return waited(MPI_Ibcast(large, LARGE, MPI_CHAR, 0, comm, &request), &request);
	default: return waited(MPI_Ialltoall(mine, 100, MPI_INT, all, 100, MPI_INT, comm, &request), &request);
	}
}

static int making(int kind)
{
	MPI_Comm made = MPI_COMM_NULL;
	int code;
	if (kind == 0)
		code = MPI_Comm_dup(comm, &made);
	else if (kind == 1)
		code = MPI_Comm_split(comm, me % 2, me, &made);
	else {
		MPI_Group group;
		MPI_Comm_group(comm, &group);
		code = MPI_Comm_create(comm, group, &made);
		MPI_Group_free(&group);
	}
	if (code == MPI_SUCCESS && made != MPI_COMM_NULL)
		MPI_Comm_free(&made);
	return code;
}

static int one_sided(int kind)
{
	int code, old, one = 1;
	if (kind == 0) {
		MPI_Put(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, window);
		return MPI_Win_fence(0, window);
	}
	/* What is done to the memory of a dead process may be done well. */
	if ((code = MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, window)) != MPI_SUCCESS)
		return code;
	if (kind == 1)
		MPI_Accumulate(&one, 1, MPI_INT, victim, 0, 1, MPI_INT, MPI_SUM, window);
	else
		MPI_Fetch_and_op(&one, &old, MPI_INT, victim, 0, MPI_SUM, window);
	MPI_Win_unlock(victim, window);
	return MPI_Barrier(comm);
}

static int filing(int kind)
{
	MPI_Offset place = (MPI_Offset)me * 4096;
	return kind ? MPI_File_read_at_all(file, place, room, 4096, MPI_CHAR, MPI_STATUS_IGNORE)
	            : MPI_File_write_at_all(file, place, large, 4096, MPI_CHAR, MPI_STATUS_IGNORE);
}

static const char *const names[] = {
	"Recv", "Ssend", "Irecv Wait", "Irecv Test", "Probe", "Mprobe", "Recv any", "Recv_init", "Waitany", "Recv large",
	"Ssend to one", "Ssend large to one",
	"Barrier", "Bcast", "Bcast large", "Reduce", "Allreduce", "Allreduce large", "Allgather", "Alltoall", "Scatter", "Gather",
	"Scan", "Reduce_scatter_block", "Ibarrier", "Iallreduce", "Ibcast", "Ialltoall",
	"Comm_dup", "Comm_split", "Comm_create", "Win_fence", "Accumulate", "Fetch_and_op", "File_write_at_all", "File_read_at_all",
};
#define KINDS (int)(sizeof names / sizeof *names)

static int call(int kind)
{
	if (kind < 10)
		return kind == 9 ? star(0, LARGE) : star(kind, 100);
	if (kind < 12)
		return many_to_one(kind == 10 ? 100 : LARGE);
	if (kind < 28)
		return collective(kind - 12);
	if (kind < 31)
		return making(kind - 28);
	return kind < 34 ? one_sided(kind - 31) : filing(kind - 34);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	unsigned seed = argc > 1 ? atoi(argv[1]) : 0;
	int shared = open(argv[2], O_RDWR | O_CREAT, 0600);
	CHECK(shared >= 0 && ftruncate(shared, 4096) == 0);
	deaths = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	CHECK(deaths != MAP_FAILED);
	large = calloc(1, LARGE);
	room = calloc(1, LARGE);
	signal(SIGALRM, end_here);
	comm = MPI_COMM_WORLD;
	char name[512];
	snprintf(name, sizeof name, "%s.data", argv[2]);
	for (int round = 0;; round++) {
		MPI_Comm_size(comm, &now);
		MPI_Comm_rank(comm, &me);
		if (now == 1)
			break;
		/* All draw the same. */
		srand(seed * 100 + round);
		int kind = rand() % KINDS, microseconds = 100 + rand() % 6000, who, ready = 1;
		victim = rand() % now;
		CHECK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &words, &window) == MPI_SUCCESS);
		MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
		CHECK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
		CHECK(MPI_File_write_at_all(file, me * 4096, large, 4096, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
		who = me == victim ? rank : -1;
		CHECK(MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS);
		CHECK(MPIX_Comm_agree(comm, &ready) == MPI_SUCCESS);
		if (me == victim) {
			struct itimerval when = { { 0, 0 }, { 0, microseconds } };
			setitimer(ITIMER_REAL, &when, NULL);
		}
		int code = MPI_SUCCESS;
		while (code == MPI_SUCCESS)
			code = call(kind);
		double returned = milliseconds();
		CHECK(me != victim && (says(code, FAILED) || says(code, PENDING)));
		CHECK(deaths[who] > 0);
		printf("%s: %.3f\n", names[kind], returned - deaths[who]);
		fflush(stdout);
		MPI_Comm smaller;
		CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
		comm = smaller;
	}
	return end();
}
