"""Ranks write one NetCDF-4 file together with netCDF4-python, each by itself and collectively; then each reads it all."""

import netCDF4
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
ROWS, COLUMNS = 30, 200

with netCDF4.Dataset("parallel.nc", "w", parallel=True, comm=world, info=MPI.Info()) as file:
    file.createDimension("row", ROWS * size)
    file.createDimension("column", COLUMNS)
    apart = file.createVariable("apart", "f8", ("row", "column"))
    together = file.createVariable("together", "i4", ("row", "column"))
    mine = numpy.fromfunction(lambda row, column: (row + rank * ROWS) * 1000 + column, (ROWS, COLUMNS))
    apart[rank * ROWS : (rank + 1) * ROWS] = mine
    together.set_collective(True)
    together[rank * ROWS : (rank + 1) * ROWS] = mine

with netCDF4.Dataset("parallel.nc", "r", parallel=True, comm=world) as file:
    wanted = numpy.fromfunction(lambda row, column: row * 1000 + column, (ROWS * size, COLUMNS))
    for name in ("apart", "together"):
        assert numpy.array_equal(file[name][...], wanted), f"rank {rank}: {name} is not what was written"
print("right", flush=True)
