/* ranks: 1 2
 * Wrong groups, communicators, attributes, infos, error handlers, topologies,
 * sessions, operations, and calls about the environment. */
#include "bad_input.h"

#define W MPI_COMM_WORLD
static int n;

static void groups(void)
{
    MPI_Group all, none = MPI_GROUP_NULL, made = MPI_GROUP_NULL, stale;
    int far[] = {1000}, twice[] = {0, 0}, minus[] = {-1}, range[1][3] = {{0, 1000, 1}}, still[1][3] = {{0, 0, 0}};
    MPI_Comm_group(W, &all);
    BAD(MPI_ERR_GROUP, "group|null", MPI_Group_size(none, &n));
    BAD(MPI_ERR_ARG, "size|null", MPI_Group_size(all, NULL));
    BAD(MPI_ERR_GROUP, "group|null", MPI_Group_rank(none, &n));
    BAD(MPI_ERR_RANK, "1000", MPI_Group_incl(all, 1, far, &made));
    BAD(MPI_ERR_RANK, "-1", MPI_Group_incl(all, 1, minus, &made));
    BAD(MPI_ERR_RANK, "0|twice", MPI_Group_incl(all, 2, twice, &made));
    BAD(MPI_ERR_ARG, "n|-1", MPI_Group_incl(all, -1, twice, &made));
    BAD(MPI_ERR_ARG, "ranks|null", MPI_Group_incl(all, 1, NULL, &made));
    BAD(MPI_ERR_RANK, "1000", MPI_Group_excl(all, 1, far, &made));
    BAD(MPI_ERR_RANK, "1000", MPI_Group_range_incl(all, 1, range, &made));
    BAD(MPI_ERR_ARG, "0", MPI_Group_range_excl(all, 1, still, &made));
    BAD(MPI_ERR_GROUP, "group2|null", MPI_Group_union(all, none, &made));
    BAD(MPI_ERR_GROUP, "group1|null", MPI_Group_intersection(none, all, &made));
    BAD(MPI_ERR_GROUP, "group1|null", MPI_Group_difference(none, all, &made));
    BAD(MPI_ERR_GROUP, "group2|null", MPI_Group_compare(all, none, &n));
    BAD(MPI_ERR_RANK, "1000", MPI_Group_translate_ranks(all, 1, far, all, &n));
    BAD(MPI_ERR_GROUP, "group|null", MPI_Group_free(&none));
    BAD(MPI_ERR_ARG, "group|null", MPI_Group_free(NULL));
    stale = all;
    MPI_Group_free(&all);
    BAD(MPI_ERR_GROUP, "freed", MPI_Group_free(&stale));
    BAD(MPI_ERR_GROUP, "freed", MPI_Group_size(stale, &n));
    CHECK(made == MPI_GROUP_NULL);
}

static void communicators(void)
{
    MPI_Comm made = MPI_COMM_NULL, null = MPI_COMM_NULL, world = W, self = MPI_COMM_SELF, stale;
    MPI_Group all, none = MPI_GROUP_EMPTY;
    MPI_Request r = MPI_REQUEST_NULL;
    char name[MPI_MAX_OBJECT_NAME], tag[MPI_MAX_STRINGTAG_LEN + 2];
    MPI_Comm_group(W, &all);
    BAD(MPI_ERR_COMM, "comm|null", MPI_Comm_rank(null, &n));
    BAD(MPI_ERR_ARG, "rank|null", MPI_Comm_rank(W, NULL));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Comm_size(null, &n));
    BAD(MPI_ERR_COMM, "comm2|null", MPI_Comm_compare(W, null, &n));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Comm_dup(null, &made));
    BAD(MPI_ERR_ARG, "newcomm|null", MPI_Comm_dup(W, NULL));
    BAD(MPI_ERR_ARG, "request|null", MPI_Comm_idup(W, &made, NULL));
    BAD(MPI_ERR_COMM, "cannot be freed", MPI_Comm_free(&world));
    BAD(MPI_ERR_COMM, "cannot be freed", MPI_Comm_disconnect(&self));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Comm_free(&null));
    BAD(MPI_ERR_ARG, "comm|null", MPI_Comm_free(NULL));
    BAD(MPI_ERR_ARG, "color|-5", MPI_Comm_split(W, -5, 0, &made));
    BAD(MPI_ERR_ARG, "split_type|7777", MPI_Comm_split_type(W, 7777, 0, MPI_INFO_NULL, &made));
    BAD(MPI_ERR_GROUP, "group|null", MPI_Comm_create(W, MPI_GROUP_NULL, &made));
    BAD(MPI_ERR_TAG, "tag|-3", MPI_Comm_create_group(W, all, -3, &made));
    BAD(MPI_ERR_COMM, "intracommunicator", MPI_Comm_remote_size(W, &n));
    BAD(MPI_ERR_COMM, "intracommunicator", MPI_Comm_remote_group(W, &none));
    CHECK(none == MPI_GROUP_NULL); /* a call that fails leaves no handle */
    BAD(MPI_ERR_COMM, "intracommunicator", MPI_Intercomm_merge(W, 0, &made));
    BAD(MPI_ERR_RANK, "1000", MPI_Intercomm_create(W, 1000, W, 0, 1, &made));
    BAD(MPI_ERR_ARG, "comm_name|null", MPI_Comm_set_name(W, NULL));
    BAD(MPI_ERR_ARG, "resultlen|null", MPI_Comm_get_name(W, name, NULL));
    memset(tag, 't', sizeof tag);
    tag[sizeof tag - 1] = 0;
    BAD(MPI_ERR_ARG, "stringtag", MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    BAD(MPI_ERR_ARG, "stringtag|null",
        MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    BAD(MPI_ERR_ERRHANDLER, "errhandler|null",
        MPI_Comm_create_from_group(all, "t", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &made));
    MPI_Comm_dup(W, &made);
    stale = made;
    MPI_Comm_free(&made);
    BAD(MPI_ERR_COMM, "freed", MPI_Comm_free(&stale));
    BAD(MPI_ERR_COMM, "freed", MPI_Comm_rank(stale, &n));
    BAD(MPI_ERR_COMM, "freed", MPI_Ibarrier(stale, &r));
    MPI_Group_free(&all);
}

static void attributes(void)
{
    int key = MPI_KEYVAL_INVALID, type_key, flag, freed, tag_bound = MPI_TAG_UB;
    void *value;
    BAD(MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID", MPI_Comm_get_attr(W, key, &value, &flag));
    BAD(MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID", MPI_Comm_set_attr(W, key, &key));
    BAD(MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID", MPI_Comm_delete_attr(W, key));
    BAD(MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID", MPI_Comm_free_keyval(&key));
    BAD(MPI_ERR_KEYVAL, "predefined", MPI_Comm_set_attr(W, MPI_TAG_UB, &key));
    BAD(MPI_ERR_KEYVAL, "predefined", MPI_Comm_delete_attr(W, MPI_WTIME_IS_GLOBAL));
    BAD(MPI_ERR_KEYVAL, "", MPI_Comm_free_keyval(&tag_bound));
    BAD(MPI_ERR_ARG, "comm_keyval|null", MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Comm_get_attr(W, MPI_TAG_UB, &value, NULL));
    BAD(MPI_ERR_ARG, "attribute_val|null", MPI_Comm_get_attr(W, MPI_TAG_UB, NULL, &flag));
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    BAD(MPI_ERR_KEYVAL, "communicators", MPI_Comm_set_attr(W, type_key, &key));
    BAD(MPI_ERR_TYPE, "datatype|null", MPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, &key));
    freed = type_key;
    MPI_Type_free_keyval(&type_key);
    BAD(MPI_ERR_KEYVAL, "freed", MPI_Type_free_keyval(&freed));
    BAD(MPI_ERR_KEYVAL, "freed", MPI_Type_set_attr(MPI_INT, freed, &key));
    BAD(MPI_ERR_KEYVAL, "freed", MPI_Type_delete_attr(MPI_INT, freed));
}

static void infos(void)
{
    MPI_Info info, none = MPI_INFO_NULL, stale;
    static char key[MPI_MAX_INFO_KEY + 2], value[MPI_MAX_INFO_VAL + 2];
    int flag;
    memset(key, 'k', sizeof key - 1);
    memset(value, 'v', sizeof value - 1);
    MPI_Info_create(&info);
    BAD(MPI_ERR_INFO_KEY, "key", MPI_Info_set(info, key, "value"));
    BAD(MPI_ERR_INFO_KEY, "key", MPI_Info_set(info, "", "value"));
    BAD(MPI_ERR_INFO_VALUE, "k|bytes", MPI_Info_set(info, "k", value));
    BAD(MPI_ERR_ARG, "key|null", MPI_Info_set(info, NULL, "value"));
    BAD(MPI_ERR_ARG, "value|null", MPI_Info_set(info, "k", NULL));
    BAD(MPI_ERR_INFO_NOKEY, "missing", MPI_Info_delete(info, "missing"));
    BAD(MPI_ERR_INFO_KEY, "key", MPI_Info_get_string(info, key, &n, value, &flag));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Info_get_string(info, "k", &n, value, NULL));
    BAD(MPI_ERR_ARG, "0", MPI_Info_get_nthkey(info, 0, key));
    BAD(MPI_ERR_ARG, "-1", MPI_Info_get_nthkey(info, -1, key));
    BAD(MPI_ERR_INFO, "info|null", MPI_Info_get_nkeys(none, &n));
    BAD(MPI_ERR_INFO, "info|null", MPI_Info_set(none, "k", "v"));
    BAD(MPI_ERR_INFO, "info|null", MPI_Info_free(&none));
    BAD(MPI_ERR_INFO, "info|null", MPI_Info_dup(none, &stale));
    BAD(MPI_ERR_ARG, "info|null", MPI_Info_create(NULL));
    stale = info;
    MPI_Info_free(&info);
    BAD(MPI_ERR_INFO, "freed", MPI_Info_set(stale, "k", "v"));
    BAD(MPI_ERR_INFO, "freed", MPI_Info_free(&stale));
}

static void handle(MPI_Session *session, int *code, ...) { (void)session, (void)code; }

static void handlers_and_codes(void)
{
    MPI_Errhandler null = MPI_ERRHANDLER_NULL, for_sessions, stale, fatal = MPI_ERRORS_ARE_FATAL;
    char text[MPI_MAX_ERROR_STRING];
    int class = 0, code;
    BAD(MPI_ERR_ERRHANDLER, "errhandler|null", MPI_Comm_set_errhandler(W, null));
    BAD(MPI_ERR_ERRHANDLER, "errhandler|null", MPI_Errhandler_free(&null));
    BAD(MPI_ERR_ERRHANDLER, "predefined", MPI_Errhandler_free(&fatal));
    BAD(MPI_ERR_ARG, "comm_errhandler_fn|null", MPI_Comm_create_errhandler(NULL, &null));
    MPI_Session_create_errhandler(handle, &for_sessions);
    BAD(MPI_ERR_ERRHANDLER, "Session|Communicator", MPI_Comm_set_errhandler(W, for_sessions));
    stale = for_sessions;
    MPI_Errhandler_free(&for_sessions);
    BAD(MPI_ERR_ERRHANDLER, "freed", MPI_Errhandler_free(&stale));
    BAD(MPI_ERR_ARG, "", MPI_Error_string(0x3ffffffe, text, &n));
    BAD(MPI_ERR_ARG, "-1", MPI_Error_class(-1, &n));
    BAD(MPI_ERR_ARG, "string|null", MPI_Error_string(MPI_ERR_ARG, NULL, &n));
    BAD(MPI_ERR_ARG, "errorclass|null", MPI_Error_class(MPI_ERR_ARG, NULL));
    BAD(MPI_ERR_ARG, "", MPI_Add_error_code(99999, &n));
    BAD(MPI_ERR_ARG, "", MPI_Add_error_string(MPI_ERR_ARG, "mine"));
    BAD(MPI_ERR_ARG, "", MPI_Remove_error_class(MPI_ERR_ARG));
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    BAD(MPI_ERR_ARG, "codes", MPI_Remove_error_class(class));
    BAD(MPI_ERR_ARG, "class", MPI_Remove_error_code(class));
    MPI_Add_error_string(code, "late");
    BAD(MPI_ERR_ARG, "string", MPI_Remove_error_code(code));
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    BAD(MPI_ERR_ARG, "", MPI_Remove_error_code(code));
    MPI_Remove_error_class(class);
}

static void topologies(void)
{
    MPI_Comm made = MPI_COMM_NULL, grid;
    const int *nothing = NULL;
    int dims[] = {2, 5}, flags[] = {0, 0}, big[] = {1000, 1000}, none[] = {0, 1}, one[] = {1}, at[] = {5}, out[4];
    int zero[] = {0}, index[] = {1, 2}, loose[] = {2, 1}, edges[] = {1, 0}, far[] = {1000}, minus[] = {-1};
    BAD(MPI_ERR_DIMS, "7", MPI_Dims_create(7, 2, dims));
    BAD(MPI_ERR_DIMS, "0", MPI_Dims_create(0, 2, dims));
    BAD(MPI_ERR_ARG, "ndims|-1", MPI_Dims_create(4, -1, dims));
    BAD(MPI_ERR_ARG, "dims|null", MPI_Dims_create(4, 2, NULL));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Cart_coords(W, 0, 2, dims));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Cartdim_get(W, &n));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Cart_shift(W, 0, 1, &n, &n));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Cart_sub(W, flags, &made));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Graphdims_get(W, &n, &n));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Dist_graph_neighbors_count(W, &n, &n, &n));
    BAD(MPI_ERR_DIMS, "1000000", MPI_Cart_create(W, 2, big, flags, 0, &made));
    BAD(MPI_ERR_DIMS, "0", MPI_Cart_create(W, 2, none, flags, 0, &made));
    BAD(MPI_ERR_ARG, "ndims|-1", MPI_Cart_create(W, -1, dims, flags, 0, &made));
    BAD(MPI_ERR_ARG, "dims|null", MPI_Cart_create(W, 1, NULL, flags, 0, &made));
    BAD(MPI_ERR_ARG, "nnodes|-2", MPI_Graph_create(W, -2, index, edges, 0, &made));
    BAD(MPI_ERR_ARG, "1|2", MPI_Graph_create(W, 2, loose, edges, 0, &made));
    BAD(MPI_ERR_ARG, "1000", MPI_Graph_create(W, 1, one, far, 0, &made));
    BAD(MPI_ERR_RANK, "1000",
        MPI_Dist_graph_create_adjacent(W, 1, far, MPI_UNWEIGHTED, 0, nothing, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    BAD(MPI_ERR_ARG, "-1",
        MPI_Dist_graph_create_adjacent(W, 1, zero, minus, 0, nothing, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made));
    BAD(MPI_ERR_ARG, "indegree|-1",
        MPI_Dist_graph_create_adjacent(W, -1, nothing, MPI_UNWEIGHTED, 0, nothing, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    MPI_Cart_create(MPI_COMM_SELF, 1, one, flags, 0, &grid);
    BAD(MPI_ERR_RANK, "77", MPI_Cart_coords(grid, 77, 1, out));
    BAD(MPI_ERR_RANK, "-1", MPI_Cart_coords(grid, -1, 1, out));
    BAD(MPI_ERR_ARG, "maxdims|0", MPI_Cart_coords(grid, 0, 0, out));
    BAD(MPI_ERR_ARG, "5", MPI_Cart_rank(grid, at, &n));
    BAD(MPI_ERR_DIMS, "direction|3", MPI_Cart_shift(grid, 3, 1, &n, &n));
    BAD(MPI_ERR_TOPOLOGY, "topology", MPI_Graph_neighbors_count(grid, 0, &n));
    CHECK(made == MPI_COMM_NULL);
    MPI_Comm_free(&grid);
}

static void multiply(void *in, void *out, int *count, MPI_Datatype *type) { (void)in, (void)out, (void)count, (void)type; }

static void operations(void)
{
    MPI_Op null = MPI_OP_NULL, sum = MPI_SUM, mine, stale;
    BAD(MPI_ERR_OP, "op|predefined", MPI_Op_free(&sum));
    BAD(MPI_ERR_OP, "op|null", MPI_Op_free(&null));
    BAD(MPI_ERR_ARG, "user_fn|null", MPI_Op_create(NULL, 1, &mine));
    BAD(MPI_ERR_ARG, "op|null", MPI_Op_create(multiply, 1, NULL));
    BAD(MPI_ERR_OP, "op|null", MPI_Op_commutative(null, &n));
    MPI_Op_create(multiply, 1, &mine);
    stale = mine;
    MPI_Op_free(&mine);
    BAD(MPI_ERR_OP, "freed", MPI_Op_free(&stale));
    BAD(MPI_ERR_OP, "freed", MPI_Op_commutative(stale, &n));
}

static void environment(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    void *memory = NULL;
    int provided;
    BAD(MPI_ERR_ARG, "name|null", MPI_Get_processor_name(NULL, &n));
    BAD(MPI_ERR_ARG, "resultlen|null", MPI_Get_processor_name(name, NULL));
    BAD(MPI_ERR_ARG, "size|-1", MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory));
    BAD(MPI_ERR_ARG, "baseptr|null", MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
    BAD(MPI_ERR_NO_MEM, "bytes", MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory));
    BAD(MPI_ERR_ARG, "version|null", MPI_Get_version(NULL, &n));
    BAD(MPI_ERR_ARG, "flag|null", MPI_Initialized(NULL));
    BAD(MPI_ERR_OTHER, "MPI_Init", MPI_Init(NULL, NULL));
    BAD(MPI_ERR_OTHER, "MPI_Init", MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided));
    BAD(MPI_ERR_ARG, "required|7777", MPI_Init_thread(NULL, NULL, 7777, &provided));
}

static void sessions(void)
{
    MPI_Session s, null = MPI_SESSION_NULL, stale;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    BAD(MPI_ERR_ERRHANDLER, "errhandler|null", MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &s));
    BAD(MPI_ERR_ARG, "session|null", MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
    BAD(MPI_ERR_SESSION, "session|null", MPI_Session_finalize(&null));
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
    BAD(MPI_ERR_ARG, "mill://GRIND|mpi://WORLD", MPI_Group_from_session_pset(s, "mill://GRIND", &group));
    BAD(MPI_ERR_ARG, "pset_name|null", MPI_Group_from_session_pset(s, NULL, &group));
    BAD(MPI_ERR_ARG, "mill://GRIND", MPI_Session_get_pset_info(s, "mill://GRIND", &info));
    n = 0;
    BAD(MPI_ERR_ARG, "99", MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 99, &n, NULL));
    BAD(MPI_ERR_SESSION, "session|null", MPI_Session_get_num_psets(null, MPI_INFO_NULL, &n));
    BAD(MPI_ERR_ARG, "npset_names|null", MPI_Session_get_num_psets(s, MPI_INFO_NULL, NULL));
    stale = s;
    MPI_Session_finalize(&s);
    BAD(MPI_ERR_SESSION, "freed", MPI_Session_finalize(&stale));
    BAD(MPI_ERR_SESSION, "freed", MPI_Session_get_info(stale, &info));
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    groups();
    communicators();
    attributes();
    infos();
    handlers_and_codes();
    topologies();
    operations();
    environment();
    sessions();
    return bad_end(150);
}
