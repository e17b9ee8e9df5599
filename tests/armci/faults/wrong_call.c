/* Makes one wrong call of ARMCI, which has the number of the argument; test_wrong_calls.py says what is told. */
#include <armci.h>
#include <armcix.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    if (which == 0)
        ARMCI_Barrier(); /* before ARMCI_Init */
    ARMCI_Init();
    int me = armci_msg_me(), one = 1, count[9] = {8, 2, 2, 2, 2, 2, 2, 2, 2}, by[8] = {16, 32, 64, 128, 256, 512, 1024, 2048};
    void *base[2], *null = NULL;
    char data[64] = "";
    double scale = 2;
    ARMCI_Malloc(base, 100);
    char *there = base[1 - me], *mine = base[me];
    void *pieces[2] = {data, data + 8}, *places[2] = {there, there + 96};
    armci_giov_t vector = {pieces, places, 8, 2}, wrong = {pieces, NULL, 8, 2};
    ARMCI_Group group, none = {.comm = MPI_COMM_NULL};
    ARMCI_Group_get_world(&group);
    armcix_mutex_hdl_t no_set = NULL;
    int pids[2] = {0, 5}, twice[2] = {1, 1}, other = 1 - me;
    if (me == 1 && which != 28 && which != 29) {
        ARMCI_Barrier();
        MPI_Finalize();
        return 0;
    }
    switch (which) {
    case 1: ARMCI_Put(data, there + 97, 4, other); break;
    case 2: ARMCI_Put(data, there, 8, 2); break;
    case 3: ARMCI_Put(data, there, 8, -1); break;
    case 4: ARMCI_Put(NULL, there, 8, other); break;
    case 5: ARMCI_Put(data, NULL, 8, other); break;
    case 6: ARMCI_Put(data, data, 8, other); break;
    case 7: ARMCI_Get(there, data, -1, other); break;
    case 8: ARMCI_Get(there - 1, data, 8, other); break;
    case 9: ARMCI_Acc(6, &scale, data, there, 8, other); break;
    case 10: ARMCI_Acc(ARMCI_ACC_DBL, NULL, data, there, 8, other); break;
    case 11: ARMCI_Acc(ARMCI_ACC_DBL, &scale, data, there, 12, other); break;
    case 12: ARMCI_PutS(data, by, there, by, count, 9, other); break;
    case 13: ARMCI_PutS(data, by, there, by, NULL, 1, other); break;
    case 14: ARMCI_PutS(data, NULL, there, by, count, 1, other); break;
    case 15: count[1] = -2; ARMCI_GetS(there, by, data, by, count, 1, other); break;
    case 16: count[1] = 8; ARMCI_PutS(data, by, there, by, count, 1, other); break;
    case 17: ARMCI_PutV(&vector, 1, other); break;
    case 18: ARMCI_PutV(&wrong, 1, other); break;
    case 19: ARMCI_AccV(ARMCI_ACC_DBL, &scale, NULL, 1, other); break;
    case 20: ARMCI_Rmw(4, &one, there, 1, other); break;
    case 21: ARMCI_Rmw(ARMCI_SWAP, null, there, 1, other); break;
    case 22: ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, data, there + 96, 1, other); break;
    case 23: ARMCI_Fence(7); break;
    case 24: ARMCI_Lock(0, 0); break;
    case 25: ARMCIX_Lock_hdl(no_set, 0, 0); break;
    case 26: ARMCI_Wait(NULL); break;
    case 27: ARMCI_Malloc(NULL, 8); break;
    case 28: ARMCI_Free(me == 0 ? (void *)(mine + 8) : mine); break;
    case 29: ARMCI_Malloc(base, me == 0 ? -8 : 8); break;
    case 30: ARMCI_Free_group(mine, &none); break;
    case 31: ARMCI_Group_create(2, pids, &none); break;
    case 32: ARMCI_Group_create(2, twice, &none); break;
    case 33: ARMCI_Absolute_id(&group, 2); break;
    case 34: ARMCI_Group_free(&group); break;
    case 35: armci_msg_igop(&one, 1, "xor"); break;
    case 36: armci_msg_gop_scope(3, &one, 1, "+", ARMCI_INT); break;
    case 37: armci_msg_snd(-1, data, 8, other); break;
    case 38: armci_msg_snd(1, data, 8, 3); break;
    case 39: armci_msg_sel(&scale, 4, "max", ARMCI_DOUBLE, 1); break;
    case 40: armci_domain_id(ARMCI_DOMAIN_SMP, 9); break;
    case 41: ARMCI_Error("the sky falls", 7); break;
    case 42: armci_msg_snd(2147483647, data, 8, other); break;
    case 43: ARMCI_Group_create(-1, pids, &none); break;
    case 44: armci_notify(2); break;
    default: fprintf(stderr, "there is no such case\n"); exit(99);
    }
    fprintf(stderr, "the call went well\n");
    exit(98);
}
