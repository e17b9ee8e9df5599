/* ranks: 2 3 1
 * Memory that is attached to a window and detached again: addresses for displacements, regions side by side, others
 * that work while this rank attaches. */
#include "windows.h"

static int right, left;

static MPI_Aint told(const void *address)
{
    MPI_Aint mine, theirs;
    MPI_Get_address(address, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, W, MPI_STATUS_IGNORE);
    return theirs;
}

static void one_region(MPI_Win win)
{
    int memory[100], got[100];
    for (int index = 0; index < 100; index++)
        memory[index] = rank * 1000 + index;
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Aint there = told(memory);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Get(got, 100, MPI_INT, right, there, 100, MPI_INT, win);
    MPI_Win_unlock(right, win);
    for (int index = 0; index < 100; index++)
        CHECK_EQUAL(got[index], right * 1000 + index);
    MPI_Barrier(W);
    MPI_Win_detach(win, memory);
}

/* Many regions; each is detached by itself, and attached anew. */
static void many_regions(MPI_Win win)
{
    enum { MANY = 60 };
    long *regions[MANY];
    MPI_Aint theres[MANY];
    for (int index = 0; index < MANY; index++) {
        regions[index] = malloc(4096 + 512 * index);
        regions[index][0] = rank * 100 + index;
        MPI_Win_attach(win, regions[index], 4096 + 512 * index);
        theres[index] = told(regions[index]);
    }
    for (int round = 0; round < 2; round++) {
        MPI_Win_lock_all(0, win);
        for (int index = round; index < MANY; index += 1 + round) {
            long got = -1, one = 1;
            MPI_Get(&got, 1, MPI_LONG, right, theres[index], 1, MPI_LONG, win);
            MPI_Win_flush(right, win);
            CHECK_EQUAL(got, right * 100 + index);
            MPI_Accumulate(&one, 1, MPI_LONG, right, theres[index] + 4000, 1, MPI_LONG, MPI_REPLACE, win);
        }
        MPI_Win_unlock_all(win);
        MPI_Barrier(W);
        for (int index = 0; round == 0 && index < MANY; index += 2)
            MPI_Win_detach(win, regions[index]);
        MPI_Barrier(W);
    }
    for (int index = 0; index < MANY; index++) {
        CHECK_EQUAL(regions[index][500], 1);
        if (index % 2)
            MPI_Win_detach(win, regions[index]);
        free(regions[index]);
    }
    MPI_Barrier(W);
}

/* Regions that touch each other, and one without bytes. */
static void side_by_side(MPI_Win win)
{
    int memory[200], value = 3, got = -1;
    memset(memory, 0, sizeof memory);
    MPI_Win_attach(win, memory, 100 * sizeof(int));
    MPI_Win_attach(win, memory + 100, 100 * sizeof(int));
    MPI_Aint there = told(memory);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, right, there + 99 * 4, 1, MPI_INT, win);
    MPI_Put(&value, 1, MPI_INT, right, there + 100 * 4, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[98] == 0 && memory[99] == 3 && memory[100] == 3 && memory[101] == 0);
    MPI_Barrier(W);
    MPI_Win_detach(win, memory);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Get(&got, 1, MPI_INT, right, there + 100 * 4, 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    CHECK_EQUAL(got, 3);
    MPI_Barrier(W);
    MPI_Win_detach(win, memory + 100);
    MPI_Win_attach(win, memory, 0);
    MPI_Win_detach(win, memory);
    MPI_Win_attach(win, memory, sizeof memory); /* all of it again */
    there = told(memory);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, right, there + 150 * 4, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_EQUAL(memory[150], left);
    MPI_Barrier(W);
    MPI_Win_detach(win, memory);
    MPI_Barrier(W);
}

/* One operation, on elements that lie in several regions which touch each other. */
static void across(MPI_Win win)
{
    enum { PARTS = 3, EACH = 5000, ALL = PARTS * EACH };
    long *memory = calloc(ALL, sizeof *memory), *ones = malloc(ALL * sizeof *ones), *got = malloc(ALL * sizeof *got);
    for (int index = 0; index < ALL; index++)
        ones[index] = 1;
    for (int part = 0; part < PARTS; part++)
        MPI_Win_attach(win, memory + part * EACH, EACH * sizeof *memory);
    MPI_Aint there = told(memory);
    MPI_Datatype every;
    MPI_Type_vector(ALL / 3, 1, 3, MPI_LONG, &every);
    MPI_Type_commit(&every);
    MPI_Win_fence(0, win);
    MPI_Put(ones, ALL, MPI_LONG, right, there, ALL, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(ones, ALL / 3, MPI_LONG, right, there, 1, every, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, got, ALL, MPI_LONG, right, there, ALL, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    for (int index = 0; index < ALL; index++)
        CHECK_EQUAL(got[index], index % 3 ? 1 : 2);
    MPI_Type_free(&every);
    for (int part = 0; part < PARTS; part++)
        MPI_Win_detach(win, memory + part * EACH);
    free(memory);
    free(ones);
    free(got);
    MPI_Barrier(W);
}

/* Static memory, memory of MPI, and memory of this function at once. */
static void all_kinds(MPI_Win win)
{
    static double fixed[10];
    double here[10], *heap = malloc(80), *of_mpi;
    MPI_Alloc_mem(80, MPI_INFO_NULL, &of_mpi);
    double *all[] = {fixed, here, heap, of_mpi};
    for (int index = 0; index < 4; index++) {
        memset(all[index], 0, 80);
        MPI_Win_attach(win, all[index], 80);
    }
    for (int index = 0; index < 4; index++) {
        MPI_Aint there = told(all[index]);
        double two = 2.5, old = -1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
        MPI_Fetch_and_op(&two, &old, MPI_DOUBLE, right, MPI_Aint_add(there, 72), MPI_SUM, win);
        MPI_Win_unlock(right, win);
        CHECK(old == 0);
        MPI_Barrier(W);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        CHECK(all[index][9] == 2.5);
        MPI_Win_unlock(rank, win);
    }
    MPI_Barrier(W);
    for (int index = 3; index >= 0; index--)
        MPI_Win_detach(win, all[index]);
    MPI_Free_mem(of_mpi);
    free(heap);
}

/* A list that grows while others look at it: who appends attaches, and others follow the addresses. */
static void a_list(MPI_Win win)
{
    struct element {
        MPI_Aint next;
        long owner;
    } *mine[20], head = {0, -1};
    MPI_Aint head_at;
    MPI_Get_address(&head, &head_at);
    MPI_Win_attach(win, &head, sizeof head);
    MPI_Bcast(&head_at, 1, MPI_AINT, 0, W);
    MPI_Win_lock_all(0, win);
    for (int index = 0; index < 20; index++) {
        mine[index] = malloc(sizeof *mine[index]);
        mine[index]->owner = rank;
        MPI_Win_attach(win, mine[index], sizeof *mine[index]);
        MPI_Aint address, first;
        MPI_Get_address(mine[index], &address);
        /* Addresses of several processes: the low bits of an aligned one say whose it is. */
        MPI_Aint entry = address | rank;
        MPI_Fetch_and_op(NULL, &first, MPI_AINT, 0, head_at, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        for (MPI_Aint found;; first = found) {
            mine[index]->next = first;
            MPI_Win_sync(win);
            MPI_Compare_and_swap(&entry, &first, &found, MPI_AINT, 0, head_at, win);
            MPI_Win_flush(0, win);
            if (found == first)
                break;
        }
    }
    MPI_Barrier(W);
    MPI_Aint next;
    int counts[8] = {0}, all = 0;
    MPI_Fetch_and_op(NULL, &next, MPI_AINT, 0, head_at, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    for (; next; all++) {
        struct element found = {0, -1};
        int whose = next & 7;
        MPI_Get(&found, sizeof found, MPI_BYTE, whose, next & ~(MPI_Aint)7, sizeof found, MPI_BYTE, win);
        MPI_Win_flush(whose, win);
        CHECK_EQUAL(found.owner, whose);
        counts[whose]++;
        next = found.next;
    }
    CHECK_EQUAL(all, 20 * size);
    for (int who = 0; who < size; who++)
        CHECK_EQUAL(counts[who], 20);
    MPI_Win_unlock_all(win);
    MPI_Barrier(W);
    for (int index = 0; index < 20; index++) {
        MPI_Win_detach(win, mine[index]);
        free(mine[index]);
    }
    MPI_Win_detach(win, &head);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char left_attached[64];
    check_begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Win_create_dynamic(MPI_INFO_NULL, W, &win);
    one_region(win);
    many_regions(win);
    side_by_side(win);
    across(win);
    all_kinds(win);
    a_list(win);
    MPI_Win_attach(win, left_attached, sizeof left_attached);
    MPI_Win_free(&win); /* detaches what is left */
    return check_end();
}
