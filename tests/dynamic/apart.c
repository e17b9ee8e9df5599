/* Jobs that were started apart connect: `apart server FILE` opens a port and writes its name into a file, `apart client FILE`
 * connects to it; `publisher SERVICE` and `finder SERVICE` find each other by a published name. */
#include "talk.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *word;

static void tell(const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s.new", word);
    FILE *file = fopen(name, "w");
    fputs(text, file);
    fclose(file);
    rename(name, word);
}

static void hear(char *text)
{
    FILE *file;
    while (!(file = fopen(word, "r")))
        usleep(1000);
    CHECK(fgets(text, MPI_MAX_PORT_NAME, file) != NULL);
    fclose(file);
}

static MPI_Comm met(int serves)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    if (serves) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            tell(port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        if (rank == 0)
            MPI_Close_port(port);
    } else {
        if (rank == 0)
            hear(port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    }
    return other;
}

static void server(void)
{
    MPI_Comm other = met(1);
    talk(other, 1);
    MPI_Comm_disconnect(&other);
}

static void client(void)
{
    MPI_Comm other = met(0);
    talk(other, 0);
    MPI_Comm_disconnect(&other);
}

static void publisher(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(word, MPI_INFO_NULL, port);
    }
    MPI_Comm other;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    if (rank == 0) {
        MPI_Unpublish_name(word, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    talk(other, 1);
    MPI_Comm_disconnect(&other);
}

static void finder(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (rank == 0 && MPI_Lookup_name(word, MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(1000);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    talk(other, 0);
    MPI_Comm_disconnect(&other);
}

/* A server takes several jobs at a time, and makes one communicator of all: they talk with each other through nobody. */
enum { CLIENTS = 3 };

static void all_talk(MPI_Comm all)
{
    int count, me, sum;
    MPI_Comm_size(all, &count);
    MPI_Comm_rank(all, &me);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK_EQUAL(sum, count * (count - 1) / 2);
    for (int peer = 0; peer < count; peer++) {
        int in = -1;
        MPI_Sendrecv(&me, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, all, MPI_STATUS_IGNORE);
        CHECK_EQUAL(in, peer);
    }
    MPI_Comm_disconnect(&all);
}

static void hub(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        tell(port);
    }
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    for (int client = 0; client < CLIENTS; client++) {
        MPI_Comm other, more;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, all, &other);
        MPI_Intercomm_merge(other, 0, &more);
        MPI_Comm_disconnect(&other);
        MPI_Comm_disconnect(&all);
        all = more;
    }
    all_talk(all);
}

static void spoke(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0)
        hear(port);
    MPI_Comm other, all;
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    MPI_Intercomm_merge(other, 1, &all);
    MPI_Comm_disconnect(&other);
    int count;
    for (MPI_Comm_size(all, &count); count < (CLIENTS + 1) * size; MPI_Comm_size(all, &count)) {
        MPI_Comm more;
        MPI_Comm_accept("", MPI_INFO_NULL, 0, all, &other);
        MPI_Intercomm_merge(other, 0, &more);
        MPI_Comm_disconnect(&other);
        MPI_Comm_disconnect(&all);
        all = more;
    }
    all_talk(all);
}

/* A port of a process that has ended. */
static void nobody(void)
{
    char port[MPI_MAX_PORT_NAME];
    hear(port);
    MPI_Comm other;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other), class;
    MPI_Error_class(code, &class);
    CHECK_EQUAL(class, rank == 0 ? MPI_ERR_PORT : MPI_ERR_COMM);
}

static void opener(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, port);
    tell(port);
}

/* A port that was closed, and then another one of the same process. */
static void reopener(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Close_port(port);
    tell(port);
    word = "open";
    server();
}

static void insister(void)
{
    nobody();
    word = "open";
    client();
}

/* Waits for what never comes from the other job. */
static void waiting(int serves)
{
    MPI_Comm other = met(serves);
    int in = 0;
    if (serves) {
        MPI_Recv(&in, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Send(&in, 1, MPI_INT, 0, 0, other);
    MPI_Recv(&in, 1, MPI_INT, 0, 99, other, MPI_STATUS_IGNORE);
}

static void leaves(void) { waiting(1); }
static void misses(void) { waiting(0); }

/* Windows of 64 GiB that are mapped here, in whole. */
static int mapped(void)
{
    char line[1024];
    unsigned long begin, end;
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        count += sscanf(line, "%lx-%lx", &begin, &end) == 2 && strstr(line, "/memfd:") && end - begin == 64ul << 30;
    fclose(maps);
    return count;
}

/* Long messages that the first ranks lend each other again and again. They come through so many windows of the other job. */
static void through_windows(int serves, int windows)
{
    enum { BYTES = 1 << 20 };
    MPI_Comm other = met(serves);
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    int before = mapped();
    for (int round = 0; round < 40 && rank == 0; round++) {
        memset(out, 2 * round + serves, BYTES);
        memset(in, 255, BYTES);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, 0, 0, in, BYTES, MPI_BYTE, 0, 0, other, MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < BYTES; i++)
            wrong += in[i] != 2 * round + !serves;
        CHECK_EQUAL(wrong, 0);
    }
    CHECK_EQUAL(mapped() - before, rank == 0 ? windows : 0);
    MPI_Comm_disconnect(&other);
    free(out);
    free(in);
}

static void lender(void)
{
    through_windows(1, 1);
}

static void borrower(void)
{
    through_windows(0, 1);
}

static void sender(void)
{
    through_windows(1, 0);
}

static void receiver(void)
{
    through_windows(0, 0);
}

/* Two processes that have a socket. */
static void joiner(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", word);
    int socket_of = socket(AF_UNIX, SOCK_STREAM, 0), is_first = bind(socket_of, (void *)&address, sizeof address) == 0, end;
    if (is_first) {
        CHECK_EQUAL(listen(socket_of, 1), 0);
        end = accept(socket_of, NULL, NULL);
    } else {
        end = socket_of;
        while (connect(end, (void *)&address, sizeof address) != 0)
            usleep(1000);
    }
    MPI_Comm other;
    MPI_Comm_join(end, &other);
    int told = is_first, heard = -1;
    MPI_Sendrecv(&told, 1, MPI_INT, 0, 0, &heard, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
    CHECK_EQUAL(heard, !is_first);
    CHECK_EQUAL(send(end, &told, sizeof told, 0), sizeof told);
    CHECK_EQUAL(recv(end, &told, sizeof told, MSG_WAITALL), sizeof told);
    CHECK_EQUAL(told, heard);
    MPI_Comm_disconnect(&other);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"server", server}, {"client", client}, {"publisher", publisher}, {"finder", finder}, {"hub", hub},
        {"spoke", spoke}, {"nobody", nobody}, {"opener", opener}, {"reopener", reopener}, {"insister", insister}, {"leaves", leaves}, {"misses", misses},
        {"joiner", joiner}, {"lender", lender}, {"borrower", borrower}, {"sender", sender}, {"receiver", receiver},
    };
    check_begin(&argc, &argv);
    CHECK(argc == 3);
    word = argv[2];
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    return check_end();
}
