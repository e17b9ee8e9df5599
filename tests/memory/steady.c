/* Allreduces of 1 MiB on MPI_COMM_WORLD, in rounds: steady ROUNDS EACH. Before each round and after the last one every
 * rank asks for a file of the name MARK, so that who traces system calls can tell the rounds apart.
 * With a third argument it says of each round: rank, how often it slept, how often somebody else took its core, and for
 * how many microseconds it was ready to run without a core.
 * The buffers are ordinary memory of malloc, sent often enough before the first round to be mapped. */
#include "../c/counter.h"
#include <sys/resource.h>
#include <unistd.h>

static const char MARK[] = "a round begins or ends";
enum { ITEMS = (1 << 20) / sizeof(double), WARM = 40 };

struct seen {
    long long sleeps, taken, ready;
};

static long long sleeps(void)
{
    return (long long)counter("sleeps", MPI_T_PVAR_CLASS_COUNTER);
}

static struct seen look(void)
{
    struct rusage usage;
    struct seen seen = {sleeps(), 0, 0};
    getrusage(RUSAGE_SELF, &usage);
    seen.taken = usage.ru_nivcsw;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file && fscanf(file, "%*d %lld", &seen.ready) != 1)
        seen.ready = 0;
    if (file)
        fclose(file);
    return seen;
}

static void tell(struct seen before)
{
    struct seen now = look();
    printf("%d %lld %lld %lld\n", rank, now.sleeps - before.sleeps, now.taken - before.taken,
           (now.ready - before.ready) / 1000);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 1, each = argc > 2 ? atoi(argv[2]) : 1;
    double *mine = malloc(ITEMS * sizeof *mine), *sum = malloc(ITEMS * sizeof *sum);
    for (int at = 0; at < ITEMS; at++)
        mine[at] = rank + at;
    for (int round = -1; round < rounds; round++) {
        struct seen before = {0, 0, 0};
        if (argc > 3)
            before = look();
        if (round >= 0)
            access(MARK, F_OK);
        for (int turn = 0; turn < (round < 0 ? WARM : each); turn++)
            MPI_Allreduce(mine, sum, ITEMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (argc > 3 && round >= 0)
            tell(before);
    }
    access(MARK, F_OK);
    for (int at = 0; at < ITEMS; at += 1001)
        CHECK_EQUAL(sum[at], size * (size - 1) / 2.0 + (double)size * at);
    free(mine);
    free(sum);
    return check_end();
}
