"""NEURON's wheel, which loads an MPI library by itself: cells in a ring, dealt out to ranks, hand a spike around."""
from neuron import h

h.nrnmpi_init()
ranks = h.ParallelContext()
rank, size = int(ranks.id()), int(ranks.nhost())
CELLS = 6
cells, connections = {}, []
for number in range(rank, CELLS, size):
    cells[number] = cell = h.IntFire1()
    ranks.set_gid2node(number, rank)
    ranks.cell(number, h.NetCon(cell, None))
for number, cell in cells.items():
    connections.append(ranks.gid_connect((number - 1) % CELLS, cell))
    connections[-1].weight[0], connections[-1].delay = 2, 3
start = h.NetStim()
start.number, start.start = 1, 1
if 0 in cells:
    connections.append(h.NetCon(start, cells[0], 0, 0, 2))
times, who = h.Vector(), h.Vector()
for number in cells:
    ranks.spike_record(number, times, who)
ranks.set_maxstep(10)
h.finitialize()
ranks.psolve(60)
print("result", size, int(ranks.allreduce(times.size(), 1)), round(ranks.allreduce(times.max() if times.size() else 0, 2), 3), flush=True)
ranks.barrier()
h.quit()
