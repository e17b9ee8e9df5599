! mpif-ext.h of Serried: programs for Open MPI include it behind mpif.h, which has all that there is
! (the error classes MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING and MPIX_ERR_REVOKED).
      integer OMPI_HAVE_MPI_EXT_FTMPI
      parameter (OMPI_HAVE_MPI_EXT_FTMPI=1)
