/* pes: 1 2 3 4 5 */
/* Teams: strided with steps of all signs, rows and columns, translation; contexts of teams; sessions. */
#include "check.h"

static void world_and_shared(void)
{
    CHECK_EQUAL(shmem_team_my_pe(SHMEM_TEAM_WORLD), me);
    CHECK_EQUAL(shmem_team_n_pes(SHMEM_TEAM_WORLD), npes);
    CHECK_EQUAL(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
    CHECK_EQUAL(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
    int near = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    CHECK(near >= 1 && near <= npes);
    int mine = shmem_team_my_pe(SHMEM_TEAM_SHARED);
    CHECK_EQUAL(shmem_team_translate_pe(SHMEM_TEAM_SHARED, mine, SHMEM_TEAM_WORLD), me);
    CHECK_EQUAL(shmem_team_translate_pe(SHMEM_TEAM_WORLD, npes, SHMEM_TEAM_WORLD), -1);
    CHECK_EQUAL(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
    long *word = shmem_malloc(sizeof *word);
    for (int pe = 0; pe < near; pe++) {
        int in_world = shmem_team_translate_pe(SHMEM_TEAM_SHARED, pe, SHMEM_TEAM_WORLD);
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, word, pe) == shmem_ptr(word, in_world));
        CHECK(shmem_ptr(word, in_world) != NULL);
    }
    /* Who is in it, is in the team of the others too: all of them, or each PE alone. */
    long *sizes = shmem_malloc((npes + 1) * sizeof *sizes), *size = sizes + npes;
    *size = near;
    CHECK_EQUAL(shmem_long_fcollect(SHMEM_TEAM_WORLD, sizes, size, 1), 0);
    for (int pe = 0; pe < npes; pe++)
        if (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0)
            CHECK_EQUAL(sizes[pe], near);
    shmem_free(sizes);
    shmem_free(word);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    shmem_team_sync(SHMEM_TEAM_SHARED);
}

/* A team of `size` members from `start` on; its members send each other what they are. */
static void strided(int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {2}, got = {0};
    CHECK_EQUAL(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, &config, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
    int mine = -1;
    for (int i = 0; i < size; i++)
        if (start + i * stride == me)
            mine = i;
    if (mine < 0) {
        CHECK(team == SHMEM_TEAM_INVALID);
        return;
    }
    CHECK(team != SHMEM_TEAM_INVALID);
    CHECK_EQUAL(shmem_team_my_pe(team), mine);
    CHECK_EQUAL(shmem_team_n_pes(team), size);
    CHECK_EQUAL(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQUAL(got.num_contexts, 2);
    CHECK_EQUAL(shmem_team_get_config(team, 0, NULL), 0);
    for (int i = 0; i < size; i++) {
        CHECK_EQUAL(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD), start + i * stride);
        CHECK_EQUAL(shmem_team_translate_pe(SHMEM_TEAM_WORLD, start + i * stride, team), i);
    }
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL(shmem_team_sync(team), 0);
    shmem_team_destroy(team);
}

/* Contexts name PEs of their team. */
static void contexts(int *word)
{
    shmem_team_t team, of;
    shmem_ctx_t ctx, in_team;
    CHECK_EQUAL(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &team), 0);
    CHECK_EQUAL(shmem_ctx_create(SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &ctx), 0);
    CHECK_EQUAL(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &in_team), 0);
    CHECK_EQUAL(shmem_ctx_get_team(ctx, &of), 0);
    CHECK(of == SHMEM_TEAM_WORLD);
    CHECK_EQUAL(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of), 0);
    CHECK(of == SHMEM_TEAM_WORLD);
    CHECK_EQUAL(shmem_ctx_get_team(in_team, &of), 0);
    CHECK(of == team);
    shmem_ctx_session_config_t config = {100};
    shmem_ctx_session_start(in_team, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_barrier_all();
    /* PE 0 of the team is the last one */
    shmem_ctx_int_atomic_add(in_team, word, 1, 0);
    shmem_ctx_int_p(in_team, word + 1, me, npes - 1 - me);
    shmem_ctx_fence(in_team);
    shmem_ctx_quiet(in_team);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    int pes[] = {0, npes - 1};
    shmem_pe_quiet(pes, 2);
    shmem_ctx_pe_quiet(in_team, pes, 2);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_session_stop(in_team);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_barrier_all();
    if (me == npes - 1)
        CHECK_EQUAL(word[0], npes);
    CHECK_EQUAL(word[1], me);
    shmem_ctx_destroy(in_team);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_team_destroy(team);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

static void rows_and_columns(int width)
{
    shmem_team_t row, column;
    CHECK_EQUAL(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column), 0);
    int in_row = width > npes ? npes : width;
    CHECK_EQUAL(shmem_team_my_pe(row), me % in_row);
    CHECK_EQUAL(shmem_team_my_pe(column), me / in_row);
    CHECK_EQUAL(shmem_team_translate_pe(row, 0, SHMEM_TEAM_WORLD), me - me % in_row);
    CHECK_EQUAL(shmem_team_translate_pe(column, 0, SHMEM_TEAM_WORLD), me % in_row);
    int left = npes - (me - me % in_row);
    CHECK_EQUAL(shmem_team_n_pes(row), left < in_row ? left : in_row);
    CHECK_EQUAL(shmem_team_n_pes(column), (npes - 1 - me % in_row) / in_row + 1);
    /* teams of teams */
    shmem_team_t first;
    CHECK_EQUAL(shmem_team_split_strided(row, 0, 1, 1, NULL, 0, &first), 0);
    CHECK((first != SHMEM_TEAM_INVALID) == (shmem_team_my_pe(row) == 0));
    shmem_team_destroy(first);
    shmem_team_sync(column);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

int main(void)
{
    check_begin();
    world_and_shared();
    strided(0, 1, npes);
    strided(0, 1, 1);
    strided(npes - 1, 0, 1);
    strided(0, 2, (npes + 1) / 2);
    strided(npes - 1, -1, npes);
    strided(npes - 1, -2, (npes + 1) / 2);
    int *word = shmem_calloc(2, sizeof *word);
    contexts(word);
    for (int width = 1; width <= npes + 1; width++)
        rows_and_columns(width);
    for (int i = 0; i < 200; i++) {
        shmem_team_t team;
        CHECK_EQUAL(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team), 0);
        shmem_team_destroy(team);
    }
    shmem_free(word);
    return check_end();
}
