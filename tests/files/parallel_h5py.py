"""Ranks write one HDF5 file together with h5py, in slabs, chunks and single rows, collectively and each by itself; then
each reads what all have written."""

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
ROWS, COLUMNS = 40, 300


def value(row, column):
    return row * 1000.0 + column


assert h5py.get_config().mpi, "this h5py knows no MPI"
with h5py.File("parallel.h5", "w", driver="mpio", comm=world) as file:
    plain = file.create_dataset("plain", (ROWS * size, COLUMNS), "f8")
    chunked = file.create_dataset("chunked", (ROWS * size, COLUMNS), "f4", chunks=(7, 100))
    dealt = file.create_dataset("dealt", (ROWS * size, COLUMNS), "f8")
    mine = numpy.fromfunction(lambda row, column: value(row + rank * ROWS, column), (ROWS, COLUMNS))
    plain[rank * ROWS : (rank + 1) * ROWS] = mine
    with chunked.collective:
        chunked[rank * ROWS : (rank + 1) * ROWS] = mine
    with dealt.collective:  # every rank has each size-th row: they interleave in the file
        dealt[rank::size] = numpy.fromfunction(lambda row, column: value(row * size + rank, column), (ROWS, COLUMNS))
    file.attrs["ranks"] = size

with h5py.File("parallel.h5", "r", driver="mpio", comm=world) as file:
    wanted = numpy.fromfunction(value, (ROWS * size, COLUMNS))
    assert file.attrs["ranks"] == size
    for name in ("plain", "chunked", "dealt"):
        assert numpy.array_equal(file[name][...], wanted), f"rank {rank}: {name} is not what was written"
print("right", flush=True)
