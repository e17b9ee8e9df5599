/* pes: 1 2 4 */
/* The symmetric heap: blocks at corresponding places, aligned, grown, given back, zeroed; more than one would guess. */
#include "check.h"

/* Whether a block is at corresponding places: what each PE writes into that of the next is there. */
static void is_symmetric(char *block, size_t bytes)
{
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    char first = (char)(10 + me), last = (char)(60 + me);
    shmem_barrier_all();
    shmem_char_p(block, first, next);
    shmem_char_p(block + bytes - 1, bytes > 1 ? last : first, next);
    shmem_barrier_all();
    CHECK_EQUAL(block[0], 10 + before);
    CHECK_EQUAL(block[bytes - 1], bytes > 1 ? 60 + before : 10 + before);
    shmem_barrier_all();
}

static void kinds(void)
{
    CHECK(shmem_malloc(0) == NULL);
    CHECK(shmem_calloc(0, 8) == NULL);
    CHECK(shmem_calloc((size_t)1 << 33, ((size_t)1 << 31) + 1) == NULL);
    CHECK(shmem_align(64, 0) == NULL);
    shmem_free(NULL);
    char *small = shmem_malloc(1), *other = shmem_malloc(100);
    CHECK(small != NULL && other != NULL && other != small);
    is_symmetric(small, 1);
    is_symmetric(other, 100);
    for (size_t alignment = sizeof(void *); alignment <= 1 << 26; alignment *= 2) {
        char *aligned = shmem_align(alignment, 24);
        CHECK((uintptr_t)aligned % alignment == 0);
        is_symmetric(aligned, 24);
        shmem_free(aligned);
    }
    long *zeroed = shmem_calloc(1000, sizeof *zeroed);
    for (int i = 0; i < 1000; i++)
        if (zeroed[i]) {
            CHECK_EQUAL(zeroed[i], 0);
            break;
        }
    char *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    is_symmetric(hinted, 64);
    char *old = shmalloc(10), *aligned = shmemalign(128, 10);
    CHECK((uintptr_t)aligned % 128 == 0);
    old = shrealloc(old, 3000);
    is_symmetric(old, 3000);
    shfree(old);
    shfree(aligned);
    shmem_free(hinted);
    shmem_free(zeroed);
    shmem_free(other);
    shmem_free(small);
}

static void growing(void)
{
    char *block = shmem_realloc(NULL, 10);
    for (int i = 0; i < 10; i++)
        block[i] = (char)i;
    char *wall = shmem_malloc(10);
    block = shmem_realloc(block, 100000);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(block[i], i);
    is_symmetric(block, 100000);
    block = shmem_realloc(block, 5);
    is_symmetric(block, 5);
    shmem_free(wall);
    CHECK(shmem_realloc(block, 0) == NULL);
}

/* Far more than is used: only what is written costs memory. */
static void large(void)
{
    size_t bytes = (size_t)3 << 30;
    char *blocks[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = shmem_malloc(bytes >> i);
        CHECK(blocks[i] != NULL);
        if (blocks[i])
            is_symmetric(blocks[i], bytes >> i);
    }
    for (int i = 0; i < 3; i++)
        shmem_free(blocks[i]);
    char *again = shmem_malloc(bytes);
    CHECK(again != NULL);
    shmem_free(again);
}

static void many(void)
{
    enum { BLOCKS = 200 };
    static char *blocks[BLOCKS];
    unsigned state = 1;
    for (int round = 0; round < 1000; round++) {
        state = state * 1103515245 + 12345;
        unsigned slot = (state >> 8) % BLOCKS;
        if (blocks[slot]) {
            shmem_free(blocks[slot]);
            blocks[slot] = NULL;
        } else {
            size_t bytes = 1 + (state >> 10) % 5000;
            blocks[slot] = shmem_malloc(bytes);
            memset(blocks[slot], (int)slot, bytes);
        }
    }
    for (int slot = 0; slot < BLOCKS; slot++)
        if (blocks[slot]) {
            CHECK_EQUAL(blocks[slot][0], (char)slot);
            is_symmetric(blocks[slot], 1);
            shmem_free(blocks[slot]);
        }
}

int main(void)
{
    check_begin();
    kinds();
    growing();
    many();
    large();
    return check_end();
}
