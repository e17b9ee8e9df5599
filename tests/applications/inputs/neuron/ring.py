"""A ring of 16 cells, spread over the ranks: each spike starts the next cell."""
from neuron import h
h.nrnmpi_init()
pc = h.ParallelContext()
h.load_file("stdrun.hoc")
rank, size, number = int(pc.id()), int(pc.nhost()), 16
cells = {}
for gid in range(rank, number, size):
    soma = h.Section(name=f"soma{gid}")
    soma.L = soma.diam = 12.6157
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5)); synapse.tau = 2
    pc.set_gid2node(gid, rank)
    detector = h.NetCon(soma(0.5)._ref_v, None, sec=soma); detector.threshold = 10
    pc.cell(gid, detector)
    cells[gid] = soma, synapse, detector
nets = []
for gid, (soma, synapse, _) in cells.items():
    net = pc.gid_connect((gid - 1) % number, synapse); net.weight[0] = 0.05; net.delay = 5
    nets.append(net)
times, gids = h.Vector(), h.Vector()
pc.spike_record(-1, times, gids)
if 0 in cells:
    start = h.NetStim(); start.number = 1; start.start = 1
    first = h.NetCon(start, cells[0][1]); first.weight[0] = 0.05; first.delay = 1
pc.set_maxstep(10)
h.finitialize(-65)
pc.psolve(200)
spikes = pc.py_allgather([(round(t, 4), int(g)) for t, g in zip(times, gids)])
if rank == 0:
    spikes = sorted(sum(spikes, []))
    print("spikes", len(spikes)); print("last", spikes[-1][0])
pc.barrier(); h.quit()
