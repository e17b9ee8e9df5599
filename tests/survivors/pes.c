/* PEs that outlive another one. Few calls of OpenSHMEM can tell them, and those return a status. With the others the job ends,
 * with a sentence, and no PE waits for ever.
 *
 *     pes WHAT     with at least 3 PEs; the last one fails
 *     pes storm SEED   the last one fails at any time
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static long word, lock, source[1000], target[1000];

static void die(void)
{
	shmem_quiet();
	raise(SIGKILL);
}

static void strike(int signal)
{
	(void)signal;
	raise(SIGKILL);
}

/* All use all of it until one fails. */
static void storm(unsigned seed, int me, int last)
{
	srand(seed * 1000 + me);
	struct itimerval when = { { 0, 0 }, { 0, 1000 + rand() % 40000 } };
	signal(SIGALRM, strike);
	if (me == last)
		setitimer(ITIMER_REAL, &when, NULL);
	for (;;) {
		int to = rand() % (last + 1);
		shmem_set_lock(&lock);
		shmem_long_p(&word, shmem_long_g(&word, 0) + 1, 0);
		shmem_quiet();
		shmem_clear_lock(&lock);
		shmem_long_atomic_add(&target[1], 1, to);
		shmem_long_put(target, source, 1000, to);
		shmem_quiet();
		shmem_barrier_all();
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	shmem_init();
	int last = shmem_n_pes() - 1, me = shmem_my_pe();
	if (strcmp(what, "lock") == 0 && me == last)
		shmem_set_lock(&lock);
	shmem_barrier_all();
	if (strcmp(what, "storm") == 0)
		storm(argc > 2 ? atoi(argv[2]) : 0, me, last);
	if (strcmp(what, "collect") == 0) {
		for (int round = 0;; round++) {
			if (me == last && round == 40)
				die();
			if (shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, 1000))
				shmem_global_exit(3);
			usleep(round > 40 ? 500 : 0);
		}
	}
	if (me == last) {
		usleep(20000);
		die();
	}
	if (strcmp(what, "barrier") == 0)
		shmem_barrier_all();
	else if (strcmp(what, "sync") == 0 && shmem_team_sync(SHMEM_TEAM_WORLD))
		shmem_global_exit(3);
	else if (strcmp(what, "wait") == 0)
		shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
	else if (strcmp(what, "test") == 0)
		while (!shmem_long_test(&word, SHMEM_CMP_NE, 0))
			;
	else if (strcmp(what, "lock") == 0)
		shmem_set_lock(&lock);
	else if (strcmp(what, "malloc") == 0)
		shmem_malloc(1000);
	else if (strcmp(what, "finalize") == 0)
		shmem_finalize();
	printf("not so: %s has ended\n", what);
	return 0;
}
