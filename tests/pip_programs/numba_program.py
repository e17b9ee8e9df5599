"""numba-mpi: compiled code sends, and sums over all ranks."""
import numba, numba_mpi, numpy

@numba.njit
def ring():
    rank, size, got, total = numba_mpi.rank(), numba_mpi.size(), numpy.zeros(3), numpy.zeros(3)
    if rank == 0:
        numba_mpi.send(numpy.arange(3.0), dest=1, tag=7)
    elif rank == 1:
        numba_mpi.recv(got, source=0, tag=7)
    numba_mpi.allreduce(got + size, total, numba_mpi.Operator.SUM)
    return total

print("result", ring().sum())
