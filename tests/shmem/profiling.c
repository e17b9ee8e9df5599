/* pes: 2 */
/* A tool takes over functions and calls them by their other names. */
#include "check.h"
#include <pshmem.h>

static int puts_seen, barriers_seen;
static long word;

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_long_put(dest, source, nelems, pe);
}

void shmem_barrier_all(void)
{
    barriers_seen++;
    pshmem_barrier_all();
}

int main(void)
{
    check_begin();
    shmem_pcontrol(1);
    shmem_pcontrol(3, "more", 2);
    long mine = me + 10;
    shmem_long_put(&word, &mine, 1, (me + 1) % npes);
    shmem_barrier_all();
    CHECK_EQUAL(word, 10 + (me + npes - 1) % npes);
    CHECK_EQUAL(puts_seen, 1);
    CHECK_EQUAL(barriers_seen, 1);
    static long double real = 0.5L;
    CHECK(pshmem_my_pe() == me && pshmem_longdouble_g(&real, me) == 0.5L);
    return check_end();
}
