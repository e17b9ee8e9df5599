/* Patterns, the calls that are under way, and the report at the end. */
#include "checker.h"

#define MOST_UNDER_WAY 4096

static long checked_calls, checked_bytes, defects;

int rank_in(MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

int size_of(MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

/* ---- patterns ---- */

static byte pattern(int source, int target, long offset)
{
    return (byte)(1 + (source * 31 + target * 17 + offset * 7 + (offset >> 8)) % 251);
}

void fill(void *buffer, long bytes, int source, int target)
{
    byte *all = view(buffer, bytes);
    for (long i = 0; i < bytes; i++)
        all[i] = pattern(source, target, i);
    end_view(buffer, all, bytes, 1);
}

void poison(void *buffer, long bytes)
{
    byte *all = view(buffer, bytes);
    memset(all, 0, bytes);
    end_view(buffer, all, bytes, 1);
}

static void report(const char *call, long offset, int expected, int found)
{
    if (defects++ == 0)
        fprintf(stderr, "imb-check: DEFECT in %s: at offset %ld, expected %d, found %d\n", call, offset, expected,
                found);
}

void check(const char *name, const void *buffer, long bytes, int source, int target)
{
    check_from(name, buffer, bytes, source, target, 0);
}

void check_from(const char *name, const void *buffer, long bytes, int source, int target, long place)
{
    byte *all = view(buffer, bytes);
    if (bytes > 0 && checked_bytes == 0 && getenv("IMB_CHECK_PLANT"))
        all[0] ^= 1;
    for (long i = 0; i < bytes; i++)
        if (all[i] != pattern(source, target, place + i)) {
            report(name, i, pattern(source, target, place + i), all[i]);
            break;
        }
    end_view(buffer, all, bytes, 0);
    checked_calls++;
    checked_bytes += bytes;
}

static float term(int rank, long index)
{
    return (float)(rank + index % 13 + 1);
}

void fill_terms(void *buffer, long count, int rank)
{
    byte *all = view(buffer, count * (long)sizeof(float));
    for (long i = 0; i < count; i++)
        ((float *)all)[i] = term(rank, i);
    end_view(buffer, all, count * (long)sizeof(float), 1);
}

void check_sum(const char *name, const void *buffer, long count, int ranks, long first)
{
    byte *all = view(buffer, count * (long)sizeof(float));
    for (long i = 0; i < count; i++) {
        float expected = 0;
        for (int rank = 0; rank < ranks; rank++)
            expected += term(rank, first + i);
        if (((const float *)all)[i] != expected) {
            report(name, first + i, (int)expected, (int)((const float *)all)[i]);
            break;
        }
    }
    end_view(buffer, all, count * (long)sizeof(float), 0);
    checked_calls++;
    checked_bytes += count * (long)sizeof(float);
}

/* ---- calls under way ---- */

static struct {
    MPI_Request request;
    struct call call;
} under_way[MOST_UNDER_WAY];
static int calls_under_way;

void check_later(MPI_Request request, const struct call *call)
{
    if (calls_under_way == MOST_UNDER_WAY) {
        fprintf(stderr, "imb-check: DEFECT in the checker: too many calls under way\n");
        defects++;
        return;
    }
    under_way[calls_under_way].request = request;
    under_way[calls_under_way++].call = *call;
}

int under_way_into(const void *buffer)
{
    int found = 0;
    for (int i = 0; i < calls_under_way; i++)
        found += under_way[i].call.in == buffer;
    return found;
}

static void completed(MPI_Request request, const MPI_Status *status)
{
    for (int i = 0; i < calls_under_way; i++)
        if (under_way[i].request == request) {
            struct call call = under_way[i].call;
            under_way[i] = under_way[--calls_under_way];
            call.check(&call, status);
            return;
        }
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    MPI_Request asked = *request;
    int code = PMPI_Wait(request, used);
    completed(asked, used);
    return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? malloc((count + 1) * sizeof *used) : statuses;
    MPI_Request *asked = malloc((count + 1) * sizeof *asked);
    memcpy(asked, requests, count * sizeof *asked);
    int code = PMPI_Waitall(count, requests, used);
    for (int i = 0; i < count; i++)
        completed(asked[i], &used[i]);
    free(asked);
    if (used != statuses)
        free(used);
    return code;
}

int MPI_Finalize(void)
{
    int rank = rank_in(MPI_COMM_WORLD);
    if (calls_under_way)
        fprintf(stderr, "imb-check: DEFECT: %d calls never completed\n", calls_under_way);
    fprintf(stderr, "imb-check: rank %d: %ld calls, %ld bytes, %ld defects\n", rank, checked_calls, checked_bytes,
            defects + calls_under_way);
    return PMPI_Finalize();
}
