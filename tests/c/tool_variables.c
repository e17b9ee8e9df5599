/* ranks: 1 2
 * The tool interface (MPI-5.0 chapter 15): control and performance variables, enumerations, categories, handles. */
#include "check.h"

/* Codes are bare: tools compare with them. */
#define GIVES(code, call) CHECK_EQUAL((call), (code))
#define WORKS(call) GIVES(MPI_SUCCESS, call)

static MPI_T_pvar_session session;

static void before_initialisation(void)
{
    int number, flag;
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&number));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_index("sleeps", MPI_T_PVAR_CLASS_COUNTER, &number));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_num(&number));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
    GIVES(MPI_T_ERR_INVALID, MPI_T_init_thread(-77, &number));
    GIVES(MPI_T_ERR_INVALID, MPI_T_init_thread(MPI_THREAD_SINGLE, NULL));
    for (int time = 0; time < 2; time++)
        WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &number));
    CHECK_EQUAL(number, MPI_THREAD_MULTIPLE);
    WORKS(MPI_T_finalize());
    WORKS(MPI_T_cvar_get_num(&number));
    MPI_Initialized(&flag);
    CHECK(!flag);
}

/* §15.3.3: the length goes in as the room and comes out as the need. */
static void strings(void)
{
    char name[64] = "untouched";
    int length = 0, index;
    WORKS(MPI_T_cvar_get_index("SERRIED_COPY", &index));
    WORKS(MPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQUAL(length, 13);
    length = 0;
    WORKS(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == 13 && !strcmp(name, "untouched"));
    length = 5;
    WORKS(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == 13 && !strcmp(name, "SERR"));
    length = sizeof name;
    WORKS(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == 13 && !strcmp(name, "SERRIED_COPY"));
    strcpy(name, "untouched");
    WORKS(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(!strcmp(name, "untouched"));
}

static MPI_T_cvar_handle control(const char *wanted, int *index, int *count)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    WORKS(MPI_T_cvar_get_index(wanted, index));
    WORKS(MPI_T_cvar_handle_alloc(*index, NULL, &handle, count));
    CHECK(handle != MPI_T_CVAR_HANDLE_NULL);
    return handle;
}

static void controls(void)
{
    int count, number, index, scope, bind, verbosity;
    MPI_Datatype type;
    MPI_T_enum words;
    unsigned long long bytes = 0, wanted = 3 << 20;
    char text[256];
    WORKS(MPI_T_cvar_get_num(&number));
    CHECK(number >= 6);
    for (index = 0; index < number; index++)
        WORKS(MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, &words, NULL, NULL, &bind, &scope));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such", &index));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_index("SERRIED_COPY", NULL));

    MPI_T_cvar_handle memory = control("SERRIED_MEMORY", &index, &count);
    WORKS(MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, &words, NULL, NULL, &bind, &scope));
    CHECK(count == 1 && type == MPI_UNSIGNED_LONG_LONG && words == MPI_T_ENUM_NULL && scope == MPI_T_SCOPE_LOCAL);
    CHECK(verbosity == MPI_T_VERBOSITY_USER_BASIC && bind == MPI_T_BIND_NO_OBJECT);
    WORKS(MPI_T_cvar_read(memory, &bytes));
    CHECK_EQUAL(bytes, 64 << 20);
    WORKS(MPI_T_cvar_write(memory, &wanted));
    WORKS(MPI_T_cvar_read(memory, &bytes));
    CHECK_EQUAL(bytes, wanted);
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_read(memory, NULL));

    MPI_T_cvar_handle eager = control("eager_bytes", &index, &count);
    WORKS(MPI_T_cvar_read(eager, &bytes));
    CHECK_EQUAL(bytes, 32 << 10);
    GIVES(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(eager, &wanted));
    MPI_T_cvar_handle compiler = control("SERRIED_CC", &index, &count);
    CHECK_EQUAL(count, sizeof text);
    setenv("SERRIED_CC", "some compiler", 1);
    WORKS(MPI_T_cvar_read(compiler, text));
    CHECK(!strcmp(text, "some compiler"));
    GIVES(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(compiler, text));

    MPI_T_cvar_handle copy = eager;
    WORKS(MPI_T_cvar_handle_free(&eager));
    CHECK(eager == MPI_T_CVAR_HANDLE_NULL);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&eager));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&copy));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(copy, &bytes));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_handle_free(NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(999, NULL, &copy, &count));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(0, NULL, NULL, &count));
}

/* What words say is what the engine does: written before MPI starts, not after. */
static MPI_T_cvar_handle only_cells(void)
{
    int index, count, items, value, length = 64, cells = -1, odd = 17;
    MPI_T_enum words;
    char name[64], *last = "";
    MPI_T_cvar_handle copy = control("SERRIED_COPY", &index, &count);
    WORKS(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, NULL));
    WORKS(MPI_T_enum_get_info(words, &items, name, &length));
    CHECK(items == 4 && !strcmp(name, "means"));
    for (int item = 0; item < items; item++) {
        length = sizeof name;
        WORKS(MPI_T_enum_get_item(words, item, &value, name, &length));
        if (!strcmp(name, "cells"))
            cells = value;
    }
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(words, items, &value, name, &length));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, name, &length));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info((MPI_T_enum)last, &items, name, &length));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_write(copy, &odd));
    WORKS(MPI_T_cvar_write(copy, &cells));
    WORKS(MPI_T_cvar_read(copy, &value));
    CHECK_EQUAL(value, cells);
    return copy;
}

static MPI_T_pvar_handle variable(const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index, count;
    WORKS(MPI_T_pvar_get_index(name, class, &index));
    WORKS(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    CHECK_EQUAL(count, 1);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 12345;
    WORKS(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void classes(void)
{
    int number, class, bind, readonly, continuous, atomic, index;
    MPI_Datatype type;
    MPI_T_enum words;
    char name[64];
    WORKS(MPI_T_pvar_get_num(&number));
    CHECK(number >= 16);
    for (int place = 0; place < number; place++) {
        int length = sizeof name;
        WORKS(MPI_T_pvar_get_info(place, name, &length, NULL, &class, &type, &words, NULL, NULL, &bind, &readonly,
                                  &continuous, &atomic));
        WORKS(MPI_T_pvar_get_index(name, class, &index));
        CHECK_EQUAL(index, place);
        int state = class == MPI_T_PVAR_CLASS_STATE;
        CHECK((type == MPI_INT) == state && (words != MPI_T_ENUM_NULL) == state && bind == MPI_T_BIND_NO_OBJECT);
        int fixed = state || class == MPI_T_PVAR_CLASS_LEVEL || class == MPI_T_PVAR_CLASS_SIZE;
        CHECK(readonly == fixed && continuous == fixed && atomic == !fixed);
    }
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("sleeps", MPI_T_PVAR_CLASS_TIMER, &index));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                                       NULL, NULL, NULL));
}

static void exchange(int count)
{
    int data[4] = {rank};
    for (int i = 0; i < count; i++)
        MPI_Sendrecv_replace(data, 4, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

/* A handle counts from its start, over stops, and anew after a reset. */
static void counters(void)
{
    MPI_T_pvar_handle sent = variable("messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle other = variable("messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle bytes = variable("bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    unsigned long long value = 7;
    exchange(3);
    CHECK_EQUAL(value_of(sent), 0);
    WORKS(MPI_T_pvar_start(session, sent));
    exchange(5);
    WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    exchange(2);
    CHECK(value_of(sent) == 7 && value_of(other) == 2 && value_of(bytes) == 32);
    WORKS(MPI_T_pvar_stop(session, sent));
    exchange(4);
    CHECK(value_of(sent) == 7 && value_of(other) == 6);
    WORKS(MPI_T_pvar_start(session, sent));
    exchange(1);
    WORKS(MPI_T_pvar_readreset(session, sent, &value));
    CHECK(value == 8 && value_of(sent) == 0);
    value = 100;
    WORKS(MPI_T_pvar_write(session, sent, &value));
    exchange(1);
    CHECK_EQUAL(value_of(sent), 101);
    WORKS(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(value_of(sent) == 0 && value_of(other) == 0 && value_of(bytes) == 0);
    WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &value));
}

static void levels(void)
{
    MPI_T_pvar_handle now = variable("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle peak = variable("unexpected_messages_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_handle later = variable("unexpected_messages_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    unsigned long long value;
    int data = 0, flag = 0;
    MPI_Request sends[10];
    WORKS(MPI_T_pvar_start(session, peak));
    for (int i = 0; i < 10; i++)
        MPI_Isend(&data, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &sends[i]);
    while (!flag)
        MPI_Iprobe(rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(value_of(now) == 10 && value_of(peak) == 10);
    for (int i = 0; i < 8; i++)
        MPI_Recv(&data, 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    WORKS(MPI_T_pvar_start(session, later));
    CHECK(value_of(now) == 2 && value_of(peak) == 10 && value_of(later) == 2);
    WORKS(MPI_T_pvar_readreset(session, peak, &value));
    CHECK(value == 10 && value_of(peak) == 2);
    for (int i = 8; i < 10; i++)
        MPI_Recv(&data, 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(10, sends, MPI_STATUSES_IGNORE);
    CHECK(value_of(now) == 0 && value_of(peak) == 2);
    GIVES(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, now));
    GIVES(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, now));
    GIVES(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, now, &value));
    GIVES(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, now));
    GIVES(MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, now, &value));
}

static void handles(void)
{
    MPI_T_pvar_session second = MPI_T_PVAR_SESSION_NULL, old;
    MPI_T_pvar_handle sleeps = variable("sleeps", MPI_T_PVAR_CLASS_COUNTER), gone = sleeps, theirs;
    unsigned long long value;
    int count;
    WORKS(MPI_T_pvar_session_create(&second));
    WORKS(MPI_T_pvar_handle_alloc(second, 2, NULL, &theirs, &count));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(second, sleeps, &value));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(second, &sleeps));
    WORKS(MPI_T_pvar_handle_free(session, &sleeps));
    CHECK(sleeps == MPI_T_PVAR_HANDLE_NULL);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &gone));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(session, gone));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, &value));
    old = second;
    WORKS(MPI_T_pvar_session_free(&second));
    CHECK(second == MPI_T_PVAR_SESSION_NULL);
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&old));
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&second));
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(old, MPI_T_PVAR_ALL_HANDLES));
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(old, 0, NULL, &gone, &count));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, -1, NULL, &gone, &count));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, theirs, &value));
    GIVES(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
}

/* Every variable is in one category, and every category below the first. */
static void categories(void)
{
    int number, variables, controls, events, seen[4] = {0}, indices[64], changed = -1, again = -2;
    WORKS(MPI_T_category_get_num(&number));
    for (int place = 0; place < number; place++) {
        char name[64];
        int length = sizeof name, cvars, pvars, below, happenings, index;
        WORKS(MPI_T_category_get_info(place, name, &length, NULL, NULL, &cvars, &pvars, &below));
        WORKS(MPI_T_category_get_index(name, &index));
        CHECK_EQUAL(index, place);
        WORKS(MPI_T_category_get_num_events(place, &happenings));
        int counts[4] = {cvars, pvars, happenings, below};
        int (*get[4])(int, int, int[]) = {MPI_T_category_get_cvars, MPI_T_category_get_pvars,
                                          MPI_T_category_get_events, MPI_T_category_get_categories};
        for (int kind = 0; kind < 4; kind++) {
            indices[0] = -5;
            WORKS(get[kind](place, 0, indices));
            CHECK_EQUAL(indices[0], -5);
            WORKS(get[kind](place, 64, indices));
            for (int i = 0; i < counts[kind]; i++)
                CHECK(indices[i] >= 0);
            seen[kind] += counts[kind];
        }
    }
    WORKS(MPI_T_cvar_get_num(&controls));
    WORKS(MPI_T_pvar_get_num(&variables));
    WORKS(MPI_T_event_get_num(&events));
    CHECK(seen[0] == controls && seen[1] == variables && seen[2] == events && seen[3] == number - 1);
    WORKS(MPI_T_category_changed(&changed));
    WORKS(MPI_T_category_changed(&again));
    CHECK_EQUAL(changed, again);
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(number, 64, indices));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such", indices));
}

static void state_is(int expected)
{
    MPI_T_pvar_handle state = variable("state", MPI_T_PVAR_CLASS_STATE);
    int value = -1;
    WORKS(MPI_T_pvar_read(session, state, &value));
    CHECK_EQUAL(value, expected);
    WORKS(MPI_T_pvar_handle_free(session, &state));
}

int main(int argc, char **argv)
{
    before_initialisation();
    strings();
    controls();
    MPI_T_cvar_handle copy = only_cells();
    WORKS(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle cells = variable("bytes_cells", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle direct = variable("bytes_direct", MPI_T_PVAR_CLASS_AGGREGATE);
    WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    state_is(0);
    check_begin(&argc, &argv);
    int means = 0;
    GIVES(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(copy, &means));
    state_is(2);
    classes();
    if (size == 2) {
        enum { LONG = 1 << 20 };
        char *data = calloc(2, LONG);
        MPI_Sendrecv(data, LONG, MPI_BYTE, 1 - rank, 0, data + LONG, LONG, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(value_of(cells) >= LONG && value_of(direct) == 0);
        free(data);
    }
    counters();
    /* The others send nothing meanwhile. */
    int token = 0;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        levels();
    for (int other = 1; other < size && rank == 0; other++)
        MPI_Send(&token, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
    handles();
    categories();
    CHECK_EQUAL(value_of(variable("ranks", MPI_T_PVAR_CLASS_SIZE)), size);
    MPI_T_pvar_handle sent = variable("messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    WORKS(MPI_T_pvar_start(session, sent));
    exchange(9);
    int failed = check_end();
    state_is(3);
    check_failures = 0;
    CHECK(value_of(sent) >= 9);
    WORKS(MPI_T_pvar_session_free(&session));
    WORKS(MPI_T_finalize());
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &means));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(copy, &means));
    WORKS(MPI_T_finalize());
    return failed || check_failures != 0;
}
