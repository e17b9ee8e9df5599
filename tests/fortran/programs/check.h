! What the programs share: CHECK(condition) says where it failed, and FINISH ends with the number of failures.
#ifdef MODULE
#define INTERFACE use mpi
#define INCLUDED
#else
#define INTERFACE
#define INCLUDED include 'mpif.h'
#endif
! What others write to behind the compiler's back. An implicit interface takes no VOLATILE.
#ifdef MODULE
#define SHARED volatile
#else
#define SHARED target
#endif
#define CHECK(x) call check(x, __LINE__)
