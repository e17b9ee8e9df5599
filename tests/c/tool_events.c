/* ranks: 2
 * Events of the tool interface (MPI-5.0 §15.3.8): sources, types, callbacks, reading, freeing, what is lost. */
#include "check.h"
#include <time.h>
#include <unistd.h>

#define GIVES(code, call) CHECK_EQUAL((call), (code))
#define WORKS(call) GIVES(MPI_SUCCESS, call)

/* What a callback has been told. */
struct heard {
    int times, elements, freed;
    long long lost;
    unsigned long long values[4];
    MPI_Count time;
    MPI_T_event_instance instance;
    MPI_T_event_registration registration;
};

static MPI_T_event_registration extra = NULL;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void *user_data)
{
    struct heard *heard = user_data;
    char copy[64];
    int source = -1, number = -1, elements = 4;
    MPI_Datatype types[4];
    MPI_Aint displacements[4];
    MPI_Count before = heard->time;
    heard->times++;
    heard->instance = event;
    CHECK(registration == heard->registration && safety == MPI_T_CB_REQUIRE_NONE);
    WORKS(MPI_T_event_get_timestamp(event, &heard->time));
    CHECK(heard->time >= before);
    WORKS(MPI_T_event_get_source(event, &source));
    CHECK_EQUAL(source, 0);
    WORKS(MPI_T_event_copy(event, copy));
    WORKS(MPI_T_event_get_info(heard->elements, NULL, NULL, NULL, types, displacements, &elements, NULL, NULL, NULL,
                               NULL, NULL));
    for (int i = 0; i < elements; i++) {
        if (types[i] == MPI_INT) {
            WORKS(MPI_T_event_read(event, i, &number));
            heard->values[i] = (unsigned long long)number;
            CHECK(!memcmp(&number, copy + displacements[i], sizeof number));
        } else {
            CHECK(types[i] == MPI_UNSIGNED_LONG_LONG);
            WORKS(MPI_T_event_read(event, i, &heard->values[i]));
            CHECK(!memcmp(&heard->values[i], copy + displacements[i], sizeof heard->values[i]));
        }
    }
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_read(event, elements, &number));
    GIVES(MPI_T_ERR_INVALID, MPI_T_event_read(event, 0, NULL));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(NULL, 0, &number));
    /* A callback may call anything, MPI too. */
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    CHECK_EQUAL(number, size);
}

static void freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    struct heard *heard = user_data;
    CHECK(registration == heard->registration && safety == MPI_T_CB_REQUIRE_NONE);
    heard->freed++;
}

static void lost(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                 void *user_data)
{
    struct heard *heard = user_data;
    CHECK(registration == heard->registration && source == 0 && safety == MPI_T_CB_REQUIRE_NONE);
    heard->lost += count;
}

static void listen(const char *name, struct heard *heard)
{
    memset(heard, 0, sizeof *heard);
    WORKS(MPI_T_event_get_index(name, &heard->elements));
    WORKS(MPI_T_event_handle_alloc(heard->elements, NULL, MPI_INFO_NULL, &heard->registration));
    WORKS(MPI_T_event_set_dropped_handler(heard->registration, lost));
    WORKS(MPI_T_event_register_callback(heard->registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, heard,
                                        hear));
}

/* Listening ends, and the free function is called once. */
static void end(struct heard *heard)
{
    MPI_T_event_registration old = heard->registration;
    WORKS(MPI_T_event_handle_free(old, heard, freed));
    CHECK_EQUAL(heard->freed, 1);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(old, heard, freed));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler(old, lost));
}

/* The clock of events. */
static MPI_Count nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (MPI_Count)1000000000 + now.tv_nsec;
}

static void types_and_sources(void)
{
    int number, source, elements, bind, order;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Count ticks, most, first, second;
    MPI_T_enum words;
    WORKS(MPI_T_event_get_num(&number));
    CHECK(number >= 6);
    for (int place = 0; place < number; place++) {
        char name[64];
        int length = sizeof name, index;
        elements = 0;
        WORKS(MPI_T_event_get_info(place, name, &length, NULL, NULL, NULL, &elements, &words, &info, NULL, NULL, &bind));
        CHECK(elements >= 1 && elements <= 4 && bind == MPI_T_BIND_NO_OBJECT && info != MPI_INFO_NULL);
        MPI_Info_free(&info);
        WORKS(MPI_T_event_get_index(name, &index));
        CHECK_EQUAL(index, place);
    }
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                                        NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("no such", &source));
    WORKS(MPI_T_source_get_num(&number));
    CHECK_EQUAL(number, 1);
    WORKS(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, (MPI_T_source_order *)&order, &ticks, &most, NULL));
    CHECK(order == MPI_T_SOURCE_UNORDERED && ticks == 1000000000 && most > ticks);
    MPI_Count begin = nanoseconds();
    WORKS(MPI_T_source_get_timestamp(0, &first));
    usleep(2000);
    WORKS(MPI_T_source_get_timestamp(0, &second));
    CHECK(second - first >= 2000000 && second - first <= nanoseconds() - begin);
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(1, &first));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
}

/* Rank 0 goes on when rank 1 has come here. */
static void wait_for_rank_1(void)
{
    int data = 0;
    if (rank == 0)
        MPI_Recv(&data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&data, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
}

static void unexpected_messages(void)
{
    enum { MANY = 6000 };
    struct heard heard;
    int data = 0, number;
    listen("unexpected_message", &heard);
    wait_for_rank_1();
    if (rank == 0) {
        MPI_Send(&data, 1, MPI_INT, 1, 42, MPI_COMM_WORLD);
    } else {
        MPI_Probe(0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(heard.times == 1 && heard.values[0] == 0 && heard.values[1] == 42 && heard.values[2] == 4);
        CHECK_EQUAL(heard.values[3], 1);
        /* An instance is nothing after its callback. */
        GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(heard.instance, 0, &number));
        MPI_Recv(&data, 1, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(heard.times, 1);
    }
    /* More than may wait to be told in one call: none is forgotten. */
    heard.times = 0;
    wait_for_rank_1();
    for (int i = 0; i < MANY && rank == 0; i++)
        MPI_Send(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&data, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(heard.times + heard.lost, MANY + 1);
        MPI_Recv(&data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < MANY; i++)
            MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    wait_for_rank_1();
    end(&heard);
}

static void rendezvous(void)
{
    enum { LONG = 1 << 18 };
    struct heard heard;
    char *data = calloc(1, LONG);
    listen("rendezvous", &heard);
    if (rank == 0)
        MPI_Send(data, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* A message may be taken at once where its memory is mapped. */
    CHECK(heard.times <= rank && (heard.times == 0 || (heard.values[0] == 0 && heard.values[1] == LONG)));
    end(&heard);
    free(data);
}

/* Rank 1 sleeps in a receive until rank 0 sends, so many milliseconds later; for how long it says itself. */
static int slept(int milliseconds)
{
    struct heard sleep_events, wake_events;
    int data = 0, enough = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    listen("sleep", &sleep_events);
    listen("wake", &wake_events);
    if (rank == 0) {
        usleep(1000 * milliseconds);
        MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Count begin = nanoseconds();
        MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Count waited = nanoseconds() - begin;
        enough = waited > 200000000; /* else a busy machine has let it come late */
        if (enough) {
            CHECK(sleep_events.times >= 1 && sleep_events.values[0] >= 1 && wake_events.times == 1);
            CHECK(wake_events.values[0] > 100000000 && wake_events.values[0] <= (unsigned long long)waited);
            CHECK(wake_events.time > sleep_events.time);
        }
    }
    end(&sleep_events);
    end(&wake_events);
    MPI_Bcast(&enough, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return enough;
}

static void sleeping(void)
{
    int milliseconds = 300;
    while (milliseconds < 20000 && !slept(milliseconds))
        milliseconds *= 2;
    CHECK(milliseconds < 20000);
}

static void collectives_and_errors(void)
{
    struct heard begun, failed;
    int sum = 0, length = 64, value, kind;
    char name[64];
    MPI_T_enum words;
    MPI_Request request;
    listen("collective", &begun);
    listen("error", &failed);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(begun.times, 1);
    WORKS(MPI_T_event_get_info(begun.elements, NULL, NULL, NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, NULL));
    WORKS(MPI_T_enum_get_item(words, (int)begun.values[0], &value, name, &length));
    CHECK(!strcmp(name, "MPI_Allreduce"));
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_local(&rank, &sum, 1, MPI_INT, MPI_SUM); /* is none */
    CHECK_EQUAL(begun.times, 2);
    CHECK_EQUAL(failed.times, 0);
    CHECK_CLASS(MPI_Send(&sum, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK(failed.times == 1 && failed.values[1] == MPI_ERR_COUNT);
    length = sizeof name;
    WORKS(MPI_T_enum_get_item(words, (int)failed.values[0], &value, name, &length));
    CHECK(!strcmp(name, "MPI_Send"));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                                        NULL));
    CHECK_EQUAL(failed.times, 1); /* the tool interface's own are none */
    kind = begun.times;
    end(&begun);
    end(&failed);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQUAL(begun.times, kind);
}

/* Frees its own handle from within: no other call comes, the free function is called once. */
static void hear_once(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                      void *user_data)
{
    struct heard *heard = user_data;
    (void)event, (void)safety;
    heard->times++;
    WORKS(MPI_T_event_handle_free(registration, heard, freed));
    CHECK_EQUAL(heard->freed, 0);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(registration, heard, freed));
    MPI_Barrier(MPI_COMM_SELF);
}

static void registrations(void)
{
    struct heard heard, weak = {0};
    MPI_Info info, used;
    char value[16] = "";
    int flag = 0, length = sizeof value;
    listen("collective", &heard);
    MPI_Info_create(&info);
    MPI_Info_set(info, "a key", "a value");
    WORKS(MPI_T_event_handle_set_info(heard.registration, info));
    WORKS(MPI_T_event_handle_get_info(heard.registration, &used));
    MPI_Info_get_string(used, "a key", &length, value, &flag);
    CHECK(flag && !strcmp(value, "a value"));
    MPI_Info_free(&used);
    WORKS(MPI_T_event_callback_set_info(heard.registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, info));
    WORKS(MPI_T_event_callback_get_info(heard.registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &used));
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    GIVES(MPI_T_ERR_INVALID,
          MPI_T_event_callback_get_info(heard.registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &used));
    GIVES(MPI_T_ERR_INVALID, MPI_T_event_register_callback(heard.registration, (MPI_T_cb_safety)77, MPI_INFO_NULL,
                                                           NULL, hear));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_handle_alloc(99, NULL, MPI_INFO_NULL, &extra));
    GIVES(MPI_T_ERR_INVALID, MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL));
    /* The callback that promises least is the one that is called. */
    weak.elements = heard.elements, weak.registration = heard.registration;
    WORKS(MPI_T_event_register_callback(heard.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &weak, hear));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(weak.times == 1 && heard.times == 0);
    WORKS(MPI_T_event_register_callback(heard.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(weak.times == 1 && heard.times == 1);
    WORKS(MPI_T_event_register_callback(heard.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &heard, hear_once));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(heard.times == 2 && heard.freed == 1);
}

int main(int argc, char **argv)
{
    int provided;
    struct heard early;
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    types_and_sources();
    listen("collective", &early); /* before MPI starts */
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQUAL(early.times, 1);
    end(&early);
    unexpected_messages();
    rendezvous();
    sleeping();
    collectives_and_errors();
    registrations();
    int failed = check_end();
    WORKS(MPI_T_finalize());
    return failed || check_failures;
}
