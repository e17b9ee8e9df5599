/* Cells of the sweep, one after the other, as the runner drew them: sweep FILE. Whole times: nothing is taken off.
 *
 * What a program does with its data, before and after a call, belongs to the time, because it depends on where the
 * library has left the lines. A cell's figure is named by its number. */
#define MOST_POINTS 1024
#include "sweep_collectives.h"
#include "sweep_epochs.h"
#include "sweep_messages.h"

/* How many blocks of the cell's length its buffers have. */
enum { ONE, EACH, TWO };

#define OP(name, out, in) {#name, op_##name, out, in}
static const struct {
    const char *name;
    void (*run)(void);
    int out, in;
} operations[] = {
    OP(send, ONE, ONE), OP(ssend, ONE, ONE), OP(probe, ONE, ONE), OP(mprobe, ONE, ONE), OP(isend, ONE, ONE),
    OP(send_init, ONE, ONE), OP(vector, ONE, ONE), OP(vector_to_block, ONE, ONE), OP(sendrecv, ONE, ONE),
    OP(exchange, ONE, ONE), OP(persistent, ONE, ONE), OP(burst, ONE, ONE), OP(waitany, ONE, ONE),
    OP(testany, ONE, ONE), OP(barrier, ONE, ONE), OP(bcast, ONE, ONE),
    OP(reduce, ONE, ONE), OP(allreduce, ONE, ONE), OP(allreduce_int_max, ONE, ONE), OP(allreduce_in_place, ONE, ONE),
    OP(scan, ONE, ONE), OP(exscan, ONE, ONE), OP(gather, ONE, EACH), OP(gatherv, ONE, EACH), OP(scatter, EACH, ONE),
    OP(scatterv, EACH, ONE), OP(allgather, ONE, EACH), OP(allgatherv, ONE, EACH), OP(alltoall, EACH, EACH),
    OP(alltoallv, EACH, EACH), OP(reduce_scatter_block, EACH, ONE), OP(neighbor_allgather, ONE, TWO),
    OP(neighbor_alltoall, TWO, TWO), OP(ibarrier, ONE, ONE), OP(ibcast, ONE, ONE), OP(ireduce, ONE, ONE),
    OP(iallreduce, ONE, ONE), OP(igather, ONE, EACH), OP(iscatter, EACH, ONE), OP(iallgather, ONE, EACH),
    OP(ialltoall, EACH, EACH),
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static struct cell cells[MOST_POINTS];

/* Whether there is such an operation; the cell takes it. */
static int find_operation(struct cell *one, const char *name)
{
    for (int i = 0; i < ON_WINDOWS; i++)
        if (strcmp(on_windows[i].name, name) == 0) {
            one->operation = i, one->is_on_window = 1;
            return 1;
        }
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0) {
            one->operation = i;
            return 1;
        }
    return strcmp(name, LEFT_OUT) == 0;
}

static int read_cell(struct cell *one, const char *line)
{
    char name[32], touched[16], where[16], words[3][16];
    int length = 0;
    if (sscanf(line, "%31s %d %15s %15s %15s %n", name, &one->bytes, words[0], touched, words[1], &length) != 5
        || !find_operation(one, name))
        return 0;
    one->is_left_out = strcmp(name, LEFT_OUT) == 0;
    one->touched = number_of(touched_names, touched);
    if (one->is_left_out)
        return 1;
    if (!one->is_on_window) {
        one->buffers = number_of(buffers_names, words[0]);
        one->root = number_of(root_names, words[1]);
        return 1;
    }
    if (sscanf(line + length, "%15s %d %15s", words[2], &one->parts, where) != 3)
        return 0;
    one->kind = number_of(kind_names, words[0]);
    one->synchronisation = number_of(synchronisation_names, words[1]);
    one->layout = number_of(layout_names, words[2]);
    one->where = number_of(where_names, where);
    return one->parts >= 1 && one->parts <= MOST_PARTS;
}

static int read_cells(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    int count = 0;
    if (!file) {
        perror(path);
        exit(2);
    }
    for (; count < MOST_POINTS && fgets(line, sizeof line, file); count++) {
        if (!read_cell(&cells[count], line)) {
            fprintf(stderr, "sweep: what is the cell %s", line);
            exit(2);
        }
        snprintf(cells[count].name, sizeof cells[count].name, "%d", count);
    }
    fclose(file);
    return count;
}

static long total(int blocks)
{
    return (long)cell.bytes * (blocks == EACH ? ranks : blocks == TWO ? 2 : 1);
}

static void run_cell(char *out, char *in, int bytes)
{
    (void)out, (void)in, (void)bytes;
    operations[cell.operation].run();
}

static void measure(int number)
{
    cell = cells[number];
    if (cell.is_left_out) {
        wait_at_gate("ready\n");
        return;
    }
    if (cell.is_on_window) {
        measure_window(number);
        return;
    }
    fill_tables();
    make_blocks(total(operations[cell.operation].out), total(operations[cell.operation].in));
    show_time(cell.name, cell.bytes, seconds_for(number, run_cell, NULL, NULL, cell.bytes), 1);
    free_blocks();
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: sweep CELLS\n");
        return 2;
    }
    int count = read_cells(argv[1]);
    start(&argc, &argv);
    do
        for (int number = 0; number < count; number++)
            measure(number);
    while (wait_at_gate("round\n"));
    if (ring != MPI_COMM_NULL)
        MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
