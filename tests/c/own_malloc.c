/* ranks: 1 2
 * A program with a malloc of its own, as with an allocator linked in: all of the process uses it, our library too. A
 * block that comes from anywhere else, or goes anywhere else, is noticed. */
#include "check.h"
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define MARK 0x5e881ed5e881ed00

typedef struct {
    uint64_t mark, bytes;
} header;

static _Alignas(4096) char memory[96 << 20];
static size_t used;

/* Blocks are cut off one after the other and never used again. */
static void *cut(size_t alignment, size_t bytes)
{
    size_t room = alignment + sizeof(header) + bytes + 16;
    size_t at = __atomic_fetch_add(&used, (room + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    if (bytes > sizeof memory || at + room > sizeof memory) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t block = ((uintptr_t)memory + at + sizeof(header) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((header *)block)[-1] = (header){MARK, bytes};
    return (void *)block;
}

static header *header_of(void *block)
{
    header *found = (header *)block - 1;
    if ((char *)block < memory || (char *)block >= memory + sizeof memory || found->mark != MARK) {
        static const char words[] = "a block that is not of this malloc was freed\n";
        if (write(2, words, sizeof words - 1))
            abort();
        abort();
    }
    return found;
}

void *malloc(size_t bytes) { return cut(16, bytes); }
void *memalign(size_t alignment, size_t bytes) { return cut(alignment < 16 ? 16 : alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
size_t malloc_usable_size(void *block) { return block ? header_of(block)->bytes : 0; }

void *calloc(size_t count, size_t bytes)
{
    return bytes && count > sizeof memory / bytes ? NULL : malloc(count * bytes); /* never used before, so zero */
}

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    *place = memalign(alignment, bytes);
    return *place ? 0 : ENOMEM;
}

void free(void *block)
{
    if (block)
        header_of(block)->mark = 0;
}

void *realloc(void *block, size_t bytes)
{
    void *other = malloc(bytes);
    if (block && other) {
        size_t old = header_of(block)->bytes;
        memcpy(other, block, old < bytes ? old : bytes);
        free(block);
    }
    return other;
}

int main(int argc, char **argv)
{
    size_t before = used;
    check_begin(&argc, &argv);
    CHECK(used > before); /* the library asks here, too */
    int bytes = 300000, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int round = 0; round < 12; round++) {
        char *out = malloc(bytes), *in;
        CHECK(header_of(out)->bytes == (size_t)bytes);
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &in);
        fill(out, bytes, round + rank);
        MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_FILLED(in, bytes, round + left);
        MPI_Comm other;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Allreduce(MPI_IN_PLACE, out, bytes / 8, MPI_LONG, MPI_BOR, other);
        MPI_Comm_free(&other);
        MPI_Free_mem(in);
        free(out);
    }
    return check_end();
}
