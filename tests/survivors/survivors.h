/* What programs share whose ranks outlive others: checks, and how a rank fails.
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
int MPIX_Comm_iagree(MPI_Comm, int *, MPI_Request *);
int MPIX_Comm_ishrink(MPI_Comm, MPI_Comm *, MPI_Request *);

static int rank, size, last;

#define CHECK(what)                                                                  \
	do {                                                                             \
		if (!(what)) {                                                               \
			fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #what); \
			MPI_Abort(MPI_COMM_WORLD, 9);                                            \
		}                                                                            \
	} while (0)

/* Whether a lock that is not waited for where it is asked for (on another node) is held. */
static inline int held(int code, int target, MPI_Win win)
{
	int word;
	if (code != MPI_SUCCESS)
		return code;
	MPI_Get(&word, 1, MPI_INT, target, 0, 1, MPI_INT, win);
	return MPI_Win_flush(target, win);
}

/* Waits until this rank holds a lock. */
static inline int hold(int kind, int target, MPI_Win win)
{
	int locked = MPI_Win_lock(kind, target, 0, win), code = held(locked, target, win);
	if (locked == MPI_SUCCESS && code != MPI_SUCCESS)
		MPI_Win_unlock(target, win);
	return code;
}

/* The same for the locks of all, of which that of a rank is asked for. */
static inline int hold_all(int target, MPI_Win win)
{
	int locked = MPI_Win_lock_all(0, win), code = held(locked, target, win);
	if (locked == MPI_SUCCESS && code != MPI_SUCCESS)
		MPI_Win_unlock_all(win);
	return code;
}

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

static void strike(int signal)
{
	(void)signal;
	die();
}

/* All but rank 0 fail within so many microseconds, each when the seed says so. */
__attribute__((unused)) static void die_at_some_time(unsigned seed, int within)
{
	srand(seed * 1000 + rank);
	struct itimerval when = { { 0, 0 }, { 0, 1000 + rand() % within } };
	signal(SIGALRM, strike);
	if (rank > 0)
		setitimer(ITIMER_REAL, &when, NULL);
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

/* After a call of a storm, which has returned `code`: with an even seed the members agree whether all is well, with an odd one
 * whoever has seen a failure revokes the communicator. If not all is well, one of those that are left takes its place; the
 * `first` one is not freed. Whether that was so. */
__attribute__((unused)) static int has_shrunk(MPI_Comm *comm, MPI_Comm first, unsigned seed, int code, int *now)
{
	MPI_Comm smaller;
	int well = code == MPI_SUCCESS, before = *now;
	CHECK(well || (seed % 2 && says(code, REVOKED)) || says(code, FAILED));
	if (seed % 2 == 0) {
		code = MPIX_Comm_agree(*comm, &well);
		CHECK(code == MPI_SUCCESS || says(code, FAILED));
	}
	if (code == MPI_SUCCESS && well)
		return 0;
	if (seed % 2)
		CHECK(MPIX_Comm_revoke(*comm) == MPI_SUCCESS);
	CHECK(MPIX_Comm_shrink(*comm, &smaller) == MPI_SUCCESS);
	if (*comm != first)
		MPI_Comm_free(comm);
	*comm = smaller;
	MPI_Comm_size(smaller, now);
	CHECK(*now <= before);
	return 1;
}

__attribute__((unused)) static void wait_for_failure(void)
{
	while (failed_of(MPI_COMM_WORLD) == 0)
		usleep(1000);
}


static void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	last = size - 1;
	CHECK(failed_of(MPI_COMM_WORLD) == 0);
	MPI_Barrier(MPI_COMM_WORLD);
}

static int end(void)
{
	printf("well\n");
	return MPI_Finalize() != MPI_SUCCESS;
}

struct test {
	const char *name;
	void (*run)(void);
};

/* Runs the test of that name. */
__attribute__((unused)) static void run(const struct test *tests, const char *what)
{
	while (tests->name && strcmp(what, tests->name) != 0)
		tests++;
	CHECK(tests->name);
	tests->run();
}
