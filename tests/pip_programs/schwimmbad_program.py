"""schwimmbad: the first rank deals out work, the others do it."""
import sys
from mpi4py import MPI
from schwimmbad import MPIPool

def square(number):
    return number * number, MPI.COMM_WORLD.rank

with MPIPool() as pool:
    if not pool.is_master():
        sys.exit(pool.wait())
    squares, workers = zip(*pool.map(square, range(20)))
    print("result", sum(squares), min(workers) > 0)
