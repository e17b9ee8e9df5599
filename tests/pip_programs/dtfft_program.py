"""dtfft-mpich: around all axes and back again is the same array. Its Fortran library is ours, under another."""
import dtfft
import numpy
from mpi4py import MPI

plan = dtfft.PlanC2C([16, 16, 16], comm=MPI.COMM_WORLD)
start = numpy.arange(plan.alloc_size, dtype=complex) + MPI.COMM_WORLD.rank
way = [start.copy(), *(numpy.zeros_like(start) for _ in range(4))]
for step, turn in enumerate(("X_TO_Y", "Y_TO_Z", "Z_TO_Y", "Y_TO_X")):
    plan.transpose(way[step], way[step + 1], dtfft.Transpose[turn])
print("result", float(abs(way[4] - start).max()), bool(abs(way[2] - start).max() > 0))
