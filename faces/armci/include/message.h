/* ARMCI's messages and operations of all ranks. */
#ifndef SERRIED_ARMCI_MESSAGE_H
#define SERRIED_ARMCI_MESSAGE_H

#include <armci.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who takes part: all ranks; those of the own domain; the lowest rank of each domain. */
enum armci_scope_e { SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS };

/* Types of elements. */
enum armci_type_e { ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, ARMCI_FLOAT, ARMCI_DOUBLE };

int armci_msg_me(void);
int armci_msg_nproc(void);
void armci_msg_abort(int code);
double armci_timer(void);

void armci_msg_snd(int tag, void *buffer, int len, int to);
void armci_msg_rcv(int tag, void *buffer, int buflen, int *msglen, int from);
int armci_msg_rcvany(int tag, void *buffer, int buflen, int *msglen);

void armci_msg_barrier(void);
void armci_msg_group_barrier(ARMCI_Group *group);
void armci_msg_bintree(int scope, int *root, int *up, int *left, int *right);

void armci_msg_bcast(void *buffer, int len, int root);
void armci_msg_bcast_scope(int scope, void *buffer, int len, int root);
void armci_msg_brdcst(void *buffer, int len, int root);
void armci_msg_group_bcast_scope(int scope, void *buffer, int len, int root, ARMCI_Group *group); /* root: absolute */

/* All get the bytes of the rank that contributes the highest ("max") or lowest ("min") value; it is at their beginning. */
void armci_msg_sel(void *x, int n, char *op, int type, int contribute);
void armci_msg_sel_scope(int scope, void *x, int n, char *op, int type, int contribute);

/* Operations: + * max min absmax absmin or && land || lor & band | bor. In place; reductions are for rank 0. */
void armci_msg_reduce(void *x, int n, char *op, int type);
void armci_msg_reduce_scope(int scope, void *x, int n, char *op, int type);
void armci_msg_gop_scope(int scope, void *x, int n, char *op, int type);
void armci_msg_igop(int *x, int n, char *op);
void armci_msg_lgop(long *x, int n, char *op);
void armci_msg_llgop(long long *x, int n, char *op);
void armci_msg_fgop(float *x, int n, char *op);
void armci_msg_dgop(double *x, int n, char *op);
void armci_msg_group_gop_scope(int scope, void *x, int n, char *op, int type, ARMCI_Group *group);
void armci_msg_group_igop(int *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_lgop(long *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_llgop(long long *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_fgop(float *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_dgop(double *x, int n, char *op, ARMCI_Group *group);

/* A notification: what the rank has put before is there when proc has waited for it. They return how many there were. */
int armci_notify(int proc);
int armci_notify_wait(int proc, int *pval); /* waits for the next one of proc; pval: as the result */
int parmci_notify(int proc);
int parmci_notify_wait(int proc, int *pval);

/* MPI begins and ends, unless the program has done that. */
static inline void armci_msg_init(int *argc, char ***argv)
{
    int begun = 0;
    MPI_Initialized(&begun);
    if (!begun)
        MPI_Init(argc, argv);
}

static inline void armci_msg_finalize(void)
{
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended)
        MPI_Finalize();
}

#ifdef __cplusplus
}
#endif

#endif
