/* ranks: 2 3
 * Long messages that are hardly written between two sends: the receiver reads the most of them where they are, while the
 * sender still copies. A send that has returned is over: what the sender writes then does not arrive. */
#include "check.h"

#define LARGEST 450000
#define TURNS 60

/* Goes from byte to byte so that all parts of a message are hit. */
static int place(int turn, int bytes)
{
    return (int)((turn * 7919L + 13) % bytes);
}

/* Each changes one byte after its send has returned; the other checks that it came neither too early nor too late. */
static void there_and_back(unsigned char *out, unsigned char *in, int bytes, int peer, int synchronous)
{
    memset(out, 1, bytes);
    for (int turn = 0; turn < TURNS; turn++) {
        int receives_first = rank > peer;
        for (int step = 0; step < 2; step++) {
            if ((step == 0) == receives_first) {
                MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                long sum = 0;
                for (int i = 0; i < bytes; i++)
                    sum += in[i];
                CHECK_EQUAL(sum, bytes + turn);
            } else {
                (synchronous ? MPI_Ssend : MPI_Send)(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
                out[place(turn, bytes)]++;
            }
        }
    }
}

/* All is written anew, and at once after the send: data near and far in turns. */
static void sometimes_written(unsigned char *out, unsigned char *in, int bytes, int peer)
{
    for (int turn = 0; turn < TURNS; turn++) {
        int pattern = turn / 10;
        if (rank < peer) {
            fill(out, bytes, pattern);
            MPI_Send(out, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
            if (turn % 2 == 0)
                memset(out, 0xee, bytes);
            MPI_Recv(in, 1, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_FILLED(in, bytes, pattern);
            MPI_Send(in, 1, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        }
    }
}

/* Into less room than the message has, and with gaps. */
static void otherwise_received(unsigned char *out, unsigned char *in, int bytes, int peer)
{
    MPI_Datatype apart;
    MPI_Type_vector(bytes / 100, 100, 200, MPI_BYTE, &apart);
    MPI_Type_commit(&apart);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fill(out, bytes, 5);
    for (int turn = 0; turn < TURNS; turn++) {
        if (rank < peer) {
            MPI_Send(out, bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
            MPI_Send(out, bytes / 100 * 100, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
            MPI_Recv(in, 1, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        int room = bytes / 2 + turn;
        memset(in, 0xee, 2 * bytes);
        CHECK_CLASS(MPI_Recv(in, room, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        CHECK_FILLED(in, room, 5);
        CHECK(in[room] == 0xee);
        MPI_Recv(in, 1, apart, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int piece = 0; piece < bytes / 100; piece++)
            CHECK(memcmp(in + 200 * piece, out + 100 * piece, 100) == 0);
        MPI_Send(in, 1, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&apart);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {4097, 9000, 20000, 32768, 50001, 65536, 131073, 300000, 399999};
    check_begin(&argc, &argv);
    unsigned char *out = malloc(LARGEST), *in = malloc(2 * LARGEST);
    if (rank < 2)
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            int bytes = lengths[i], peer = 1 - rank, shift = (int)i * 8;
            there_and_back(out + shift, in + shift, bytes, peer, 0);
            there_and_back(out + shift, in + shift, bytes, peer, 1);
            sometimes_written(out + shift, in + shift, bytes, peer);
            otherwise_received(out, in, bytes, peer);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
    return check_end();
}
