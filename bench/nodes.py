#!/usr/bin/env python3
"""What programs feel between hosts: all libraries in turns over hosts made of namespaces on this machine. Root only.

    make bench-nodes                             messages, collectives, random cells also of windows, about 15 minutes
    bench/nodes.py --parts messages              one of these
    bench/nodes.py --parts random --seed 7 --cells 200
    bench/nodes.py --against ../before/stage     a tree of another state of ours takes turns too

Messages go between two hosts with a rank each; beside them stands what one TCP connection takes with both ends looking all
the time. Collectives and half of the random cells run on four hosts with two ranks each: more ranks than cores here, as
all hosts are one machine. Cells and times are those of sweep.py: whole times, with data that are written and read.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

from libraries import ROOT, Library, all_libraries
from sweep import BEFORE, OURS, Cell, cells_of, in_words, measure, rows_of, summary, tell_before, tell_cell

sys.path.insert(0, str(ROOT / "tests/support"))
import hosts as lab  # noqa: E402
import jobs  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
PORT = 7100
PARTS = ("messages", "collectives", "random", "windows")
MESSAGES = [("send", bytes) for bytes in (8, KIB, 8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB)] + [("burst", 512 * KIB)]
COLLECTIVES = [(name, bytes) for name in ("bcast", "allreduce", "alltoall", "allgather")
               for bytes in (8, KIB, 16 * KIB, 128 * KIB, MIB)]
VARIABLES = ("BENCH_GATE", "LD_LIBRARY_PATH")


def launcher(name, tree, cluster, per_host):
    """The words that start a job of so many ranks on each host, up to the program, and variables for them."""
    names, peers = cluster.names, jobs.PEERS
    listed, counted = ",".join(names), ",".join(f"{host}:{per_host}" for host in names)
    ranks = str(per_host * len(names))
    if name == "openmpi":
        exported = [word for variable in VARIABLES for word in ("-x", variable)]
        prefix = {variable: str(peers / "openmpi") for variable in ("OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX")}
        return [peers / "openmpi/bin/prterun", "--allow-run-as-root", "--prefix", peers / "openmpi", "-H", counted, "-n", ranks,
                "--bind-to", "none", *exported, "-x", "OMPI_MCA_pml=ob1", "-x", "OMPI_MCA_btl=self,sm,tcp"], prefix
    if name == "impi":
        return [peers / "impi/bin/mpiexec.hydra", "-bootstrap", "ssh", "-hosts", listed, "-ppn", str(per_host), "-n", ranks], {
            "FI_PROVIDER": "tcp"}
    if name.startswith("mpich"):
        netmod = {"MPIR_CVAR_CH4_NETMOD": "ofi"} if name == "mpich-ofi" else {}
        return [peers / "mpich/bin/mpiexec", "-launcher", "ssh", "-hosts", listed, "-ppn", str(per_host), "-n", ranks], netmod
    return [tree / "bin/serried", "run", "--hosts", counted], {}


class Across:
    """A library whose jobs run on the hosts of a cluster."""

    def __init__(self, library, cluster, per_host, name=None, title=None):
        self.name, self.title = name or library.name, title or library.title
        self.library, self.cluster = library, cluster
        self.words, variables = launcher(self.name, library.launcher[0].parents[1], cluster, per_host)
        self.environment = dict(library.environment, **variables)

    def program(self, name):
        return self.library.program(name)

    def command(self, program, _ranks):
        return self.cluster.command("n1", [*self.words, *program])


def all_across(options, cluster, per_host):
    found = []
    for library in all_libraries():
        found.append(Across(library, cluster, per_host))
        if library.name == "mpich":
            found.append(Across(library, cluster, per_host, "mpich-ofi", "MPICH over libfabric"))
    if options.against:
        tree = options.against.resolve()
        before = Library(BEFORE, "The state before", tree / "bin/mpicc", [tree / "bin/mpiexec"], tree / "lib")
        before.programs = all_libraries()[0].programs
        before.environment["LD_LIBRARY_PATH"] = str(tree / "lib")
        found.append(Across(before, cluster, per_host))
    return [library for library in found if library.name in options.libraries + [BEFORE]]


def raw_tcp(cluster, sizes, rounds):
    """For each size what TCP takes one way, us: the median over several connections."""
    program = ROOT / "build/bench/raw_tcp"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", ROOT / "bench/raw_tcp.c", "-o", program], check=True)
    server = cluster.start("n2", [program, "listen", PORT])
    try:
        server.stdout.readline()
        found = {}
        for bytes in sizes:
            count = max(20, min(2000, 20 * MIB // bytes))
            command = [program, cluster.address("n2"), PORT, bytes, count]
            times = [float(cluster.run("n1", command, check=True).stdout) for _ in range(rounds)]
            found[bytes] = statistics.median(times)
        return found
    finally:
        cluster.kill("n2", *(number for number, words in cluster.processes("n2").items() if words.startswith(str(program))))
        server.communicate()


def run(libraries, cells, ranks, options, cluster):
    times = measure(libraries, cells, ranks, options.rounds, options.timeout, cluster.folder, within=cluster.folder)
    return times, rows_of(cells, times)


def table(cells, times, libraries, limits=None):
    """All medians, us, and the ratio to the best rival."""
    heads = [library.title for library in libraries] + (["raw TCP"] if limits else [])
    print(" " * 20 + "".join(f"{head:>22}" for head in heads) + f"{'to the best':>14}")
    for cell, of_cell in zip(cells, times):
        medians = {name: statistics.median(values.values()) for name, values in of_cell.items() if values}
        row = "".join(f"{medians.get(library.name, float('nan')):22.1f}" for library in libraries)
        if limits:
            row += f"{limits.get(cell.bytes, float('nan')):22.1f}"
        rivals = [value for name, value in medians.items() if name not in (OURS, BEFORE)]
        ratio = medians[OURS] / min(rivals) if rivals and OURS in medians else float("nan")
        print(f"{cell.operation:10} {cell.bytes:8} {row}{ratio:14.2f}", flush=True)


def fixed(points):
    return [Cell(name, bytes, "heap", "all", "turning") for name, bytes in points]


def messages(options):
    with lab.Hosts(2) as cluster:
        libraries, cells = all_across(options, cluster, 1), fixed(MESSAGES)
        limits = raw_tcp(cluster, [bytes for name, bytes in MESSAGES if name == "send"], options.rounds)
        times, _ = run(libraries, cells, 2, options, cluster)
        print("2 hosts with a rank each, us one way (a burst: eight messages each way)")
        table(cells, times, libraries, limits)


def collectives(options):
    with lab.Hosts(4) as cluster:
        libraries, cells = all_across(options, cluster, 2), fixed(COLLECTIVES)
        times, _ = run(libraries, cells, 8, options, cluster)
        print("4 hosts with two ranks each, us")
        table(cells, times, libraries)


def random_cells(options, only=None):
    for count, per_host in ((2, 1), (4, 2)):
        ranks = count * per_host
        with lab.Hosts(count) as cluster:
            libraries = all_across(options, cluster, per_host)
            cells = cells_of(options.seed, options.cells, ranks, only or options.only)
            # No window has memory that hosts share.
            cells = [cell for cell in cells if getattr(cell, "window", None) != "shared"]
            _, rows = run(libraries, cells, ranks, options, cluster)
        if not rows:
            print(f"{count} hosts: nothing could be compared")
            continue
        print(f"{count} hosts with {per_host} each, seed {options.seed}, {in_words(ranks, summary(rows))}", flush=True)
        for row in rows[:options.worst]:
            tell_cell(row, row["ratio"], row["rival"])
        tell_before([row for row in rows if row[BEFORE]], options.worst)


def windows(options):
    random_cells(options, ["windows"])


def read_options():
    names = [library.name for library in all_libraries()] + ["mpich-ofi"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--cells", type=int, default=60, help="random ones, for each number of hosts")
    parser.add_argument("--only", nargs="+", help="operations of the random cells")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--against", type=pathlib.Path, help="a staged tree of another state of ours")
    parser.add_argument("--worst", type=int, default=20, help="cells to print")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one turn")
    return parser.parse_args()


def main():
    options = read_options()
    if refusal := lab.why_not():
        print(f"there are no hosts to be measured: {refusal}")
        return
    for library in all_libraries():
        # MPICH is measured in two ways.
        if any(name.startswith(library.name) for name in options.libraries):
            library.build()
    run_part = {"messages": messages, "collectives": collectives, "random": random_cells, "windows": windows}
    for part in options.parts:
        run_part[part](options)


if __name__ == "__main__":
    main()
