/* The time of one operation at several lengths, which take turns: steps OPERATION MEMORY BYTES...
 *
 * MEMORY is `heap` (big blocks, which ranks map from each other after a while), `stack` (memory that they cannot map)
 * or `fresh` (heap, written by each rank before every call; the time of writing is part of what is told). BYTES is
 * the payload of a rank; in operations with a block for each rank, of all blocks. Prints a length and its time in us
 * (median of the rounds) a line.
 */
#include "../operations.h"

#define ROUNDS 41
#define MOST_LENGTHS 16
#define TIME 300e-6 /* seconds of calls for each number */
#define BUFFER (16 << 20)

static void (*measured)(int);

static void on_fresh_data(int items)
{
    double *data = (double *)out;
    for (int i = 0; i < items; i++)
        data[i] = call % 100;
    measured(items);
}

static int find(const char *name)
{
    for (size_t which = 0; which < sizeof operations / sizeof *operations; which++)
        if (!strcmp(operations[which].name, name))
            return (int)which;
    fprintf(stderr, "steps: no such operation: %s\n", name);
    exit(2);
}

static void measure(int which, int fresh, int lengths, char **words)
{
    static double times[MOST_LENGTHS][ROUNDS];
    int items[MOST_LENGTHS], calls[MOST_LENGTHS];
    measured = operations[which].run;
    void (*run)(int) = fresh ? on_fresh_data : measured;

    for (int i = 0; i < lengths; i++) {
        items[i] = atoi(words[i]) / 8 / (operations[which].for_each ? ranks : 1);
        calls[i] = TIME / seconds_of(run, items[i], 30) + 5;
    }
    MPI_Bcast(calls, lengths, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < lengths; i++)
            times[i][round] = seconds_of(run, items[i], calls[i]);
    for (int i = 0; rank == 0 && i < lengths; i++)
        printf("%s %.4f\n", words[i], 1e6 * median(times[i], ROUNDS));
}

int main(int argc, char **argv)
{
    static char far_out[64]; /* keeps the stack's buffers from being optimised away */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 4 || argc - 3 > MOST_LENGTHS) {
        fprintf(stderr, "usage: steps OPERATION heap|stack|fresh BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int which = find(argv[1]), on_stack = !strcmp(argv[2], "stack");
    char local[on_stack ? 4 << 20 : 64];
    out = on_stack ? local : malloc(BUFFER), in = on_stack ? local + (2 << 20) : malloc(BUFFER);
    memset(out, 0, on_stack ? 2 << 20 : BUFFER), memset(in, 0, on_stack ? 2 << 20 : BUFFER);
    measure(which, !strcmp(argv[2], "fresh"), argc - 3, argv + 3);
    far_out[0] = local[0];
    MPI_Finalize();
    return far_out[0] == 1;
}
