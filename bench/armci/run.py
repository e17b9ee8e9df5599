#!/usr/bin/env python3
"""Times of ARMCI on one node: ours beside ARMCI-MPI as Debian has compiled it, over Debian's MPICH, in turns.

    bench/armci/run.py               two ranks, 9 rounds: about two minutes; a table, and a plot
    bench/armci/run.py --rounds 3    quicker
    bench/armci/run.py --rungs       ours with each means of copying too

`scripts/setup venv-bench global-arrays` gets what it needs. The jobs of both are alive at once, and take turns at each point
(bench/gate.py), so what else the machine does hits both. A ratio is ours to theirs of the same round, the median over the
rounds. ARMCI-MPI runs with ARMCI_USE_WIN_ALLOCATE=0, for with windows that MPICH allocates it is wrong.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests/applications"), str(ROOT / "tests/support")]
import debian  # noqa: E402
import jobs  # noqa: E402
from figures import Figures  # noqa: E402
from gate import Turns  # noqa: E402
from libraries import Library  # noqa: E402
from words import size_text  # noqa: E402

PROGRAM, RANKS = "transfers", 2
MEANS = ["cross-memory", "memory-file", "cells"]
SHAPES = [("", "one piece"), (", square", "a square of an array"), (", vector", "single doubles")]
OPERATIONS = ["put", "get", "accumulate"]


class Armci(Library):
    """An ARMCI: how its program is compiled, and started."""

    def __init__(self, name, title, flags, launcher, environment):
        compiler = jobs.STAGE / "bin/mpicc" if name == "serried" else "cc"
        super().__init__(name, title, compiler, launcher, None, environment)
        self.flags = flags

    def build(self):
        self.programs.mkdir(parents=True, exist_ok=True)
        command = [self.mpicc, "-O2", HERE / f"{PROGRAM}.c", "-o", self.program(PROGRAM), *self.flags]
        subprocess.run(list(map(str, command)), check=True)


def libraries(rungs):
    ours = Armci("serried", "Serried", ["-larmci"], [jobs.STAGE / "bin/mpiexec"], {})
    found = debian.LIBRARIES
    flags = [f"-I{debian.ROOT}/usr/include", f"-I{debian.ROOT}/usr/include/{debian.MACHINE}-linux-gnu/mpich",
             found / "libarmci-mpich.a", found / "libmpich.so.12", *(f"-Wl,-rpath-link,{folder}" for folder in debian.FOLDERS),
             "-Wl,--allow-shlib-undefined", "-lm"]
    theirs = Armci("armci-mpi", "ARMCI-MPI on MPICH 4.0", flags, debian.LAUNCHERS["mpich"],
                   debian.environment(ARMCI_USE_WIN_ALLOCATE="0"))
    others = []
    for means in MEANS if rungs else []:
        other = Armci("serried", f"Serried, {means}", ["-larmci"], [jobs.STAGE / "bin/mpiexec"], {"SERRIED_COPY": means})
        other.name = f"serried-{means}"
        others.append(other)
    return [ours, theirs, *others]


def table(figures):
    """A line for each point: medians of all, and our ratio."""
    titles = list(figures.titles.values())
    yield f"| | {' | '.join(titles)} | ratio |"
    yield f"| --- |{' --- |' * (len(titles) + 1)}"
    for point in figures.points():
        _, _, name, size, unit = point
        cells = [figures.median(library, point) for library in figures.titles]
        shown = " | ".join(f"{cell:.3g}" if cell else "-" for cell in cells)
        ours, theirs = (figures.values[name_].get(point, {}) for name_ in ("serried", "armci-mpi"))
        pairs = sorted(ours[number] / theirs[number] for number in ours if theirs.get(number))
        ratio = f"{pairs[len(pairs) // 2]:.2f}" if pairs else "-"
        yield f"| {name}{', ' + size_text(size) if size else ''} ({unit}) | {shown} | {ratio} |"


def plot(figures, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(len(SHAPES), len(OPERATIONS), figsize=(12, 9), layout="constrained", squeeze=False)
    for axes_of_shape, (suffix, title) in zip(grid, SHAPES):
        for axes, operation in zip(axes_of_shape, OPERATIONS):
            for library, name in figures.titles.items():
                points = [point for point in figures.points() if point[2] == operation + suffix]
                known = [(point[3], figures.median(library, point)) for point in points if figures.median(library, point)]
                if known:
                    axes.plot(*zip(*known), marker=".", label=name)
            axes.set(xscale="log", yscale="log", title=f"{operation}, {title}", xlabel="bytes", ylabel="µs")
            axes.grid(alpha=0.3)
    grid[0][0].legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rungs", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results")
    options = parser.parse_args()
    compared = libraries(options.rungs)
    for library in compared:
        library.build()
    figures = Figures({library.name: library.title for library in compared})

    def failed(library, why, output):
        figures.note(f"{library.title}: {why}")
        print(f"    {library.title}: {why}. {output[-400:].strip()}", flush=True)

    turns = Turns(compared, PROGRAM, RANKS, 60, failed)
    for number in range(options.rounds):
        for library, (name, size, value, unit) in turns.round(number):
            figures.add(library.name, (PROGRAM, RANKS, name.replace("_", ", "), int(size), unit), number, float(value))
    turns.finish()
    print("\n".join(table(figures)))
    try:
        plot(figures, options.out / "armci.png")
        print(f"plot: {os.path.relpath(options.out / 'armci.png')}")
    except ImportError:
        print("no plot: matplotlib is not there (scripts/setup venv-bench)")


if __name__ == "__main__":
    main()
