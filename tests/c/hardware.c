/* ranks: 1 3
 * The parts of the machine, and communicators of those who share one. Every
 * kind of part that MPI_Get_hw_resource_info names can be split by; without
 * guidance each split goes down the machine until nothing is left to split. */
#include "check.h"

static int size_of(MPI_Comm comm)
{
    int result = 0;
    if (comm != MPI_COMM_NULL)
        MPI_Comm_size(comm, &result);
    return result;
}

static MPI_Comm guided(const char *kind)
{
    MPI_Comm part;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", kind);
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part), MPI_SUCCESS);
    MPI_Info_free(&info);
    return part;
}

static void every_kind_that_is_named(void)
{
    MPI_Info parts;
    int kinds, confined, room, flag;
    CHECK_CLASS(MPI_Get_hw_resource_info(&parts), MPI_SUCCESS);
    MPI_Info_get_nkeys(parts, &kinds);
    CHECK(kinds > 1);
    for (int index = 0; index < kinds; index++) {
        char kind[MPI_MAX_INFO_KEY], value[8] = "";
        MPI_Info_get_nthkey(parts, index, kind);
        room = sizeof value;
        MPI_Info_get_string(parts, kind, &room, value, &flag);
        confined = !strcmp(value, "true");
        CHECK(flag && (confined || !strcmp(value, "false")));
        MPI_Comm part = guided(kind);
        CHECK_EQUAL(part != MPI_COMM_NULL, confined);
        if (!strcmp(kind, "mpi_shared_memory"))
            CHECK_EQUAL(size_of(part), size);
        if (part != MPI_COMM_NULL)
            MPI_Comm_free(&part);
    }
    CHECK_EQUAL(size_of(guided("mill")), 0);
    MPI_Info_free(&parts);
}

static void down_the_machine(void)
{
    MPI_Comm part, smaller;
    MPI_Comm_dup(MPI_COMM_WORLD, &part);
    while (part != MPI_COMM_NULL) {
        CHECK_CLASS(MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &smaller), MPI_SUCCESS);
        CHECK(size_of(smaller) < size_of(part));
        MPI_Comm_free(&part);
        part = smaller;
    }
}

/* Those who want to be in no part do not know how the others split. */
static void some_down_the_machine(void)
{
    MPI_Comm part;
    int type = rank == size - 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED;
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part), MPI_SUCCESS);
    CHECK(type != MPI_UNDEFINED || part == MPI_COMM_NULL);
    CHECK(size_of(part) < size);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
}

static void process_sets(void)
{
    MPI_Comm part;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part);
    CHECK_EQUAL(size_of(part), 1);
    MPI_Comm_free(&part);
    MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, -rank, info, &part);
    CHECK_EQUAL(size_of(part), size);
    MPI_Comm_free(&part);
    MPI_Info_free(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    CHECK_EQUAL(size_of(part), rank ? 0 : 1);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    every_kind_that_is_named();
    down_the_machine();
    some_down_the_machine();
    process_sets();
    return check_end();
}
