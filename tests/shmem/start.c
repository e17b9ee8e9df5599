/* pes: 1 2 3 */
/* Beginning and end are counted, and after the last end there is another beginning. */
#include "check.h"

static long word;

static int is_initialized(void)
{
    int flag = -1;
    shmem_query_initialized(&flag);
    return flag;
}

static void work(long round)
{
    int next = (me + 1) % npes;
    long *heap = shmem_malloc(sizeof *heap);
    *heap = 0;
    shmem_barrier_all();
    shmem_long_p(heap, round, next);
    shmem_long_p(&word, round, next);
    shmem_long_wait_until(heap, SHMEM_CMP_EQ, round);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, round);
    shmem_barrier_all();
    if (round % 2)
        shmem_free(heap);
}

int main(void)
{
    CHECK_EQUAL(is_initialized(), 0);
    int major, minor, provided = -1;
    shmem_info_get_version(&major, &minor);
    CHECK_EQUAL(major, 1);
    for (long round = 1; round <= 4; round++) {
        CHECK_EQUAL(shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided), 0);
        CHECK_EQUAL(provided, SHMEM_THREAD_FUNNELED);
        me = shmem_my_pe();
        npes = shmem_n_pes();
        CHECK_EQUAL(is_initialized(), 1);
        shmem_init();
        work(2 * round);
        shmem_finalize();
        CHECK_EQUAL(is_initialized(), 1);
        work(2 * round + 1);
        shmem_query_thread(&provided);
        CHECK_EQUAL(provided, SHMEM_THREAD_FUNNELED);
        shmem_finalize();
        CHECK_EQUAL(is_initialized(), 0);
        shmem_finalize(); /* one too many is no error */
    }
    start_pes(0);
    start_pes(0);
    CHECK_EQUAL(_my_pe(), me);
    CHECK_EQUAL(_num_pes(), npes);
    work(20);
    /* the end of the program is the end of this */
    return check_failures != 0;
}
