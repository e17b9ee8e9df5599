/* ranks: 1 2 3 4 5
 * Groups that their members make alone, memory of groups, messages, broadcasts, reductions of every kind, selection,
 * domains; start and end counted. */
#include "armci_check.h"

static void one_group(int number, int *members)
{
    ARMCI_Group group;
    int inside = 0, place = -1;
    for (int i = 0; i < number; i++)
        if (members[i] == rank)
            inside = 1, place = i;
    ARMCI_Group_create(number, members, &group);
    int found_rank = -7, found_size = -7;
    CHECK_EQUAL(ARMCI_Group_rank(&group, &found_rank) == 0, inside);
    ARMCI_Group_size(&group, &found_size);
    CHECK_EQUAL(found_rank, place);
    CHECK_EQUAL(found_size, inside ? number : 0);
    if (!inside) {
        CHECK(group.comm == MPI_COMM_NULL);
        ARMCI_Group_free(&group);
        return;
    }
    int in_mpi = -1;
    MPI_Comm_rank(group.comm, &in_mpi);
    CHECK_EQUAL(in_mpi, place);
    for (int i = 0; i < number; i++)
        CHECK_EQUAL(ARMCI_Absolute_id(&group, i), members[i]);
    /* Pointers are in the order of the group, ranks of operations are absolute. */
    void *base[RANKS];
    CHECK_EQUAL(ARMCI_Malloc_group(base, 64, &group), 0);
    int next = (place + 1) % number;
    long value = 10 * rank + 1;
    CHECK_EQUAL(ARMCI_Put(&value, base[next], 8, members[next]), 0);
    ARMCI_AllFence();
    armci_msg_group_barrier(&group);
    CHECK_EQUAL(*(long *)base[place], 10 * members[(place + number - 1) % number] + 1);
    /* The root is an absolute rank. */
    int word = rank;
    armci_msg_group_bcast_scope(SCOPE_ALL, &word, sizeof word, members[number - 1], &group);
    CHECK_EQUAL(word, members[number - 1]);
    int sum = rank;
    long high = rank;
    long long low = rank;
    float product = 2;
    double absolute = rank % 2 ? -rank : rank;
    int expected_sum = 0, expected_high = -1, expected_low = 99;
    for (int i = 0; i < number; i++) {
        expected_sum += members[i];
        expected_high = members[i] > expected_high ? members[i] : expected_high;
        expected_low = members[i] < expected_low ? members[i] : expected_low;
    }
    armci_msg_group_igop(&sum, 1, "+", &group);
    armci_msg_group_lgop(&high, 1, "max", &group);
    armci_msg_group_llgop(&low, 1, "min", &group);
    armci_msg_group_fgop(&product, 1, "*", &group);
    armci_msg_group_dgop(&absolute, 1, "absmax", &group);
    CHECK_EQUAL(sum, expected_sum);
    CHECK_EQUAL(high, expected_high);
    CHECK_EQUAL(low, expected_low);
    CHECK(product == (float)(1 << number));
    CHECK(absolute == expected_high);
    /* The group as the default one: new groups are named by its ranks, all else by those of the world. */
    ARMCI_Group world, known, inner;
    ARMCI_Group_get_world(&world);
    ARMCI_Group_set_default(&group);
    ARMCI_Group_get_default(&known);
    CHECK(known.comm == group.comm && known.size == number);
    CHECK_EQUAL(armci_msg_me(), rank);
    if (place == number - 1) {
        int alone = place;
        ARMCI_Group_create(1, &alone, &inner);
        CHECK_EQUAL(ARMCI_Absolute_id(&inner, 0), rank);
        ARMCI_Group_free(&inner);
    }
    ARMCI_Group_set_default(&world);
    int first = 0;
    if (place == 0) {
        ARMCI_Group_create_child(1, &first, &inner, &group);
        CHECK_EQUAL(ARMCI_Absolute_id(&inner, 0), rank);
        ARMCI_Group_free(&inner);
    }
    CHECK_EQUAL(ARMCI_Free_group(base[place], &group), 0);
    ARMCI_Group_free(&group);
    CHECK(group.comm == MPI_COMM_NULL);
}

static void groups(void)
{
    int backwards[RANKS], odd[RANKS], odds = 0;
    for (int i = 0; i < size; i++) {
        backwards[i] = size - 1 - i;
        if (i % 2)
            odd[odds++] = i;
    }
    one_group(size, backwards);
    if (odds > 0 && (rank % 2 || rank == 0)) /* one who is not in it comes too, the others do not */
        one_group(odds, odd);
    one_group(1, &rank);
    one_group(0, odd);
    one_group(0, NULL);
    ARMCI_Group world, halves, copy;
    ARMCI_Group_get_world(&world);
    CHECK_EQUAL(world.size, size);
    CHECK_EQUAL(ARMCIX_Group_split(&world, rank % 2, -rank, &halves), 0);
    CHECK_EQUAL(halves.size, (size + 1 - rank % 2) / 2);
    CHECK_EQUAL(ARMCI_Absolute_id(&halves, halves.rank), rank);
    CHECK_EQUAL(ARMCIX_Group_dup(&halves, &copy), 0);
    CHECK_EQUAL(copy.rank, halves.rank);
    armci_msg_group_barrier(&copy);
    ARMCI_Group_free(&copy);
    ARMCI_Group_free(&halves);
}

static void messages(void)
{
    char data[5000], got[6000];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, length = -1;
    fill(data, sizeof data, rank);
    if (rank > 0)
        armci_msg_rcv(32100, got, sizeof got, &length, left);
    armci_msg_snd(32100, data, sizeof data, right);
    if (rank == 0)
        armci_msg_rcv(32100, got, sizeof got, &length, left);
    CHECK_EQUAL(length, 5000);
    CHECK_FILLED(got, 5000, left);
    if (rank == 0)
        for (int i = 1; i < size; i++) {
            int from = armci_msg_rcvany(7, got, sizeof got, NULL);
            CHECK(from > 0 && from < size && got[0] == from);
        }
    else {
        got[0] = rank;
        armci_msg_snd(7, got, 1, 0);
    }
    for (int root = 0; root < size; root++) {
        fill(data, sizeof data, rank == root ? root : 99);
        root % 2 ? armci_msg_bcast(data, sizeof data, root) : armci_msg_brdcst(data, sizeof data, root);
        CHECK_FILLED(data, sizeof data, root);
    }
}

static void reductions(void)
{
    int bits[4] = {1 << rank, ~(1 << rank), rank == 0, rank > 0};
    int many = bits[0], all = bits[1], any = bits[2], every = bits[3];
    armci_msg_igop(&many, 1, "or");
    armci_msg_igop(&all, 1, "&");
    armci_msg_igop(&any, 1, "||");
    armci_msg_igop(&every, 1, "&&");
    CHECK_EQUAL(many, (1 << size) - 1);
    CHECK_EQUAL(all, ~((1 << size) - 1));
    CHECK_EQUAL(any, 1);
    CHECK_EQUAL(every, 0);
    double numbers[3] = {rank - 2.5, 2.5 - rank, rank};
    armci_msg_dgop(numbers, 2, "absmin");
    double nearest = 2.5;
    for (int i = 0; i < size; i++)
        nearest = (i > 2.5 ? i - 2.5 : 2.5 - i) < nearest ? (i > 2.5 ? i - 2.5 : 2.5 - i) : nearest;
    CHECK(numbers[0] == nearest && numbers[1] == nearest && numbers[2] == rank);
    float f = rank;
    armci_msg_fgop(&f, 1, "max");
    CHECK(f == size - 1);
    long long ll = rank + 1;
    armci_msg_llgop(&ll, 1, "*");
    long long factorial = 1;
    for (int i = 1; i <= size; i++)
        factorial *= i;
    CHECK_EQUAL(ll, factorial);
    long sum = rank;
    armci_msg_reduce(&sum, 1, "+", ARMCI_LONG);
    CHECK_EQUAL(sum, rank == 0 ? size * (size - 1) / 2 : rank);
    armci_msg_igop(NULL, 0, "+");
    /* A value, and who has it. */
    struct { double value; int who; } best = {rank == size / 2 ? 100 : rank, rank};
    armci_msg_sel(&best, sizeof best, "max", ARMCI_DOUBLE, 1);
    CHECK_EQUAL(best.who, size / 2);
    struct { int value, who; } low = {-(rank > 0), rank};
    armci_msg_sel_scope(SCOPE_ALL, &low, sizeof low, "min", ARMCI_INT, rank != size - 1 || size == 1);
    CHECK_EQUAL(low.who, size > 2 ? 1 : 0);
}

static void domains(void)
{
    int count = armci_domain_count(ARMCI_DOMAIN_SMP), mine = armci_domain_my_id(ARMCI_DOMAIN_SMP), all = 0;
    CHECK_EQUAL(armci_domain_id(ARMCI_DOMAIN_SMP, rank), mine);
    CHECK_EQUAL(armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1), armci_domain_nprocs(ARMCI_DOMAIN_SMP, mine));
    for (int id = 0; id < count; id++)
        for (int i = 0; i < armci_domain_nprocs(ARMCI_DOMAIN_SMP, id); i++, all++) {
            CHECK_EQUAL(armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, id, i), all); /* ranks follow each other */
            CHECK_EQUAL(armci_domain_id(ARMCI_DOMAIN_SMP, all), id);
            CHECK_EQUAL(armci_domain_same_id(ARMCI_DOMAIN_SMP, all), id == mine);
            CHECK_EQUAL(ARMCI_Same_node(all), id == mine);
        }
    CHECK_EQUAL(all, size);
    int root, up, left, right, masters = rank;
    armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
    CHECK_EQUAL(root, 0);
    CHECK_EQUAL(up, rank ? (rank - 1) / 2 : -1);
    CHECK_EQUAL(left, 2 * rank + 1 < size ? 2 * rank + 1 : -1);
    CHECK_EQUAL(right, 2 * rank + 2 < size ? 2 * rank + 2 : -1);
    armci_msg_gop_scope(SCOPE_NODE, &masters, 1, "max", ARMCI_INT);
    CHECK_EQUAL(masters, count == 1 ? size - 1 : rank);
    /* Memory of one's own domain is there for loads and stores. */
    void *base[RANKS];
    CHECK_EQUAL(ARMCI_Malloc(base, 64), 0);
    for (int other = 0; other < size; other++)
        if (ARMCI_Same_node(other))
            ((volatile char *)base[other])[rank] = (char)(rank + 1);
    ARMCI_Access_begin(base[rank]);
    ARMCI_Barrier();
    ARMCI_Access_end(base[rank]);
    CHECK_EQUAL(((char *)base[rank])[rank], rank + 1);
    for (int other = 0; other < size; other++)
        CHECK_EQUAL(((char *)base[rank])[other], ARMCI_Same_node(other) ? other + 1 : 0);
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Free(base[rank]), 0);
}

/* Init twice; a communicator as the world; init again after the end. */
static void start_and_end(void)
{
    CHECK_EQUAL(ARMCI_Init(), 0);
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    CHECK_EQUAL(ARMCI_Initialized(), 1);
    CHECK_EQUAL(armci_msg_nproc(), size);
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    CHECK_EQUAL(ARMCI_Initialized(), 0);
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    CHECK(ARMCI_Init_mpi_comm(half) != 0);
    CHECK_EQUAL(ARMCI_Init_args(NULL, NULL), 0);
    int half_rank, half_size;
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    CHECK_EQUAL(armci_msg_me(), half_rank);
    CHECK_EQUAL(armci_msg_nproc(), half_size);
    void *base[RANKS];
    CHECK_EQUAL(ARMCI_Malloc(base, 64), 0);
    long value = rank;
    CHECK_EQUAL(ARMCI_Put(&value, base[(half_rank + 1) % half_size], 8, (half_rank + 1) % half_size), 0);
    ARMCI_Barrier();
    int ranks_between = half_size > 1 ? 2 : 0;
    long expected = half_rank > 0 ? rank + ranks_between : rank - 2 * (half_size - 1);
    CHECK_EQUAL(long_at(base[half_rank], half_rank), expected);
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    MPI_Comm_free(&half);
    CHECK_EQUAL(ARMCI_Init_thread(MPI_THREAD_SINGLE), 0);
}

int main(int argc, char **argv)
{
    double before = armci_timer();
    CHECK_EQUAL(ARMCI_Initialized(), 0);
    armci_begin(&argc, &argv);
    groups();
    messages();
    reductions();
    domains();
    start_and_end();
    CHECK(armci_timer() >= before);
    ARMCI_Cleanup(); /* returns */
    return armci_end();
}
