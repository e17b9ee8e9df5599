"""dask-mpi: rank 0 schedules, rank 1 is the client, the others work."""
import dask_mpi

dask_mpi.initialize(dashboard=False, worker_class="distributed.Worker")
from distributed import Client

with Client() as client:
    print("result", sum(client.gather(client.map(lambda x: x * x, range(10)))), flush=True)
