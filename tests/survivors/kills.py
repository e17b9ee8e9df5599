#!/usr/bin/env python3
"""Random kills inside of calls of every kind, on one node: each survivor has to return, with the right class, and soon.

    tests/survivors/kills.py                    the long form: 10 000 kills
    tests/survivors/kills.py --kills 200 --seed 7 --ranks 2,4,8

For each kind of call it tells how often, and how long it took from the death until a survivor returned. A survivor that has
not returned when a job is given up, or another error than that of a failed process, ends it with a sentence and status 1.
"""

import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1] / os.environ.get("TREE", "stage")


def build(folder):
    program = folder / "kills"
    subprocess.run([TREE / "bin/mpicc", "-O1", "-I", HERE, HERE / "kills.c", "-o", program], check=True)
    return program


def run(program, folder, seed, ranks, patience=300):
    """One job: what its survivors have told. Raises if it has not ended well."""
    words = [TREE / "bin/serried", "run", "-n", ranks, "--on-failure=continue", "--timeout", patience, program, seed, folder / f"{seed}"]
    job = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=folder)
    for left in folder.glob(f"{seed}*"):
        left.unlink()
    lines = [line.rsplit(": ", 1) for line in job.stdout.splitlines() if line != "well"]
    # Each kill is told by all that are left.
    is_whole = len(lines) == ranks * (ranks - 1) // 2 and job.stdout.count("well") == 1
    if job.returncode != 0 or not is_whole:
        raise RuntimeError(f"seed {seed}, {ranks} ranks: status {job.returncode}\n{job.stdout}{job.stderr}")
    return [(kind, float(delay)) for kind, delay in lines]


def told(delays):
    for kind, of_kind in sorted(delays.items()):
        print(f"{kind:22} {len(of_kind):6} survivors: median {statistics.median(of_kind):8.2f} ms, at most {max(of_kind):8.2f}")
    every = [delay for of_kind in delays.values() for delay in of_kind]
    late = sum(delay > 100 for delay in every)
    print(f"all: {len(every)} survivors, median {statistics.median(every):.2f} ms, at most {max(every):.2f}, {late} after more than 100 ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10_000, help="how many (10 000)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--ranks", default="2,3,4,6,8", help="ranks of the jobs, in turns")
    options = parser.parse_args()
    sizes, delays = [int(word) for word in options.ranks.split(",")], collections.defaultdict(list)
    kills, seed, began = 0, options.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = build(folder)
        while kills < options.kills:
            ranks = sizes[seed % len(sizes)]
            try:
                for kind, delay in run(program, folder, seed, ranks):
                    delays[kind].append(delay)
            except RuntimeError as failure:
                print(f"after {kills} kills: {failure}")
                return 1
            kills, seed = kills + ranks - 1, seed + 1
    told(delays)
    print(f"{kills} kills in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
