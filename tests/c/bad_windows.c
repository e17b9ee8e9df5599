/* ranks: 2 1
 * Wrong calls on windows: each gives the class of its mistake and a sentence, writes nothing, and leaves the window
 * as it was. */
#include "bad_input.h"

#define W MPI_COMM_WORLD
enum { ITEMS = 8 };
static MPI_Win win = MPI_WIN_NULL;
static int *memory, value = 1, got = -1, peer;

static void open_window(void)
{
    MPI_Win_allocate(ITEMS * sizeof(int), sizeof(int), MPI_INFO_NULL, W, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, ITEMS * sizeof(int));
    MPI_Barrier(W);
}

/* Nothing has been written, and the window works. */
static void close_window(void)
{
    MPI_Barrier(W);
    for (int index = 0; index < ITEMS; index++)
        CHECK_EQUAL(memory[index], 0);
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, peer, 3, 1, MPI_INT, win), MPI_SUCCESS);
    MPI_Win_unlock(peer, win);
    MPI_Barrier(W);
    CHECK_EQUAL(memory[3], 1);
    CHECK_CLASS(MPI_Win_free(&win), MPI_SUCCESS);
}

/* Handles, and arguments of the calls that make and free windows. */
static void making(void)
{
    MPI_Win none = MPI_WIN_NULL, made = MPI_WIN_NULL, stale;
    MPI_Comm null = MPI_COMM_NULL;
    char *base, own[64];
    MPI_Aint bytes;
    int unit;
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_free(&none));
    BAD(MPI_ERR_ARG, "win|null", MPI_Win_free(NULL));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_fence(0, none));
    BAD(MPI_ERR_WIN, "win|null", MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, none));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none));
    BAD(MPI_ERR_COMM, "comm|null", MPI_Win_create(own, 64, 1, MPI_INFO_NULL, null, &made));
    BAD(MPI_ERR_ARG, "win|null", MPI_Win_create(own, 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL));
    BAD(MPI_ERR_SIZE, "size|-5", MPI_Win_create(own, -5, 1, MPI_INFO_NULL, W, &made));
    BAD(MPI_ERR_DISP, "disp_unit|0", MPI_Win_create(own, 64, 0, MPI_INFO_NULL, W, &made));
    BAD(MPI_ERR_DISP, "disp_unit|-1", MPI_Win_create(own, 64, -1, MPI_INFO_NULL, W, &made));
    BAD(MPI_ERR_BASE, "base|null", MPI_Win_create(NULL, 64, 1, MPI_INFO_NULL, W, &made));
    BAD(MPI_ERR_SIZE, "size|-5", MPI_Win_allocate(-5, 1, MPI_INFO_NULL, W, &base, &made));
    BAD(MPI_ERR_DISP, "disp_unit|0", MPI_Win_allocate(64, 0, MPI_INFO_NULL, W, &base, &made));
    BAD(MPI_ERR_ARG, "baseptr|null", MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL, &made));
    BAD(MPI_ERR_SIZE, "size|-5", MPI_Win_allocate_shared(-5, 1, MPI_INFO_NULL, W, &base, &made));
    CHECK(made == MPI_WIN_NULL);
    open_window();
    BAD(MPI_ERR_RANK, "rank|1000", MPI_Win_shared_query(win, 1000, &bytes, &unit, &base));
    BAD(MPI_ERR_RANK, "rank|-7", MPI_Win_shared_query(win, -7, &bytes, &unit, &base));
    BAD(MPI_ERR_ARG, "size|null", MPI_Win_shared_query(win, 0, NULL, &unit, &base));
    BAD(MPI_ERR_ARG, "disp_unit|null", MPI_Win_shared_query(win, 0, &bytes, NULL, &base));
    BAD(MPI_ERR_ARG, "baseptr|null", MPI_Win_shared_query(win, 0, &bytes, &unit, NULL));
    BAD(MPI_ERR_RMA_FLAVOR, "dynamic", MPI_Win_attach(win, own, 64));
    BAD(MPI_ERR_RMA_FLAVOR, "dynamic", MPI_Win_detach(win, own));
    stale = win;
    close_window();
    BAD(MPI_ERR_WIN, "freed", MPI_Win_fence(0, stale));
    BAD(MPI_ERR_WIN, "freed", MPI_Win_free(&stale));
    BAD(MPI_ERR_WIN, "freed", MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, stale));
}

/* Arguments of operations, in an epoch in which right ones work. */
static void operands(void)
{
    MPI_Datatype uncommitted, null = MPI_DATATYPE_NULL, pair;
    MPI_Op mine;
    double real = 0;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create((MPI_User_function *)0x1000, 1, &mine);
    open_window();
    MPI_Win_lock_all(0, win);
    BAD(MPI_ERR_RANK, "rank|1000", MPI_Put(&value, 1, MPI_INT, 1000, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_RANK, "target_rank|-9", MPI_Put(&value, 1, MPI_INT, -9, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_RANK, "target_rank|MPI_ANY_SOURCE", MPI_Get(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_COUNT, "origin_count|-1", MPI_Put(&value, -1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_COUNT, "target_count|-1", MPI_Put(&value, 1, MPI_INT, peer, 0, -1, MPI_INT, win));
    BAD(MPI_ERR_TYPE, "origin_datatype|null", MPI_Put(&value, 1, null, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_TYPE, "target_datatype|null", MPI_Put(&value, 1, MPI_INT, peer, 0, 1, null, win));
    BAD(MPI_ERR_TYPE, "origin_datatype|committed", MPI_Put(&value, 0, uncommitted, peer, 0, 0, MPI_INT, win));
    BAD(MPI_ERR_TYPE, "target_datatype|committed", MPI_Get(&got, 0, MPI_INT, peer, 0, 0, uncommitted, win));
    BAD(MPI_ERR_BUFFER, "origin_addr|null", MPI_Put(NULL, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_BUFFER, "origin_addr|MPI_IN_PLACE", MPI_Put(MPI_IN_PLACE, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_BUFFER, "origin_addr|MPI_IN_PLACE", MPI_Get(MPI_IN_PLACE, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_DISP, "target_disp|-1", MPI_Put(&value, 1, MPI_INT, peer, -1, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_RANGE, "32", MPI_Put(&value, 1, MPI_INT, peer, ITEMS, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_RANGE, "32", MPI_Get(&got, 1, MPI_INT, peer, 1 << 30, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Put_c(&value, 1, MPI_INT, peer, (MPI_Aint)1 << 61, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Put(memory, ITEMS, MPI_INT, peer, 1, ITEMS, MPI_INT, win));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Put(memory, 4, MPI_INT, peer, 3, 2, pair, win));
    BAD(MPI_ERR_TRUNCATE, "", MPI_Put(memory, 4, MPI_INT, peer, 0, 3, MPI_INT, win));
    BAD(MPI_ERR_OP, "", MPI_Accumulate(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, mine, win));
    BAD(MPI_ERR_OP, "op|null", MPI_Accumulate(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_OP_NULL, win));
    BAD(MPI_ERR_OP, "MPI_BAND", MPI_Accumulate(&real, 1, MPI_DOUBLE, peer, 0, 1, MPI_DOUBLE, MPI_BAND, win));
    BAD(MPI_ERR_OP, "MPI_MAXLOC", MPI_Accumulate(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_MAXLOC, win));
    BAD(MPI_ERR_TYPE, "", MPI_Accumulate(&real, 1, MPI_DOUBLE, peer, 0, 2, MPI_INT, MPI_SUM, win));
    BAD(MPI_ERR_BUFFER, "result_addr|null", MPI_Get_accumulate(&value, 1, MPI_INT, NULL, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_SUM, win));
    BAD(MPI_ERR_BUFFER, "result_addr|null", MPI_Fetch_and_op(&value, NULL, MPI_INT, peer, 0, MPI_SUM, win));
    BAD(MPI_ERR_BUFFER, "origin_addr|null", MPI_Fetch_and_op(NULL, &got, MPI_INT, peer, 0, MPI_SUM, win));
    BAD(MPI_ERR_TYPE, "", MPI_Fetch_and_op(&value, &got, pair, peer, 0, MPI_SUM, win));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Fetch_and_op(&value, &got, MPI_INT, peer, ITEMS, MPI_SUM, win));
    BAD(MPI_ERR_TYPE, "MPI_DOUBLE", MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, peer, 0, win));
    BAD(MPI_ERR_BUFFER, "compare_addr|null", MPI_Compare_and_swap(&value, NULL, &got, MPI_INT, peer, 0, win));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Compare_and_swap(&value, &value, &got, MPI_INT, peer, ITEMS, win));
    BAD(MPI_ERR_RANK, "1000", MPI_Win_flush(1000, win));
    CHECK_EQUAL(got, -1);
    MPI_Win_unlock_all(win);
    MPI_Op_free(&mine);
    MPI_Type_free(&pair);
    MPI_Type_free(&uncommitted);
    close_window();
}

/* Calls in the wrong epoch, or in none. */
static void epochs(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group all, none = MPI_GROUP_NULL;
    int flag;
    MPI_Comm_group(W, &all);
    open_window();
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Accumulate(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_SUM, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Fetch_and_op(&value, &got, MPI_INT, peer, 0, MPI_SUM, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Compare_and_swap(&value, &value, &got, MPI_INT, peer, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Rput(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win, &request));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_unlock(peer, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_unlock_all(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush(peer, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush_all(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush_local(peer, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush_local_all(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_complete(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_wait(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_test(win, &flag));
    BAD(MPI_ERR_LOCKTYPE, "lock_type|0", MPI_Win_lock(0, peer, 0, win));
    BAD(MPI_ERR_RANK, "1000", MPI_Win_lock(MPI_LOCK_SHARED, 1000, 0, win));
    BAD(MPI_ERR_RANK, "rank|-77", MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win));
    BAD(MPI_ERR_ASSERT, "assert|MPI_MODE_NOPUT", MPI_Win_lock(MPI_LOCK_SHARED, peer, MPI_MODE_NOPUT, win));
    BAD(MPI_ERR_ASSERT, "assert|MPI_MODE_NOSTORE", MPI_Win_lock_all(MPI_MODE_NOSTORE, win));
    BAD(MPI_ERR_ASSERT, "assert|MPI_MODE_NOCHECK", MPI_Win_fence(MPI_MODE_NOCHECK, win));
    BAD(MPI_ERR_ASSERT, "assert|MPI_MODE_NOPUT", MPI_Win_start(all, MPI_MODE_NOPUT, win));
    BAD(MPI_ERR_ASSERT, "assert|MPI_MODE_NOSUCCEED", MPI_Win_post(all, MPI_MODE_NOSUCCEED, win));
    BAD(MPI_ERR_GROUP, "group|null", MPI_Win_post(none, 0, win));
    BAD(MPI_ERR_GROUP, "group|null", MPI_Win_start(none, 0, win));
    /* While a lock is held. */
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock_all(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_unlock_all(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_fence(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_start(all, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_free(&win));
    if (size > 1) {
        BAD(MPI_ERR_RMA_SYNC, "", MPI_Put(&value, 1, MPI_INT, 1 - peer, 0, 1, MPI_INT, win));
        BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_unlock(1 - peer, win));
        BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush(1 - peer, win));
    }
    CHECK_CLASS(MPI_Win_unlock(peer, win), MPI_SUCCESS);
    /* While all are locked. */
    MPI_Win_lock_all(0, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock_all(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_unlock(peer, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_fence(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_complete(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_free(&win));
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_SUCCESS);
    /* Between post and wait, start and complete. */
    MPI_Win_post(all, 0, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_post(all, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_free(&win));
    MPI_Win_start(all, 0, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_start(all, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_lock_all(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_fence(0, win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Rput(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win, &request));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush(peer, win));
    CHECK_CLASS(MPI_Win_complete(win), MPI_SUCCESS);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_complete(win));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    CHECK_CLASS(MPI_Win_wait(win), MPI_SUCCESS);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_wait(win));
    /* Between fences. */
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Rput(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win, &request));
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Win_flush(peer, win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    BAD(MPI_ERR_RMA_SYNC, "", MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Group_free(&all);
    close_window();
}

/* Memory that is not attached. */
static void dynamic(void)
{
    MPI_Win made;
    MPI_Aint there, bytes, theirs;
    int unit, *own = malloc(64);
    void *base;
    MPI_Win_create_dynamic(MPI_INFO_NULL, W, &made);
    MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
    MPI_Get_address(own, &there);
    MPI_Sendrecv(&there, 1, MPI_AINT, peer, 0, &theirs, 1, MPI_AINT, peer, 0, W, MPI_STATUS_IGNORE);
    BAD(MPI_ERR_RMA_FLAVOR, "attached", MPI_Win_shared_query(made, 0, &bytes, &unit, &base));
    BAD(MPI_ERR_RMA_ATTACH, "", MPI_Win_detach(made, own));
    BAD(MPI_ERR_SIZE, "size|-1", MPI_Win_attach(made, own, -1));
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, made);
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Put(&value, 1, MPI_INT, peer, theirs, 1, MPI_INT, made));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, made));
    MPI_Win_unlock(peer, made);
    MPI_Barrier(W);
    CHECK_CLASS(MPI_Win_attach(made, own, 64), MPI_SUCCESS);
    BAD(MPI_ERR_RMA_ATTACH, "", MPI_Win_attach(made, (char *)own + 32, 64));
    MPI_Barrier(W);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, made);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, peer, theirs, 1, MPI_INT, made), MPI_SUCCESS);
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Put(&value, 1, MPI_INT, peer, theirs + 61, 1, MPI_INT, made));
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Accumulate(&value, 1, MPI_INT, peer, theirs + 64, 1, MPI_INT, MPI_SUM, made));
    MPI_Win_unlock(peer, made);
    MPI_Barrier(W);
    CHECK_EQUAL(own[0], 1);
    CHECK_CLASS(MPI_Win_detach(made, own), MPI_SUCCESS);
    BAD(MPI_ERR_RMA_ATTACH, "", MPI_Win_detach(made, own));
    MPI_Barrier(W);
    MPI_Win_lock_all(0, made);
    BAD(MPI_ERR_RMA_RANGE, "", MPI_Get(&got, 1, MPI_INT, peer, theirs, 1, MPI_INT, made));
    MPI_Win_unlock_all(made);
    MPI_Barrier(W);
    CHECK_CLASS(MPI_Win_attach(made, own, 64), MPI_SUCCESS);
    MPI_Barrier(W);
    MPI_Win_lock_all(0, made);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, peer, theirs, 1, MPI_INT, made), MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_flush(peer, made), MPI_SUCCESS);
    MPI_Barrier(W);
    CHECK_CLASS(MPI_Win_detach(made, own), MPI_SUCCESS);
    MPI_Barrier(W);
    /* Within an epoch a member on another node may be told of it by the flush only. */
    if (MPI_Put(&value, 1, MPI_INT, peer, theirs, 1, MPI_INT, made) == MPI_SUCCESS)
        BAD(MPI_ERR_RMA_RANGE, "", MPI_Win_flush(peer, made));
    CHECK_CLASS(MPI_Win_unlock_all(made), MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_free(&made), MPI_SUCCESS);
    free(own);
}

/* What a window has as communicators have it. */
static void belongings(void)
{
    MPI_Win none = MPI_WIN_NULL;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler, null = MPI_ERRHANDLER_NULL;
    void *found;
    int flag, length, invalid = MPI_KEYVAL_INVALID, wrong = 12345;
    char name[MPI_MAX_OBJECT_NAME];
    open_window();
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_get_group(none, &group));
    BAD(MPI_ERR_ARG, "group|null", MPI_Win_get_group(win, NULL));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_set_name(none, "x"));
    BAD(MPI_ERR_ARG, "win_name|null", MPI_Win_set_name(win, NULL));
    BAD(MPI_ERR_ARG, "win_name|null", MPI_Win_get_name(win, NULL, &length));
    BAD(MPI_ERR_ARG, "resultlen|null", MPI_Win_get_name(win, name, NULL));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_get_info(none, &info));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_set_info(none, MPI_INFO_NULL));
    BAD(MPI_ERR_KEYVAL, "MPI_KEYVAL_INVALID", MPI_Win_get_attr(win, invalid, &found, &flag));
    BAD(MPI_ERR_KEYVAL, "win_keyval|12345", MPI_Win_set_attr(win, wrong, NULL));
    BAD(MPI_ERR_KEYVAL, "win_keyval|12345", MPI_Win_delete_attr(win, wrong));
    BAD(MPI_ERR_KEYVAL, "predefined", MPI_Win_set_attr(win, MPI_WIN_SIZE, NULL));
    BAD(MPI_ERR_KEYVAL, "predefined", MPI_Win_delete_attr(win, MPI_WIN_BASE));
    BAD(MPI_ERR_KEYVAL, "win_keyval|12345", MPI_Win_free_keyval(&wrong));
    BAD(MPI_ERR_ERRHANDLER, "errhandler|null", MPI_Win_set_errhandler(win, null));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_get_errhandler(none, &handler));
    BAD(MPI_ERR_WIN, "win|null", MPI_Win_call_errhandler(none, MPI_ERR_OTHER));
    close_window();
}

int main(int argc, char **argv)
{
    bad_begin(&argc, &argv);
    peer = size - 1 - rank;
    making();
    operands();
    epochs();
    dynamic();
    belongings();
    return bad_end(120);
}
