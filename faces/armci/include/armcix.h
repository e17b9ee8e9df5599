/* What ARMCI-MPI has beside ARMCI: more ways to make groups, sets of mutexes, progress. */
#ifndef SERRIED_ARMCIX_H
#define SERRIED_ARMCIX_H

#include <armci.h>

#ifdef __cplusplus
extern "C" {
#endif

int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *new_group);
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *new_group);

/* A set of mutexes of a group; ranks are those of the group. */
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc); /* 0: it is held now */
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/* Lets things go on, and waits for nothing. */
void ARMCIX_Progress(void);

#ifdef __cplusplus
}
#endif

#endif
