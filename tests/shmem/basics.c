/* pes: 1 2 4 */
/* The first steps: who am I, memory of others in the heap and in variables, waiting for each other. */
#include "check.h"

static long flag;
static int value = 7;
static char big[300000];

int main(void)
{
    check_begin();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    CHECK(me >= 0 && me < npes);
    CHECK_EQUAL(shmem_pe_accessible(npes - 1), 1);
    CHECK_EQUAL(shmem_pe_accessible(npes), 0);
    CHECK_EQUAL(shmem_pe_accessible(-1), 0);

    long *dest = shmem_malloc(npes * sizeof *dest);
    for (int pe = 0; pe < npes; pe++)
        dest[pe] = -1;
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        shmem_long_p(&dest[me], me * 10, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        CHECK_EQUAL(dest[pe], pe * 10);

    /* variables with a value, and zeroed ones that are long */
    int mine = 100 + me, got = 0;
    shmem_barrier_all();
    shmem_int_put(&value, &mine, 1, next);
    shmem_barrier_all();
    CHECK_EQUAL(value, 100 + before);
    shmem_int_get(&got, &value, 1, next);
    CHECK_EQUAL(got, 100 + me);
    static char pattern[sizeof big];
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 7 + me);
    shmem_putmem(big, pattern, sizeof big, next);
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof big; i++)
        if (big[i] != (char)(i * 7 + before)) {
            CHECK_EQUAL(big[i], (char)(i * 7 + before));
            break;
        }

    shmem_long_atomic_inc(&flag, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    CHECK_EQUAL(flag, 1);

    /* deprecated: caches are coherent */
    shmem_clear_cache_inv();
    shmem_set_cache_inv();
    shmem_clear_cache_line_inv(&flag);
    shmem_set_cache_line_inv(&flag);
    shmem_udcflush();
    shmem_udcflush_line(&flag);

    int local;
    CHECK_EQUAL(shmem_addr_accessible(&flag, next), 1);
    CHECK_EQUAL(shmem_addr_accessible(dest, next), 1);
    CHECK_EQUAL(shmem_addr_accessible(&local, next), 0);
    CHECK_EQUAL(shmem_addr_accessible(dest, npes), 0);
    CHECK(shmem_ptr(dest, me) == dest);

    int major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK_EQUAL(major, SHMEM_MAJOR_VERSION);
    CHECK_EQUAL(minor, SHMEM_MINOR_VERSION);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    shmem_free(dest);
    return check_end();
}
