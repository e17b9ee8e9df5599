"""Each rank writes a row of a dataset, one element of it collectively; all is read again."""

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
with h5py.File("rows.h5", "w", driver="mpio", comm=world) as file:
    rows = file.create_dataset("rows", (world.size, 1000), dtype="f8")
    rows[world.rank, :] = numpy.arange(1000) * (world.rank + 1)
    with rows.collective:
        rows[world.rank, 0] = -world.rank
world.Barrier()
with h5py.File("rows.h5", "r", driver="mpio", comm=world) as file:
    total = file["rows"][:].sum()
if world.rank == 0:
    print(f"sum {total:.0f} of HDF5 {h5py.version.hdf5_version}")
