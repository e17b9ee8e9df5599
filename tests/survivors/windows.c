/* Ranks that outlive others inside of one-sided synchronisation and of collective access to files.
 *
 *     windows WHAT     with at least 3 ranks; the last one fails, and each other one prints "well"
 *     windows storm SEED   all but rank 0 fail, each at any time
 */
#include "survivors.h"

enum { WORDS = 4096 };

/* Whether an access is done, or not because the target has failed. */
static int goes(int code)
{
	return code == MPI_SUCCESS || says(code, FAILED);
}

static MPI_Win make(MPI_Comm comm, int **words)
{
	MPI_Win win = MPI_WIN_NULL;
	if (MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, words, &win) != MPI_SUCCESS)
		return MPI_WIN_NULL;
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	return win;
}

static MPI_Group group_of(int first, int count)
{
	MPI_Group world, group;
	int range[1][3] = { { first, first + count - 1, 1 } };
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, range, &group);
	MPI_Group_free(&world);
	return group;
}

/* A window of those that are left does everything, and nobody is told of what was before. */
static void all_goes_on(void)
{
	MPI_Comm comm;
	int *words, now, me, one = 1, got;
	CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
	MPI_Comm_size(comm, &now);
	MPI_Comm_rank(comm, &me);
	MPI_Win win = make(comm, &words);
	CHECK(win != MPI_WIN_NULL && MPI_Win_fence(0, win) == MPI_SUCCESS);
	for (int round = 0; round < 30; round++) {
		CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
		CHECK(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
		got++;
		CHECK(MPI_Put(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
	}
	CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS && (me > 0 || words[0] == 30 * now));
	CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
	CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS && (me > 0 || words[1] == now));
	CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
	MPI_Comm_free(&comm);
}

static void fence(void)
{
	int *words, code = MPI_SUCCESS;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	for (int round = 0; code == MPI_SUCCESS; round++) {
		if (rank == last && round == 40)
			die();
		code = MPI_Win_fence(0, win);
	}
	CHECK(says(code, FAILED) && says(MPI_Win_fence(0, win), FAILED));
	CHECK(says(MPI_Win_free(&win), FAILED));
	MPI_Win more;
	CHECK(says(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &more), FAILED));
}

/* It holds a lock that all want. */
static void lock_held(void)
{
	int *words;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	if (rank == last) {
		CHECK(hold(MPI_LOCK_EXCLUSIVE, 0, win) == MPI_SUCCESS);
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(20000);
		die();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(says(hold(rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, win), FAILED));
	CHECK(says(hold_all(0, win), FAILED));
}

/* It waits for a lock that another one holds, and others wait behind it. Those that have asked before it may get the lock. */
static void lock_wanted(void)
{
	int *words;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	if (rank == 0)
		CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == last) {
		struct itimerval when = { { 0, 0 }, { 0, 30000 } };
		signal(SIGALRM, strike);
		setitimer(ITIMER_REAL, &when, NULL);
	}
	if (rank > 0) {
		usleep((size - rank) * 1000);
		int code = hold(MPI_LOCK_EXCLUSIVE, 0, win);
		CHECK(rank != last && goes(code));
		if (code == MPI_SUCCESS)
			CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
	} else {
		wait_for_failure();
		CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
	}
}

/* It has not posted what the others want to access. */
static void start(void)
{
	int *words;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	MPI_Group group = group_of(last, 1);
	if (rank == last) {
		usleep(20000);
		die();
	}
	CHECK(says(MPI_Win_start(group, 0, win), FAILED));
	MPI_Group_free(&group);
}

/* It has not completed its accesses of the others. */
static void wait_for_accesses(void)
{
	int *words, flag = 0, code = MPI_SUCCESS;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	MPI_Group origins = group_of(last, 1), targets = group_of(0, last);
	if (rank == last) {
		CHECK(MPI_Win_start(targets, 0, win) == MPI_SUCCESS);
		MPI_Barrier(MPI_COMM_WORLD);
		die();
	}
	CHECK(MPI_Win_post(origins, 0, win) == MPI_SUCCESS);
	CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS || failed_of(MPI_COMM_WORLD));
	if (rank % 2) {
		CHECK(says(MPI_Win_wait(win), FAILED));
	} else {
		while (code == MPI_SUCCESS && !flag)
			code = MPI_Win_test(win, &flag);
		CHECK(says(code, FAILED));
	}
	MPI_Group_free(&origins);
	MPI_Group_free(&targets);
}

/* Accesses of its memory end, with an error or without. */
static void access_target(void)
{
	int *words, value = 1, old;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
	/* All have the lock then. */
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &value) == MPI_SUCCESS);
	if (rank == last)
		die();
	for (int round = 0; round < 200 || !failed_of(MPI_COMM_WORLD); round++) {
		int codes[5];
		codes[0] = MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, win);
		codes[1] = MPI_Get(&value, 1, MPI_INT, last, rank, 1, MPI_INT, win);
		codes[2] = MPI_Accumulate(&value, 1, MPI_INT, last, 9, 1, MPI_INT, MPI_SUM, win);
		codes[3] = MPI_Fetch_and_op(&value, &old, MPI_INT, last, 9, MPI_SUM, win);
		codes[4] = MPI_Win_flush(last, win);
		for (int i = 0; i < 5; i++)
			CHECK(goes(codes[i]));
	}
	CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
}

/* The last rank dies once all have come here. Those behind rank 0 give that one the time to go ahead. */
static void lose_the_last(void)
{
	int flag = 1;
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
	if (rank == last)
		die();
	wait_for_failure();
	if (rank > 0)
		usleep(300000);
}

/* Rank 0 gives a window up and ends while the others still use its memory; then they give it up too. */
static void end_early(void)
{
	int *words, value = 1, old;
	MPI_Win win = make(MPI_COMM_WORLD, &words);
	CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
	lose_the_last();
	if (rank > 0) {
		CHECK(MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Get(&old, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
		CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS && old == value);
		CHECK(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
		CHECK(MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 0, MPI_SUM, win) == MPI_SUCCESS);
		CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS && old > 0);
	}
	CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
	/* It waits for nobody, for others may have given up elsewhere. From then on the window is not used any more. */
	CHECK(says(MPI_Win_free(&win), FAILED) && win != MPI_WIN_NULL);
	CHECK(says(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), "MPI_ERR_RMA_SYNC"));
	CHECK(says(MPI_Win_fence(0, win), "MPI_ERR_RMA_SYNC") && says(MPI_Win_free(&win), FAILED));
	exit(end());
}

/* The same with the shared pointer of a file. */
static void close_early(void)
{
	int value = rank;
	MPI_File file;
	MPI_Offset at;
	CHECK(MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
	CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	lose_the_last();
	if (rank > 0) {
		CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
		CHECK(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at > size * (MPI_Offset)sizeof(int));
	}
	CHECK(says(MPI_File_close(&file), FAILED));
	exit(end());
}

/* One fails in the middle of collectives of a file of every kind. */
static void file(int kind)
{
	MPI_File file = MPI_FILE_NULL;
	int code = MPI_SUCCESS, buffer[1000] = { 0 };
	MPI_Status status;
	if (kind < 6) {
		code = MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
		CHECK(code == MPI_SUCCESS);
		/* Each has pieces all over the file. */
		MPI_Datatype pieces, mine;
		MPI_Type_vector(100, 10, 10 * size, MPI_INT, &pieces);
		MPI_Type_create_resized(pieces, 0, 1000 * size * sizeof(int), &mine);
		MPI_Type_commit(&mine);
		MPI_File_set_view(file, 10 * rank * sizeof(int), MPI_INT, mine, "native", MPI_INFO_NULL);
		MPI_Type_free(&pieces);
		MPI_Type_free(&mine);
	}
	for (int round = 0; code == MPI_SUCCESS; round++) {
		if (rank == last && round == 10)
			die();
		CHECK(round < 4000);
		if (round > 10)
			usleep(500);
		switch (kind) {
		case 0: code = MPI_File_write_all(file, buffer, 1000, MPI_INT, &status); break;
		case 1: code = MPI_File_read_at_all(file, 0, buffer, 1000, MPI_INT, &status); break;
		case 2: code = MPI_File_write_ordered(file, buffer, 1000, MPI_INT, &status); break;
		case 3: code = MPI_File_sync(file); break;
		case 4: code = MPI_File_set_size(file, round); break;
		case 5: code = MPI_File_read_ordered(file, buffer, 1000, MPI_INT, &status); break;
		default:
			code = MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
			if (code == MPI_SUCCESS)
				code = MPI_File_close(&file);
		}
	}
	CHECK(says(code, FAILED));
	if (kind < 6)
		CHECK(says(MPI_File_close(&file), FAILED));
}

/* All but rank 0 fail at some time, wherever they are; those that are left make another window. */
static void storm(unsigned seed)
{
	MPI_Comm comm = MPI_COMM_WORLD, smaller;
	int now = size, ones[64], old;
	for (int i = 0; i < 64; i++)
		ones[i] = 1;
	CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &now) == MPI_SUCCESS);
	die_at_some_time(seed, 60000);
	while (now > 1) {
		int *words, code = MPI_SUCCESS, target = 0;
		MPI_Win win = make(comm, &words);
		for (int round = 0; win != MPI_WIN_NULL && code == MPI_SUCCESS; round++) {
			target = (target * 7 + round + rank) % now;
			int kind = (seed + round) % 4, type = round % 3 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
			if (kind == 0) {
				code = MPI_Win_fence(0, win);
				CHECK(code != MPI_SUCCESS || goes(MPI_Accumulate(ones, 64, MPI_INT, target, 0, 64, MPI_INT, MPI_SUM, win)));
				if (code == MPI_SUCCESS)
					code = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
				continue;
			}
			if (kind == 1)
				target = 0;
			code = kind == 2 ? MPI_Win_lock_all(0, win) : MPI_Win_lock(type, target, 0, win);
			if (code != MPI_SUCCESS)
				break;
			CHECK(goes(MPI_Accumulate(ones, 64, MPI_INT, target, 64, 64, MPI_INT, MPI_PROD, win)));
			CHECK(goes(MPI_Fetch_and_op(ones, &old, MPI_INT, target, 0, MPI_SUM, win)));
			/* What has become of operations on another node is told here. */
			CHECK(goes(kind == 2 ? MPI_Win_unlock_all(win) : MPI_Win_unlock(target, win)));
		}
		CHECK(goes(code));
		CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
		CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
		if (comm != MPI_COMM_WORLD)
			MPI_Comm_free(&comm);
		comm = smaller;
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		MPI_Comm_size(comm, &now);
	}
	MPI_Comm_free(&comm);
}

static const struct test tests[] = {
	{ "fence", fence },
	{ "lock_held", lock_held },
	{ "lock_wanted", lock_wanted },
	{ "start", start },
	{ "wait", wait_for_accesses },
	{ "access", access_target },
	{ "end", end_early },
	{ "close", close_early },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	begin(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
	if (argc > 2) {
		storm(atoi(argv[2]));
		CHECK(rank == 0 && failed_of(MPI_COMM_WORLD) == size - 1);
		return end();
	}
	if (strncmp(what, "file", 4) == 0)
		file(atoi(what + 4));
	else
		run(tests, what);
	all_goes_on();
	return end();
}
