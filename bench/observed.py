#!/usr/bin/env python3
"""What the rank's page and the flight recorder cost: messages of 8 bytes with and without them, in turns.

    bench/observed.py [TURNS]     builds both libraries (minutes the first time), then runs

The library without them is the same source with the cargo feature `unobserved`. Prints for both the least and the
median of the turns, in nanoseconds one way, and their ratio in turns that follow each other: from second to second the
cores of a virtual machine are nearer or farther from each other, which changes such a message by a factor of three. Two
builds that differ by a handful of instructions may differ by 5 % through where the code lies, and when a rank looks: a
library whose notes were replaced by instructions that do nothing took 1.00 to 1.01 of the time with them, and one of which
only those between receive and send were replaced, 1.03.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGE, TARGET = ROOT / "stage", ROOT / "target"


def build():
    """Gives the folders of the two libraries."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "serried-mpi-standard"]
    without = TARGET / "unobserved"
    subprocess.run(command, cwd=ROOT, check=True)
    subprocess.run([*command, "--features", "unobserved", "--target-dir", without], cwd=ROOT, check=True)
    return {"with": TARGET / "release", "without": without / "release"}


def run(program, library):
    """Nanoseconds of a message; the library is found under the name that programs ask for."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "libmpi_abi.so.1").symlink_to(library / "libserried.so")
        command = [STAGE / "bin/serried", "run", "-n", "2", "--library-path", "keep", "-x", f"LD_LIBRARY_PATH={folder}", program]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    libraries = build()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "observed"
        subprocess.run([STAGE / "bin/mpicc", "-O2", "-o", program, ROOT / "bench/observed.c"], check=True)
        times = {name: [] for name in libraries}
        for turn in range(turns):
            order = list(libraries) if turn % 2 == 0 else list(reversed(libraries))
            for name in order:
                times[name].append(run(program, libraries[name]))
    for name, taken in times.items():
        print(f"{name:8} least {min(taken):7.2f} ns  median {statistics.median(taken):7.2f} ns  of {turns} turns")
    ratios = [with_them / without for with_them, without in zip(times["with"], times["without"])]
    least = min(times["with"]) / min(times["without"])
    print(f"ratio    least {least:.3f}     median of the turns' {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
