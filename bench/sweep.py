#!/usr/bin/env python3
"""A sweep over random cells: what programs feel, away from the points of a table.

    make sweep                                       2, 4 and 8 ranks, about 10 minutes
    bench/sweep.py --seed 7 --cells 500 --ranks 2    another draw
    bench/sweep.py --only allreduce bcast            cells of these operations
    bench/sweep.py --only windows                    operations on windows (or: messages, collectives)
    bench/sweep.py --against ../before/stage         a tree of another state of ours takes turns too, and is compared

A cell is an operation, a length (log-uniform, no power of two), a kind of buffer, how the program touches its data, and
a root; on windows a whole epoch (windows_cells.py). They are drawn from the seed. All libraries take turns at each cell (gate.py), and the whole time counts: what a
program does to its data before and after the call as well. Printed are the geometric mean of the ratios of our time to
the best rival's, the share of cells that are slower by more than 5 %, and the worst cells. A library that fails in a cell,
or whose data are wrong there, is told of and sits it out. All of it goes to bench/results/sweep-*.json and .png.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import time
from dataclasses import asdict, dataclass

import windows_cells
from gate import Turns
from libraries import ROOT, Library, all_libraries

OURS, BEFORE = "serried", "before"
SLOWER = 1.05
KIB, MIB = 1 << 10, 1 << 20
LARGEST_STATIC = 2 * MIB  # as in sweep.h
LARGEST = {2: 4 * MIB, 4: MIB, 8: 256 * KIB}
BUFFERS, TOUCHED, ROOTS = ("heap", "offset", "static", "rotating", "fresh"), ("not", "byte", "all"), ("first", "last", "turning")

PLAIN = "send ssend probe mprobe isend send_init vector vector_to_block sendrecv exchange persistent burst waitany testany".split()
ONE_BLOCK = "bcast reduce allreduce allreduce_int_max allreduce_in_place scan exscan ibcast ireduce iallreduce".split()
BLOCK_FOR_EACH = ("gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv reduce_scatter_block "
                  "neighbor_allgather neighbor_alltoall igather iscatter iallgather ialltoall").split()
EMPTY = ["barrier", "ibarrier"]
GROUPS = {"messages": PLAIN, "collectives": ONE_BLOCK + BLOCK_FOR_EACH + EMPTY, "windows": windows_cells.OPERATIONS}
WIDTHS = {"buffers": 9, "window": 8, "touched": 5, "root": 8, "synchronisation": 11, "layout": 12, "parts": 1, "where": 5}
LEFT_OUT = "left_out"  # as in sweep.h


@dataclass(frozen=True)
class Cell:
    """One point of the sweep; `bytes` is what a rank gives, or the block for each rank."""

    operation: str
    bytes: int
    buffers: str
    touched: str
    root: str

    def line(self):
        return f"{self.operation} {self.bytes} {self.buffers} {self.touched} {self.root}\n"


def draw(generator, ranks, operations):
    """One cell. Lengths are whole doubles where elements are added."""
    if operations[0] in GROUPS["windows"]:
        return windows_cells.draw(generator, ranks, operations)
    operation = generator.choice(operations)
    blocks = ranks if operation in BLOCK_FOR_EACH else 1
    largest = LARGEST.get(ranks, 64 * KIB) // blocks
    length = 0 if operation in EMPTY else max(8, int(math.exp(generator.uniform(math.log(8), math.log(largest)))))
    buffers = generator.choice(BUFFERS)
    if buffers == "static" and length * blocks > LARGEST_STATIC:
        buffers = "heap"
    return Cell(operation, length, buffers, generator.choice(TOUCHED), generator.choice(ROOTS))


def cells_of(seed, count, ranks, only):
    """Cells of some operations and groups of them; without a choice of messages and collectives."""
    generator = random.Random(f"{seed} {ranks}")
    chosen = [name for word in only or ("messages", "collectives") for name in GROUPS.get(word, [word])]
    operations = [name for group in GROUPS.values() for name in group if name in chosen]
    if unknown := set(chosen).difference(operations):
        raise SystemExit(f"sweep.py: there is no operation {', '.join(sorted(unknown))}")
    if len({name in GROUPS["windows"] for name in operations}) > 1:
        raise SystemExit("sweep.py: operations on windows are drawn alone: choose others in another run")
    return [draw(generator, ranks, operations) for _ in range(count)]


def measure(libraries, cells, ranks, rounds, timeout, folder, within=None):
    """For each cell the times of each library, round by round. Jobs begin anew when one of them was lost."""
    times = [{library.name: {} for library in libraries} for _ in cells]
    programs, turns = [With(library, cells, folder / f"sweep-{ranks}-{library.name}.cells") for library in libraries], None

    def lost(library, why, output):
        print(f"    {library.title}: {why}. {output[-400:].strip()}", flush=True)
        library.has_failed = True

    for number in range(rounds):
        for program in programs:
            program.has_failed = False
        turns = turns or Turns(programs, "sweep", ranks, timeout, lost, within)
        for library, (cell, _, value, _) in turns.round(number):
            times[int(cell)][library.name][number] = float(value)
            if float(value) < 0:
                library.sit_out(int(cell), "what came was wrong")
        if any(program.has_failed for program in programs):
            for name, cell in turns.lost_at.items():
                next(program for program in programs if program.name == name).sit_out(cell, "it failed")
            turns = turns.finish()
    if turns:
        turns.finish()
    for program in programs:
        for cell in program.left_out:
            times[cell][program.name] = {}
    return times


class With:
    """A library whose program gets a file with the cells, without those that it sits out."""

    def __init__(self, library, cells, path):
        self.name, self.title, self.environment = library.name, library.title, library.environment
        self.library, self.cells, self.path = library, cells, path
        self.left_out, self.has_failed = set(), False
        self.write()

    def write(self):
        lines = [cell.line() for cell in self.cells]
        for number in self.left_out:
            lines[number] = " ".join([LEFT_OUT, *lines[number].split()[1:]]) + "\n"
        self.path.write_text("".join(lines))

    def sit_out(self, number, why):
        """From the next start on; its times there are not used."""
        if number not in self.left_out:
            print(f"    {self.title} sits out a cell, as {why}: {self.cells[number].line().strip()}", flush=True)
        self.left_out.add(number)
        self.write()

    def command(self, program, ranks):
        return self.library.command([self.library.program(program), self.path], ranks)


def ratios_of(times):
    """Ours to each other's: medians over the rounds."""
    ours = times[OURS]
    others = {}
    for name, theirs in times.items():
        pairs = [ours[number] / theirs[number] for number in ours if theirs.get(number)]
        if name != OURS and pairs:
            others[name] = statistics.median(pairs)
    return others


def ratio_of(times):
    """Ours to the best rival's. None if nobody can say."""
    rivals = [(value, name) for name, value in ratios_of(times).items() if name != BEFORE]
    return max(rivals, default=None)


def summary(rows):
    ratios = [row["ratio"] for row in rows]
    if not ratios:
        return {"cells": 0}
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    slower = sum(ratio > SLOWER for ratio in ratios) / len(ratios)
    return {"cells": len(ratios), "mean": mean, "slower": slower, "worst": max(ratios)}


def rows_of(cells, times):
    rows = []
    for cell, of_cell in zip(cells, times):
        if found := ratio_of(of_cell):
            medians = {name: statistics.median(values.values()) for name, values in of_cell.items() if values}
            before = ratios_of(of_cell).get(BEFORE)
            rows.append(asdict(cell) | {"ratio": found[0], "rival": found[1], "us": medians, BEFORE: before})
    return sorted(rows, key=lambda row: -row["ratio"])


def tell(ranks, seed, rows, worst):
    figures = summary(rows)
    if not rows:
        print(f"{ranks} ranks: nothing could be compared", flush=True)
        return
    print(f"seed {seed}, {in_words(ranks, figures)}", flush=True)
    for row in rows[:worst]:
        tell_cell(row, row["ratio"], row["rival"])
    tell_before([row for row in rows if row[BEFORE]], worst)


def tell_cell(row, ratio, other):
    how = " ".join(f"{row[key]:<{WIDTHS[key]}}" for key in WIDTHS if key in row)
    print(f"  {ratio:6.2f}  {row['operation']:22} {row['bytes']:8} {how} {row['us'][OURS]:9.2f} us, {other} {row['us'][other]:9.2f}")


def tell_before(rows, worst):
    """How ours compares with the state before, if that took part, and where it has got worse."""
    if not rows:
        return
    mean = math.exp(statistics.fmean(math.log(row[BEFORE]) for row in rows))
    slower = sum(row[BEFORE] > SLOWER for row in rows) / len(rows)
    print(f"  against the state before: geometric mean {mean:.2f}, {100 * slower:.1f} % slower by more than 5 %")
    for row in sorted(rows, key=lambda row: -row[BEFORE])[:worst]:
        if row[BEFORE] > SLOWER:
            tell_cell(row, row[BEFORE], BEFORE)


def headline(libraries, timeout, folder, few):
    """What a short sweep says: for each number of ranks the figures of `summary`."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for ranks in (2, 4):
        cells = cells_of(f"headline {time.strftime('%Y-%m-%d')}", 30 if few else 120, ranks, None)
        found[ranks] = summary(rows_of(cells, measure(libraries, cells, ranks, 3, timeout, folder)))
    return {ranks: figures for ranks, figures in found.items() if figures["cells"]}


def in_words(ranks, figures):
    """A line for such figures."""
    return (f"{figures['cells']} random cells on {ranks} ranks: geometric mean {figures['mean']:.2f}, "
            f"{100 * figures['slower']:.0f} % slower than the best rival by more than 5 %, worst {figures['worst']:.2f}")


def plot(by_ranks, path):
    """Ratio over length, a panel for each number of ranks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(by_ranks), figsize=(5 * len(by_ranks), 4), sharey=True, squeeze=False)
    for axis, (ranks, rows) in zip(axes[0], by_ranks.items()):
        axis.loglog([max(row["bytes"], 1) for row in rows], [row["ratio"] for row in rows], ".", alpha=0.6)
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set(title=f"{ranks} ranks", xlabel="bytes")
    axes[0][0].set_ylabel("time / best rival's")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [library.name for library in all_libraries()]
    quick = os.environ.get("BENCH") == "quick"
    parser.add_argument("--seed", default="1")
    parser.add_argument("--cells", type=int, default=60 if quick else 300, help="for each number of ranks")
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=3 if quick else 5)
    parser.add_argument("--only", nargs="+", help="operations, or groups: messages, collectives, windows")
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--against", type=pathlib.Path, help="a staged tree of another state of ours")
    parser.add_argument("--worst", type=int, default=40, help="cells to print")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one turn")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def main():
    options = read_options()
    libraries = [library for library in all_libraries() if library.name in options.libraries]
    if options.against:
        tree = options.against.resolve()
        libraries.append(Library(BEFORE, "The state before", tree / "bin/mpicc", [tree / "bin/mpiexec"], tree / "lib"))
    options.out.mkdir(parents=True, exist_ok=True)
    for library in libraries:
        library.build()
    by_ranks = {}
    for ranks in options.ranks:
        began = time.monotonic()
        cells = cells_of(options.seed, options.cells, ranks, options.only)
        times = measure(libraries, cells, ranks, options.rounds, options.timeout, options.out)
        by_ranks[ranks] = rows_of(cells, times)
        tell(ranks, options.seed, by_ranks[ranks], options.worst)
        print(f"  [{time.monotonic() - began:.0f} s]", flush=True)
    name = options.out / f"sweep-{options.seed}"
    summaries = {ranks: summary(rows) for ranks, rows in by_ranks.items()}
    name.with_suffix(".json").write_text(json.dumps({"summary": summaries, "rows": by_ranks}, indent=1))
    plot(by_ranks, name.with_suffix(".png"))


if __name__ == "__main__":
    main()
