#!/usr/bin/env python3
"""Files, side by side: FLASH-IO and interleaved pieces with Serried, MPICH (ROMIO) and Open MPI (OMPIO), in turns.

    bench/flash-io/compare.py                  all cases, 5 rounds
    bench/flash-io/compare.py --rounds 3 --only guard
    bench/flash-io/compare.py --folder /dev/shm   on another file system (build/bench)
    bench/flash-io/compare.py --sweep 20       random cases of (mode, size, ranks, collective or not, view) instead

In a round each library runs each case once, one after the other; a ratio is the median over the rounds of our bandwidth
divided by that of the better one of the others in the same round, so above 1 is better; the range shows the noise. A case is
from open to close, with what is packed. Cases of HDF5 need scripts/io-libraries. Results go to
build/bench/files.csv, and, where matplotlib is there, to files.png.
"""

import argparse
import csv
import pathlib
import random
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), *(str(HERE.parents[1] / "tests" / folder) for folder in ("files", "support"))]
import debian  # noqa: E402
import jobs  # noqa: E402
from libraries import PROGRAMS, all_libraries  # noqa: E402

SOURCES = [HERE / f"{name}.c" for name in ("flash_io", "blocks", "mpi_io", "interleaved")]
SMALL, LARGE = ["--cells", "8"], ["--cells", "16", "--blocks", "40"]
# name, options, ranks, what we want to reach
CASES = [
    ("packed 16", LARGE, 1, 0.97),
    ("packed 16", LARGE, 2, 1.1),
    ("packed 16", LARGE, 4, 1.5),
    ("packed 8", SMALL, 4, 2.0),
    ("guard 16", [*LARGE, "--memory", "guard"], 2, 1.5),
    ("guard 16", [*LARGE, "--memory", "guard"], 4, 2.5),
    ("unk 16", [*LARGE, "--memory", "unk"], 1, 2.5),
    ("unk 16", [*LARGE, "--memory", "unk"], 2, 2.5),
    ("interleaved 512", ["--interleave", "512"], 2, 2.0),
    ("interleaved 512", ["--interleave", "512"], 4, 4.0),
    ("interleaved 64", ["--interleave", "64"], 2, 5.0),
    ("packed 16 sync", [*LARGE, "--sync"], 2, 1.25),
    ("hdf5 guard 16 collective", ["--library", "hdf5", *LARGE, "--memory", "guard"], 2, 2.5),
    ("hdf5 guard 8 independent", ["--library", "hdf5", *SMALL, "--memory", "guard", "--independent"], 2, 10.0),
    ("hdf5 packed 8", ["--library", "hdf5", *SMALL], 4, 4.0),
]


def build(library):
    """The programs of a library: with its own compiler, and over Debian's HDF5 for its ABI."""
    folder = PROGRAMS / library.name
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([library.mpicc, "-O2", *SOURCES, "-o", folder / "flash_io"], check=True)
    if debian.IS_THERE:
        flavour = debian.OPEN_MPI if library.name == "openmpi" else debian.MPICH
        command = ["gcc", "-O2", "-DWITH_HDF5", *SOURCES, HERE / "hdf5.c", "-o", folder / "flash_io_hdf5", *flavour.flags()]
        subprocess.run([*map(str, command), debian.LIBRARIES / f"libhdf5_{flavour.name}.so.103", *map(str, flavour.link())], check=True)


def run(library, options, ranks, folder):
    """MiB/s of writing and of reading, or nothing where it fails or takes too long."""
    name = "flash_io_hdf5" if "hdf5" in options else "flash_io"
    words = [PROGRAMS / library.name / name, "--quiet", "--repeat", "3", "--file", folder / "flash", *options]
    path = {"serried": [], "mpich": [jobs.PEERS / "mpich/lib"], "openmpi": [jobs.PEERS / "openmpi/lib"]}[library.name]
    places = ":".join(map(str, [*path, debian.LIBRARIES])) if name != "flash_io" else ":".join(map(str, path))
    environment = dict(library.environment, LD_LIBRARY_PATH=places)
    outcome = jobs.run_job(library.command(words, ranks), 120, env=environment)
    rates = dict(re.findall(r"^(checkpoint|reading|interleaved) .* (\d+) MiB/s right", outcome.output, re.MULTILINE))
    writing, reading = (rates.get(key) for key in ("checkpoint", "reading"))
    return {"write": float(writing or rates.get("interleaved") or 0) or None, "read": float(reading or 0) or None}


def some_cases(number):
    """Random ones."""
    dice, found = random.Random(number), []
    for _ in range(number):
        if dice.random() < 0.4:
            piece = 1 << dice.randrange(6, 17)
            options = ["--interleave", str(piece)]
        else:
            options = ["--cells", dice.choice(["4", "8", "16"]), "--blocks", str(dice.randrange(4, 60))]
            options += ["--memory", dice.choice(["packed", "guard", "unk"])]
        options += ["--independent"] * (dice.random() < 0.3)
        found.append((" ".join(word.removeprefix("--") for word in options), options, dice.choice([1, 2, 3, 4]), 0.95))
    return found


def ratios(rounds, way):
    """Of each round: ours to the better one of the others."""
    found = []
    for rates in rounds:
        ours, others = rates["serried"][way], [rates[name][way] for name in ("mpich", "openmpi") if rates[name][way]]
        if ours and others:
            found.append(ours / max(others))
    return found


def told(found):
    return f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})" if found else "not measured"


def draw(rows):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in rows if row["write"]][::-1]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(rows)))
    axes.barh([f"{row['case']}, {row['ranks']} ranks" for row in rows], [statistics.median(row["write"]) for row in rows], color="#3a7")
    axes.plot([row["target"] for row in rows], range(len(rows)), "k|", markersize=14, label="target")
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("bandwidth of Serried to the better one of MPICH and Open MPI")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PROGRAMS / "files.png", dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--folder", type=pathlib.Path, default=PROGRAMS)
    parser.add_argument("--sweep", type=int, default=0)
    given = parser.parse_args()
    libraries = [library for library in all_libraries() if library.name in ("serried", "mpich", "openmpi")]
    cases = [case for case in (some_cases(given.sweep) or CASES) if given.only in case[0] and ("hdf5" not in case[1] or debian.IS_THERE)]
    for library in libraries:
        build(library)
    rows = []
    for name, options, ranks, target in cases:
        rounds = [{library.name: run(library, options, ranks, given.folder) for library in libraries} for _ in range(given.rounds)]
        row = {"case": name, "ranks": ranks, "target": target, "write": ratios(rounds, "write"), "read": ratios(rounds, "read")}
        for library in libraries:
            rates = [rates[library.name]["write"] for rates in rounds if rates[library.name]["write"]]
            row[library.name] = round(statistics.median(rates)) if rates else None
        rows.append(row)
        met = "" if row["write"] and statistics.median(row["write"]) >= target else "  BELOW"
        figures = " ".join(f"{library.name} {row[library.name]}" for library in libraries)
        print(f"{name}, {ranks} ranks: write {told(row['write'])} of {target}{met}; read {told(row['read'])}; MiB/s {figures}", flush=True)
    with open(PROGRAMS / "files.csv", "w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    draw(rows)


main()
