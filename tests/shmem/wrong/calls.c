/* Wrong calls, one by one: `calls NAME`. Each prints "survived" if the program may go on, and checks that nothing was written. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long words[4] = {7, 7, 7, 7};
static long *heap;
static int me, npes;

static void survived(void)
{
    for (int i = 0; i < 4; i++)
        if (words[i] != 7 || heap[i] != 7)
            printf("something was written\n");
    printf("survived\n");
    fflush(stdout);
}

static void pe_that_is_not_there(void) { shmem_long_p(words, 1, npes); }
static void negative_pe(void) { shmem_long_put(words, heap, 1, -1); }
static void local_address(void) { long local[4]; shmem_long_put(local, heap, 4, 0); }
static void address_of_malloc(void) { shmem_long_g(malloc(8), 0); }
static void beyond_the_heap(void) { shmem_putmem(heap, words, (size_t)1 << 45, 0); }
static void null_address(void) { shmem_long_get(words, NULL, 1, 0); }
static void null_source(void) { shmem_long_put(heap, NULL, 1, 0); }
static void unaligned_atomic(void) { shmem_long_atomic_add((long *)((char *)words + 4), 1, 0); }
static void unaligned_wait(void) { shmem_long_wait_until((long *)((char *)words + 1), SHMEM_CMP_EQ, 1); }
static void wait_for_local_word(void) { long local = 0; shmem_long_wait_until(&local, SHMEM_CMP_EQ, 1); }
static void wrong_comparison(void) { shmem_long_wait_until(words, 17, 1); }
static void wrong_signal_operation(void) { static uint64_t s; shmem_long_put_signal(heap, words, 1, &s, 1, 9, 0); }
static void negative_stride(void) { shmem_long_iput(heap, words, -1, 1, 2, 0); }
static void overlapping_blocks(void) { shmem_long_ibput(heap, words, 1, 2, 2, 2, 0); }
static void wrong_context(void) { shmem_ctx_long_p((shmem_ctx_t)(uintptr_t)0x12345, heap, 1, 0); }
static void invalid_context(void) { shmem_ctx_long_p(SHMEM_CTX_INVALID, heap, 1, 0); }
static void destroyed_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_long_p(ctx, heap, 1, 0);
}
static void default_context_destroyed(void) { shmem_ctx_destroy(SHMEM_CTX_DEFAULT); }
static void free_of_a_variable(void) { shmem_free(words); }
static void free_twice(void) { void *block = shmem_malloc(8); shmem_free(block); shmem_free(block); }
static void different_sizes(void) { shmem_malloc(me == 0 ? 8 : 16); }
static void odd_alignment(void) { shmem_align(24, 8); }
static void lock_twice(void) { static long lock; shmem_set_lock(&lock); shmem_set_lock(&lock); }
static void unlock_of_a_free_lock(void) { static long lock; shmem_clear_lock(&lock); }
static void set_that_leaves_one_out(void) { static long work[1]; shmem_barrier(0, 5, 1, work); shmem_barrier(me + 1, 0, 1, work); }
static void wrong_level_of_threads(void) { int provided; shmem_init_thread(99, &provided); }

/* These give a value, and the program goes on. */
static void no_such_team(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 7, 3, NULL, 0, &team) == 0 || team != SHMEM_TEAM_INVALID)
        printf("a team of nobody\n");
    survived();
}
static void split_of_the_invalid_team(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    if (shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) == 0 || team != SHMEM_TEAM_INVALID)
        printf("a team of the invalid one\n");
    if (shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) == 0 || ctx != SHMEM_CTX_INVALID)
        printf("a context of the invalid team\n");
    if (shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) == 0 || team != SHMEM_TEAM_INVALID)
        printf("a team of the invalid context\n");
    survived();
}
static void wrong_root(void)
{
    if (shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, words, 1, npes) == 0)
        printf("a broadcast from nobody\n");
    survived();
}
static void too_much_memory(void)
{
    if (shmem_malloc((size_t)1 << 46) != NULL || shmem_malloc(SIZE_MAX) != NULL || shmem_align(4096, SIZE_MAX / 2) != NULL)
        printf("memory that is not there\n");
    char *block = shmem_malloc(100);
    block[99] = 1;
    shmem_free(block);
    survived();
}

/* Ends of the program. */
static void ends_with_status(void) { if (me == 0) shmem_global_exit(5); shmem_barrier_all(); }
static void ends_well(void) { printf("done\n"); if (me == 0) shmem_global_exit(0); shmem_barrier_all(); }
static void returns_without_finalize(void) { printf("done\n"); exit(0); }
static void fails_without_finalize(void) { if (me == 0) exit(3); shmem_barrier_all(); }

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(pe_that_is_not_there), CASE(negative_pe), CASE(local_address), CASE(address_of_malloc), CASE(beyond_the_heap),
    CASE(null_address), CASE(null_source), CASE(unaligned_atomic), CASE(unaligned_wait), CASE(wait_for_local_word),
    CASE(wrong_comparison), CASE(wrong_signal_operation), CASE(negative_stride), CASE(overlapping_blocks),
    CASE(wrong_context), CASE(invalid_context), CASE(destroyed_context), CASE(default_context_destroyed),
    CASE(free_of_a_variable), CASE(free_twice), CASE(different_sizes), CASE(odd_alignment), CASE(lock_twice),
    CASE(unlock_of_a_free_lock), CASE(set_that_leaves_one_out), CASE(wrong_level_of_threads), CASE(no_such_team),
    CASE(split_of_the_invalid_team), CASE(wrong_root), CASE(too_much_memory), CASE(ends_with_status), CASE(ends_well),
    CASE(returns_without_finalize), CASE(fails_without_finalize),
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "before_the_beginning") == 0)
        shmem_long_p(words, 1, 0);
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    heap = shmem_malloc(sizeof words);
    memcpy(heap, words, sizeof words);
    shmem_barrier_all();
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    shmem_finalize();
    if (argc > 1 && strcmp(argv[1], "after_the_end") == 0)
        shmem_long_p(words, 1, 0);
    return 0;
}
