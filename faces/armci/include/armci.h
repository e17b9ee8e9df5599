/* ARMCI: remote memory copies, accumulates and atomics. The binary interface is that of ARMCI-MPI, against which Global
 * Arrays of Debian is compiled. PARMCI_… are the functions that have the work, so that a tool can take over ARMCI_…. */
#ifndef SERRIED_ARMCI_H
#define SERRIED_ARMCI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of accumulates. */
enum ARMCI_Acc_e {
    ARMCI_ACC_INT, /* int */
    ARMCI_ACC_LNG, /* long */
    ARMCI_ACC_FLT, /* float */
    ARMCI_ACC_DBL, /* double */
    ARMCI_ACC_CPL, /* two floats */
    ARMCI_ACC_DCP  /* two doubles */
};

/* Operations of ARMCI_Rmw. */
enum ARMCI_Rmw_e { ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP, ARMCI_SWAP_LONG };

typedef long armci_size_t;
#define ARMCII_MPI_SIZE_T MPI_LONG

/* A handle of nonblocking operations; zeros are an idle one. */
typedef struct armci_hdl_s {
    int target;
    int aggregate;
} armci_hdl_t;

/* Pieces of one length: piece i goes from src_ptr_array[i] to dst_ptr_array[i]. */
typedef struct {
    void **src_ptr_array;
    void **dst_ptr_array;
    int bytes;
    int ptr_array_len;
} armci_giov_t;

/* A group of ranks. Programs may copy it, read its communicator, and nothing else. */
typedef struct {
    MPI_Comm comm;
    MPI_Comm noncoll_pgroup_comm;
    int *grp_to_abs;
    int *abs_to_grp;
    int rank;
    int size;
} ARMCI_Group;

/* Domains: ranks that reach each other's memory by loads and stores. */
enum armci_domain_e { ARMCI_DOMAIN_SMP };
typedef int armci_domain_t;

/* Each of these functions has a twin PARMCI_…. */
#define SERRIED_ARMCI_TWINS(P)                                                                                         \
    int P##ARMCI_Init(void);                                                                                           \
    int P##ARMCI_Init_args(int *argc, char ***argv);                                                                   \
    int P##ARMCI_Init_thread(int armci_requested);                                                                     \
    int P##ARMCI_Init_thread_comm(int armci_requested, MPI_Comm comm);                                                 \
    int P##ARMCI_Init_mpi_comm(MPI_Comm comm); /* not 0 is success */                                                  \
    int P##ARMCI_Initialized(void);                                                                                    \
    int P##ARMCI_Finalize(void);                                                                                       \
    int P##ARMCI_Malloc(void **base_ptrs, armci_size_t size);                                                          \
    int P##ARMCI_Free(void *ptr);                                                                                      \
    int P##ARMCI_Malloc_memdev(void **base_ptrs, armci_size_t size, const char *device);                               \
    int P##ARMCI_Malloc_group_memdev(void **base_ptrs, armci_size_t size, ARMCI_Group *group, const char *device);     \
    int P##ARMCI_Free_memdev(void *ptr);                                                                               \
    void *P##ARMCI_Malloc_local(armci_size_t size);                                                                    \
    int P##ARMCI_Free_local(void *ptr);                                                                                \
    void P##ARMCI_Barrier(void);                                                                                       \
    void P##ARMCI_Fence(int proc);                                                                                     \
    void P##ARMCI_AllFence(void);                                                                                      \
    void P##ARMCI_Access_begin(void *ptr);                                                                             \
    void P##ARMCI_Access_end(void *ptr);                                                                               \
    int P##ARMCI_Put(void *src, void *dst, int bytes, int proc);                                                       \
    int P##ARMCI_Get(void *src, void *dst, int bytes, int proc);                                                       \
    int P##ARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);                            \
    int P##ARMCI_PutS(void *src, int src_stride_ar[], void *dst, int dst_stride_ar[], int count[], int stride_levels,  \
                      int proc);                                                                                       \
    int P##ARMCI_GetS(void *src, int src_stride_ar[], void *dst, int dst_stride_ar[], int count[], int stride_levels,  \
                      int proc);                                                                                       \
    int P##ARMCI_AccS(int datatype, void *scale, void *src, int src_stride_ar[], void *dst, int dst_stride_ar[],       \
                      int count[], int stride_levels, int proc);                                                       \
    int P##ARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);                                                       \
    int P##ARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);                                                       \
    int P##ARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);                            \
    int P##ARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc);                            \
    int P##ARMCI_PutS_flag(void *src, int src_stride_ar[], void *dst, int dst_stride_ar[], int count[],                \
                           int stride_levels, int *flag, int value, int proc);                                         \
    int P##ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *handle);                                \
    int P##ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *handle);                                \
    int P##ARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *handle);     \
    int P##ARMCI_NbPutS(void *src, int src_stride_ar[], void *dst, int dst_stride_ar[], int count[],                   \
                        int stride_levels, int proc, armci_hdl_t *handle);                                             \
    int P##ARMCI_NbGetS(void *src, int src_stride_ar[], void *dst, int dst_stride_ar[], int count[],                   \
                        int stride_levels, int proc, armci_hdl_t *handle);                                             \
    int P##ARMCI_NbAccS(int datatype, void *scale, void *src, int src_stride_ar[], void *dst, int dst_stride_ar[],     \
                        int count[], int stride_levels, int proc, armci_hdl_t *handle);                                \
    int P##ARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);                                \
    int P##ARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);                                \
    int P##ARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);     \
    int P##ARMCI_Wait(armci_hdl_t *handle);                                                                            \
    int P##ARMCI_Test(armci_hdl_t *handle); /* 0: done */                                                              \
    int P##ARMCI_WaitProc(int proc);                                                                                   \
    int P##ARMCI_WaitAll(void);                                                                                        \
    int P##ARMCI_PutValueInt(int src, void *dst, int proc);                                                            \
    int P##ARMCI_PutValueLong(long src, void *dst, int proc);                                                          \
    int P##ARMCI_PutValueFloat(float src, void *dst, int proc);                                                        \
    int P##ARMCI_PutValueDouble(double src, void *dst, int proc);                                                      \
    int P##ARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *handle);                                     \
    int P##ARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *handle);                                   \
    int P##ARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *handle);                                 \
    int P##ARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *handle);                               \
    int P##ARMCI_GetValueInt(void *src, int proc);                                                                     \
    long P##ARMCI_GetValueLong(void *src, int proc);                                                                   \
    float P##ARMCI_GetValueFloat(void *src, int proc);                                                                 \
    double P##ARMCI_GetValueDouble(void *src, int proc);                                                               \
    int P##ARMCI_Create_mutexes(int count);                                                                            \
    int P##ARMCI_Destroy_mutexes(void);                                                                                \
    void P##ARMCI_Lock(int mutex, int proc);                                                                           \
    void P##ARMCI_Unlock(int mutex, int proc);                                                                         \
    int P##ARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);

SERRIED_ARMCI_TWINS()
SERRIED_ARMCI_TWINS(P)
#undef SERRIED_ARMCI_TWINS

void parmci_msg_barrier(void);
void parmci_msg_group_barrier(ARMCI_Group *group);

void ARMCI_Cleanup(void);
void ARMCI_Error(const char *msg, int code);
void ARMCI_Copy(void *src, void *dst, int size);

int ARMCI_Malloc_group(void **base_ptrs, armci_size_t size, ARMCI_Group *group);
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);
int ARMCI_Uses_shm(void);
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
void ARMCI_Set_shm_limit(unsigned long shmemlimit);

void ARMCI_INIT_HANDLE(armci_hdl_t *handle);
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *handle);
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *handle);

void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);
void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);

void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out);
void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);
void ARMCI_Group_free(ARMCI_Group *group);
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *group_out);
void ARMCI_Group_get_world(ARMCI_Group *group_out);
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);

/* A domain below 0 is the own one. */
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int glob_proc_id);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int proc);
int ARMCI_Same_node(int proc);

#ifdef __cplusplus
}
#endif

#include <message.h>

#endif
