#!/usr/bin/env python3
"""Times of single calls while other programs load the cores: median, 99th percentile and mean.

    bench/loaded.py                           beside 0, 1 and 4 busy loops, 2 and 4 ranks, about 8 minutes
    bench/loaded.py --loops 4 --ranks 2       one of these
    bench/loaded.py --against ../before/stage a tree of another state of ours takes turns too

The loops are processes that compute and never sleep, on any core, with the priority of everybody. The libraries run as
whole jobs one after the other, several rounds; each figure is the median over the rounds. The mean counts all the time
that passes, also between calls.
"""

import argparse
import pathlib
import statistics

from libraries import Library, all_libraries
from load import busy_loops

BEFORE = "before"
FIGURES = ("median", "99 %", "mean")


def run_once(library, ranks, seconds, timeout):
    """The figures of each point, or nothing if the job did not end well in time."""
    outcome = library.run([library.program("loaded"), seconds], ranks, timeout)
    if not outcome.ended_well():
        print(f"    {library.title}, {ranks} ranks: status {outcome.status}. {outcome.output[-300:].strip()}", flush=True)
        return {}
    rows = (line.split() for line in outcome.output.splitlines() if line.startswith("figure "))
    return {(name, int(size)): tuple(map(float, values)) for _, name, size, *values in rows}


def measure(libraries, ranks, loops, options):
    """For each point and library the figures of all rounds."""
    found = {}
    with busy_loops(loops):
        for _ in range(options.rounds):
            for library in libraries:
                for point, values in run_once(library, ranks, options.seconds, options.timeout).items():
                    found.setdefault(point, {}).setdefault(library.name, []).append(values)
    return found


def tell(ranks, loops, found, libraries):
    print(f"{ranks} ranks beside {loops} busy loops, us: {', '.join(FIGURES)}")
    print(" " * 18 + "".join(f"{library.title:>30}" for library in libraries))
    for (name, size), by_library in found.items():
        row = f"{name:10} {size:6} "
        for library in libraries:
            rounds = by_library.get(library.name, [])
            medians = [statistics.median(values) for values in zip(*rounds)]
            row += f"{'  '.join(f'{value:8.1f}' for value in medians):>30}"
        print(row, flush=True)


def main():
    names = [library.name for library in all_libraries()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--loops", nargs="+", type=int, default=[0, 1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each point")
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--against", type=pathlib.Path, help="a staged tree of another state of ours")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one job")
    options = parser.parse_args()
    libraries = [library for library in all_libraries() if library.name in options.libraries]
    if options.against:
        tree = options.against.resolve()
        libraries.append(Library(BEFORE, "Before", tree / "bin/mpicc", [tree / "bin/mpiexec"], tree / "lib"))
    for library in libraries:
        library.build()
    for ranks in options.ranks:
        for loops in options.loops:
            tell(ranks, loops, measure(libraries, ranks, loops, options), libraries)


if __name__ == "__main__":
    main()
