/* mpi-ext.h of Serried: which extensions of Open MPI are there. mpi.h declares their functions and constants. */
#ifndef OMPI_MPI_EXT_H
#define OMPI_MPI_EXT_H 1

#include <mpi.h>

#define OMPI_HAVE_MPI_EXT 1

/* Devices. Whether there is one, the function says. */
#define OMPI_HAVE_MPI_EXT_CUDA 1
#define MPIX_CUDA_AWARE_SUPPORT 1
#define OMPI_HAVE_MPI_EXT_ROCM 1
#define MPIX_ROCM_AWARE_SUPPORT 0

/* Processes that fail (ULFM). */
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

#endif
