/* A program as it is written for Open MPI's ULFM: what its headers promise is there. The last rank fails. */
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>

#if !OMPI_HAVE_MPI_EXT || !OMPI_HAVE_MPI_EXT_FTMPI || !OMPI_HAVE_MPI_EXT_CUDA
#error "mpi-ext.h lacks an extension"
#endif

static int rank, size, told;

static void failed(MPI_Comm *comm, int *code, ...)
{
	MPI_Group group;
	int class, count, acked;
	MPI_Error_class(*code, &class);
	if (class == MPIX_ERR_REVOKED || class != MPIX_ERR_PROC_FAILED || class != MPI_ERR_PROC_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPIX_Comm_get_failed(*comm, &group);
	MPI_Group_size(group, &count);
	MPIX_Comm_ack_failed(*comm, count, &acked);
	if (count != 1 || acked != 1)
		MPI_Abort(MPI_COMM_WORLD, 4);
	MPI_Group_free(&group);
	told++;
}

int main(int argc, char **argv)
{
	MPI_Comm comm;
	MPI_Errhandler handler;
	int *value, found, flag = 1, now, of_ft = MPIX_FT;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_get_attr(MPI_COMM_WORLD, of_ft, &value, &found);
	if (!found || *value != (argc > 1) || of_ft != MPI_FT)
		MPI_Abort(MPI_COMM_WORLD, 5);
	if (argc > 1) {
		MPI_Comm_create_errhandler(failed, &handler);
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
		if (rank == size - 1)
			raise(SIGKILL);
		while (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS)
			;
		MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
		MPIX_Comm_is_revoked(MPI_COMM_WORLD, &found);
		MPIX_Comm_shrink(MPI_COMM_WORLD, &comm);
		MPI_Comm_size(comm, &now);
		if (!told || !flag || found || now != size - 1 || MPI_Barrier(comm) != MPI_SUCCESS)
			MPI_Abort(MPI_COMM_WORLD, 6);
		MPI_Comm_free(&comm);
		MPI_Errhandler_free(&handler);
	}
	printf("well\n");
	return MPI_Finalize();
}
