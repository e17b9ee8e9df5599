/* pes: 1 2 3 direct */
/* Memory of others by plain loads and stores; and that a store without any call is seen by one that waits. */
#include "check.h"

static long variable, with_a_value = 7;

int main(void)
{
    check_begin();
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    long *heap = shmem_calloc(4, sizeof *heap);
    CHECK(shmem_ptr(&variable, me) == &variable);
    CHECK(shmem_ptr(&before, me) == NULL);
    long *theirs = shmem_ptr(heap, next);
    CHECK(theirs != NULL);
    if (theirs) {
        theirs[1] = 50 + me;
        shmem_barrier_all();
        CHECK_EQUAL(heap[1], 50 + before);
        CHECK_EQUAL(theirs[1], shmem_long_g(&heap[1], next));
        shmem_barrier_all();
        /* one after the other, so that each is asleep when it comes to it */
        if (me == 0)
            __atomic_store_n(theirs, 1, __ATOMIC_RELEASE);
        shmem_long_wait_until(heap, SHMEM_CMP_EQ, 1);
        if (me != 0)
            __atomic_store_n(theirs, 1, __ATOMIC_RELEASE);
    }
    shmem_barrier_all();
    /* Variables of the program, too, of a process that had one thread when it began. */
    long *variables[] = {&variable, &with_a_value};
    for (int i = 0; i < 2; i++) {
        long *mine = variables[i], *of_next = shmem_ptr(mine, next), first = i ? 7 : 0;
        CHECK(of_next != NULL);
        CHECK_EQUAL(*mine, first);
        shmem_barrier_all();
        if (of_next) {
            CHECK_EQUAL(shmem_long_atomic_fetch_add(mine, 5, next), first);
            CHECK_EQUAL(*of_next, first + 5);
            *of_next += 10;
        }
        shmem_barrier_all();
        CHECK_EQUAL(*mine, first + 15);
    }
    shmem_barrier_all();
    return check_end();
}
