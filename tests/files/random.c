/* random FOLDER SEED OPERATIONS: random operations on a file, compared with a model that every rank keeps.
 *
 * One to three handles of the file are open, of all ranks, of these in another order, or of each alone, with views, hints and
 * modes of their own, which are closed and opened again. What one has written, all read at once. At the end every rank compares
 * the whole file. */
#include "random.h"

int rank, size;
unsigned char model[MOST], memory[ROOM];
long end, operation;
char path[4096];
static uint64_t dice, dice_of_mine;
static struct handle handles[HANDLES];
static int open_handles;

static long throw_one(uint64_t *of, long limit)
{
    *of = *of * 6364136223846793005u + 1442695040888963407u;
    return (long)((*of >> 33) % (uint64_t)limit);
}

long below(long limit) { return throw_one(&dice, limit); }

long below_of_mine(long limit) { return throw_one(&dice_of_mine, limit); }

void wrong(const char *what, long found, long wanted)
{
    fprintf(stderr, "rank %d, operation %ld: %s is %ld, not %ld\n", rank, operation, what, found, wanted);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

void must(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d, operation %ld: %s: %s\n", rank, operation, what, text);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

unsigned char value(int who, long place) { return (unsigned char)(operation * 31 + who * 67 + place * 7 + 1); }

/* Opens, closes, or opens anew. */
static void reopen(void)
{
    int place = (int)below(HANDLES);
    if (place < open_handles) {
        close_handle(&handles[place]);
        handles[place] = handles[open_handles - 1];
        open_handles--;
    }
    if (open_handles == 0 || below(3))
        open_handle(&handles[open_handles++], 0);
}

static void other(struct handle *h)
{
    MPI_Offset found;
    long new_size = below(end + 1000);
    switch (below(8)) {
    case 0:
        if (!h->writes)
            break;
        MUST(MPI_File_set_size(h->file, new_size));
        if (new_size < end)
            memset(model + new_size, 0, end - new_size);
        end = new_size;
        break;
    case 1:
        if (!h->writes)
            break;
        MUST(MPI_File_preallocate(h->file, new_size));
        end = new_size > end ? new_size : end;
        break;
    case 2: reopen(); break;
    case 3:
    case 4: look_at_pointers(h); break;
    case 5:
        if (h->writes && below(10) == 0) /* slow on a disk */
            MUST(MPI_File_sync(h->file));
        break;
    default: deal_view(h);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_size(handles[0].file, &found));
    if (found != end)
        wrong("the size", found, end);
}

static void operate(void)
{
    struct handle *h = &handles[below(open_handles)];
    long way = below(24);
    if (way < 2)
        other(h);
    else if (way < 4 && can_contend(h))
        overlap(h);
    else if (way < 6 && can_contend(h))
        contend_for_the_pointer(h);
    else if (way < 10)
        several_at_once(h);
    else
        transfer(h);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void compare_all(void)
{
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (long at = 0; at < end; at += LARGE) {
        MPI_Status status;
        int moved, wanted = (int)(end - at < LARGE ? end - at : LARGE);
        MUST(MPI_File_read_at(file, at, memory, LARGE, MPI_BYTE, &status));
        MPI_Get_count(&status, MPI_BYTE, &moved);
        if (moved != wanted || memcmp(memory, model + at, wanted))
            wrong("the file from here on", moved, at);
    }
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 || size > RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/random-%s-%d", argv[1], argv[2], size);
    dice = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    dice_of_mine = dice + 1000003 * (uint64_t)rank;
    long operations = atol(argv[3]);
    open_handle(&handles[open_handles++], 1);
    for (; operation < operations; operation++)
        operate();
    for (; open_handles > 0; open_handles--)
        close_handle(&handles[open_handles - 1]);
    compare_all();
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL), printf("%ld operations of %d ranks: nothing differs\n", operations, size);
    MPI_Finalize();
    return 0;
}
