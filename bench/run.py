#!/usr/bin/env python3
"""Measures the same programs with Serried, MPICH, Open MPI and Intel MPI, in turn, in one run.

    make bench                        about 15 minutes
    BENCH=quick make bench            fewer rounds: 3 minutes
    bench/run.py --libraries mpich serried --programs p2p --rounds 5

All libraries' jobs of a program are alive at once; point by point they take turns of some ten milliseconds, while
all others sleep (gate.py). So what else the machine does hits all alike. A short sweep over random cells comes first, and
what it says heads the table (sweep.py; another draw each day). Start-up and Intel's own benchmark run as
whole jobs, one library after the other, several rounds. A ratio is the median over the rounds of ours to the rival's
of the same round, against the best rival (figures.py, where the bars are too). A job that takes too long is stopped;
its figures are missing and the table says so. Results go to bench/results/.
"""

import argparse
import os
import pathlib
import time

import intel
import report
import sweep
from figures import BOUND, FREE, OURS, Figures
from gate import Turns
from libraries import ROOT, all_libraries

QUICK = os.environ.get("BENCH") == "quick"

# program, ranks, rounds, rounds when quick; "bound": each rank is bound to a core before it starts, and ours are
# measured free as well
PLAN = [
    ("p2p", 2, 41, 7),
    ("p2p bound", 2, 11, 3),
    ("collectives", 2, 25, 5),
    ("collectives bound", 2, 11, 3),
    ("collectives", 4, 11, 3),
    ("collectives", 8, 11, 3),
    ("collectives", 16, 5, 1),
    ("threads", 1, 9, 3),
    ("startup", 2, 9, 3),
    ("startup", 8, 7, 3),
    ("startup", 64, 5, 1),
    ("imb", 2, 7, 1),
    ("imb", 8, 5, 1),
]


class Bench:
    """One run: the libraries, and what was measured so far."""

    def __init__(self, libraries, timeout):
        self.libraries, self.timeout = libraries, timeout
        self.figures = Figures({library.name: library.title for library in libraries})

    def measure(self, program, ranks, rounds):
        kind = {"startup": self.start_and_end, "imb": self.intels_own}.get(program, self.in_turns)
        kind(program, ranks, rounds)

    def in_turns(self, program, ranks, rounds):
        def failed(library, why, output):
            self.lost(library, program, ranks, why, output)

        libraries, mark = {library: library.name for library in self.libraries}, {}
        if program.endswith(BOUND):
            bound = {library.bound(): library.name for library in libraries}
            free = {library: name for library, name in libraries.items() if name == OURS}
            mark = dict.fromkeys(bound, BOUND) | dict.fromkeys(free, FREE)
            libraries, program = bound | free, program.removesuffix(BOUND)
        turns = Turns(list(libraries), program, ranks, self.timeout, failed)
        for number in range(rounds):
            for library, (name, size, value, unit) in turns.round(number):
                point = (program, ranks, name + mark.get(library, ""), int(size), unit)
                self.figures.add(libraries[library], point, number, float(value))
        turns.finish()

    def start_and_end(self, program, ranks, rounds):
        """An empty program, timed from outside: the whole job."""
        for number in range(rounds):
            for library in self.libraries:
                began = time.monotonic()
                outcome = library.run(program, ranks, self.timeout)
                took = time.monotonic() - began
                if outcome.ended_well():
                    self.figures.add(library.name, (program, ranks, "start to end", 0, "s"), number, took)
                else:
                    self.lost(library, program, ranks, end_in_words(outcome), outcome.output)

    def intels_own(self, program, ranks, rounds):
        for number in range(rounds):
            for job_ranks, arguments in intel.JOBS:
                for library in self.libraries:
                    if job_ranks != ranks or not intel.fits(library):
                        continue
                    outcome = intel.run(library, ranks, arguments, self.timeout)
                    for name, size, value in intel.figures_in(outcome.output):
                        self.figures.add(library.name, (program, ranks, name, size, "us"), number, value)
                    if not outcome.ended_well():
                        self.lost(library, program, ranks, end_in_words(outcome), outcome.output)

    def lost(self, library, program, ranks, why, output):
        self.figures.note(f"{library.title}, {program} on {ranks} ranks: {why}")
        print(f"    {library.title}: {why}. {output[-400:].strip()}", flush=True)


def end_in_words(outcome):
    return "took too long" if outcome.status is None else f"ended with status {outcome.status}"


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [library.name for library in all_libraries()]
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--programs", nargs="+", choices=sorted({row[0] for row in PLAN}), metavar="PROGRAM",
                        help=", ".join(sorted({row[0] for row in PLAN})))
    parser.add_argument("--ranks", nargs="+", type=int, help="only these numbers of ranks")
    parser.add_argument("--rounds", type=int, help="rounds of each program (as in the plan)")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one turn, or one whole job (30)")
    parser.add_argument("--record", action="store_true", help="keep this run in bench/record.json and in the pages")
    parser.add_argument("--no-sweep", action="store_true", help="without the random cells")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def main():
    options = read_options()
    bench = Bench([library for library in all_libraries() if library.name in options.libraries], options.timeout)
    for library in bench.libraries:
        library.build()
    swept = {}
    if not options.no_sweep and not options.programs:
        swept = sweep.headline(bench.libraries, options.timeout, options.out, QUICK)
        print("".join(f"  {sweep.in_words(*row)}\n" for row in swept.items()), flush=True)
    for program, ranks, rounds, few in PLAN:
        if program not in (options.programs or [program]) or ranks not in (options.ranks or [ranks]):
            continue
        rounds = options.rounds or (few if QUICK else rounds)
        began = time.monotonic()
        bench.measure(program, ranks, rounds)
        print(f"  {program} on {ranks} ranks, {rounds} rounds  [{time.monotonic() - began:.0f} s]", flush=True)
    report.write(bench.figures, swept, options.out)
    if options.record:
        report.record(bench.figures, swept, "quick" if QUICK else "all")


if __name__ == "__main__":
    main()
