/* A small PMPI tool: counts calls of each kind and says so in MPI_Finalize, a line for each rank. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, collectives, others;

static void say(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool: rank %d: %d sends, %d receives, %d collectives, %d others\n", rank, sends, receives, collectives,
           others);
    fflush(stdout);
}

int MPI_Finalize(void)
{
    say();
    return PMPI_Finalize();
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send_c(buf, count, type, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    sends++;
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receives++;
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receives++;
    return PMPI_Recv_c(buf, count, type, source, tag, comm, status);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    collectives++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    collectives++;
    return PMPI_Barrier(comm);
}

/* Not a communication, but a tool may watch it. */
double MPI_Wtime(void)
{
    others++;
    return PMPI_Wtime();
}
