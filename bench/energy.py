#!/usr/bin/env python3
"""CPU seconds and time of a solver with uneven parts, with each library in turns.

    bench/energy.py                        2 and 4 ranks, about 3 minutes
    bench/energy.py --bounds 1 5 20        ours also with --max-slowdown 1, 5 and 20

CPU seconds are those of all processes of the job, its launcher included. Shown are medians over the rounds.
"""

import argparse
import copy
import resource
import statistics

from libraries import all_libraries


def bounded(library, percent):
    ours = copy.copy(library)
    ours.title, ours.free = f"{library.title}, {percent} %", ["--max-slowdown", percent]
    return ours


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_once(library, ranks, options):
    """Seconds, and CPU seconds of the whole job; None if it did not end well in time."""
    before = cpu_seconds()
    outcome = library.run([library.program("solver"), options.edge, options.iterations], ranks, options.timeout)
    used = cpu_seconds() - before
    if not outcome.ended_well():
        print(f"    {library.title}, {ranks} ranks: status {outcome.status}. {outcome.output[-300:].strip()}", flush=True)
        return None
    row = next(line for line in outcome.output.splitlines() if line.startswith("figure "))
    return float(row.split()[2]), used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--bounds", nargs="*", default=["1", "5", "20"], help="percent")
    parser.add_argument("--edge", type=int, default=48, help="points along an edge of the cube")
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=120)
    options = parser.parse_args()
    libraries = all_libraries()
    for library in libraries:
        library.build()
    libraries += [bounded(libraries[0], percent) for percent in options.bounds]
    for ranks in options.ranks:
        found = {library.title: [] for library in libraries}
        for _ in range(options.rounds):
            for library in libraries:
                if figures := run_once(library, ranks, options):
                    found[library.title].append(figures)
        print(f"{ranks} ranks: seconds, CPU seconds")
        for title, rows in found.items():
            medians = [statistics.median(column) for column in zip(*rows)]
            print(f"  {title:20}" + "".join(f"{value:9.3f}" for value in medians), flush=True)


if __name__ == "__main__":
    main()
