#!/usr/bin/env python3
"""Times of collectives over several hosts, of staged trees in turns: for the tables of `selection.rs`.

    bench/over_nodes.py --hosts 2 --ranks 4 --trees OLD,NEW bcast,alltoall 64 65536 1048576

The hosts are namespaces of this machine (tests/hosts), so only root can do it. They share its cores: with more ranks than
cores, or beside other work, only large differences between two ways tell something. One line for each operation and size.
"""

import argparse
import collections
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/support"))
import hosts  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=2, help="on each host")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", default="stage", help="staged trees that all hosts see (not in /tmp), with commas")
    parser.add_argument("operations")
    parser.add_argument("bytes", nargs="+", type=int)
    return parser.parse_args()


def one_round(cluster, tree, given):
    """The numbers of one job by operation and size."""
    program = cluster.folder / f"over_nodes.{tree.name}"
    if not program.exists():
        subprocess.run([tree / "bin/mpicc", "-O2", HERE / "over_nodes.c", "-o", program], check=True)
    places = ",".join(f"{name}:{given.ranks}" for name in cluster.names)
    job = [tree / "bin/serried", "run", "--hosts", places, program, given.operations, *given.bytes]
    said = cluster.run("n1", job, timeout=600)
    if said.returncode:
        sys.exit(f"{tree}: {said.stdout}{said.stderr}")
    lines = (line.split() for line in said.stdout.splitlines())
    return {(name, int(size)): tuple(map(float, numbers)) for name, size, *numbers in lines}


def main():
    given = arguments()
    if refusal := hosts.why_not():
        sys.exit(refusal)
    trees = [pathlib.Path(tree).resolve() for tree in given.trees.split(",")]
    found = collections.defaultdict(list)
    with hosts.Hosts(given.hosts) as cluster:
        for _ in range(given.rounds):
            for at, tree in enumerate(trees):
                for what, numbers in one_round(cluster, tree, given).items():
                    found[what, at].append(numbers)
    for name, size in dict.fromkeys(what for what, _ in found):
        medians = [[statistics.median(column) for column in zip(*found[(name, size), at])] for at in range(len(trees))]
        texts = [f"{quartile:9.1f} {least:9.1f} {used:9.1f}" for quartile, least, used in medians]
        ratios = [f"{last / first:.2f}" for first, last in zip(medians[0], medians[-1]) if first]
        print(f"{given.hosts}x{given.ranks} {name:14} {size:9} | {' | '.join(texts)} | {' '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
