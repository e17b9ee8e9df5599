/* Programs that hang around windows. Comments as in hangs.c. */

#include <mpi.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me, size, x, *base;
static MPI_Win win;

static MPI_Group only(int rank) {
    MPI_Group all, made;
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 1, &rank, &made);
    MPI_Group_free(&all);
    return made;
}

// case lock_that_is_kept 2: ranks 0 and 1 wait for each other
static void lock_that_is_kept(void) {
    if (me == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(WORLD);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); // stuck 1: MPI_Win_lock ; rank 0
}

// case lock_of_one_that_has_gone 3: ranks 0, 1 and 2 wait for one another
static void lock_of_one_that_has_gone(void) {
    if (me == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(WORLD);
    if (me == 2)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win); // stuck 2: MPI_Win_lock ; rank 0
}

// case lock_for_all 2: ranks 0 and 1 wait for each other
static void lock_for_all(void) {
    if (me == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(WORLD);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        MPI_Win_lock_all(0, win); // stuck 1: MPI_Win_lock_all ; rank 0
}

// case crossed_locks 2: ranks 0 and 1 wait for each other
static void crossed_locks(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
    MPI_Barrier(WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - me, 0, win); // stuck 0 1: MPI_Win_lock
}

// case missing_in_fence 3: rank 2 has not come to MPI_Win_fence
static void missing_in_fence(void) {
    if (me == 2)
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 2: for a message of rank 0
    else
        MPI_Win_fence(0, win); // stuck 0 1: MPI_Win_fence
}

// case wait_without_complete 2: ranks 0 and 1 wait for each other
static void wait_without_complete(void) {
    MPI_Group other = only(1 - me);
    if (me == 0) {
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win); // stuck 0: MPI_Win_wait ; rank 1
    } else {
        MPI_Win_start(other, 0, win);
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    }
}

// case test_loop 2: ranks 0 and 1 wait for each other
static void test_loop(void) {
    MPI_Group other = only(1 - me);
    if (me == 0) {
        MPI_Win_post(other, 0, win);
        for (int flag = 0; !flag;)
            MPI_Win_test(win, &flag); // stuck 0: calls MPI_Win_test ; rank 1
    } else {
        MPI_Win_start(other, 0, win);
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    }
}

// case start_without_post 2: ranks 0 and 1 wait for each other
static void start_without_post(void) {
    MPI_Group other = only(1 - me);
    if (me == 0) {
        int value = 1;
        MPI_Win_start(other, 0, win); // stuck 0: rank 1
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    } else
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
}

// case missing_in_free 3: rank 1 has not come to MPI_Win_free
static void missing_in_free(void) {
    if (me == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 4, WORLD, IGNORE); // stuck 1: for a message of rank 0
    else
        MPI_Win_free(&win); // stuck 0 2: MPI_Win_free
}

// case missing_in_create 3: rank 0 has not come to MPI_Win_create
static void missing_in_create(void) {
    MPI_Win other;
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 4, WORLD, IGNORE); // stuck 0: for a message of rank 1
    else
        MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, WORLD, &other); // stuck 1 2: MPI_Win_create
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(lock_that_is_kept), CASE(lock_of_one_that_has_gone), CASE(lock_for_all), CASE(crossed_locks),
    CASE(missing_in_fence), CASE(wait_without_complete), CASE(test_loop), CASE(start_without_post), CASE(missing_in_free),
    CASE(missing_in_create),
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &size);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, WORLD, &base, &win);
    MPI_Win_set_name(win, "halo");
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
