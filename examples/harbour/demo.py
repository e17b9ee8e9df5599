#!/usr/bin/env python3
"""`make demo`: unmodified programs on Serried, and what came out of it.

1. waves.py, a 2-D wave equation with the mpi4py and numpy wheels of PyPI, on 4 ranks;
2. a picture of the result;
3. how long a job of 4 ranks takes to start and end;
4. a C program in which two ranks throw messages to and fro.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from picture import draw

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RANKS = 4


def title(text):
    print(f"\n== {text}", flush=True)


def run(command, **options):
    """Runs a command in the root folder; a failure ends the demo in plain words."""
    command = [str(word) for word in command]
    result = subprocess.run(command, cwd=ROOT, timeout=600, text=True, **options)
    if result.returncode != 0:
        print(result.stdout or "", file=sys.stderr)
        sys.exit(f"demo: this ended with status {result.returncode}: {' '.join(command)}")
    return result.stdout


def solve(mpiexec, size, out):
    title(f"Storm waves enter a harbour: mpi4py and NumPy on {RANKS} ranks, then once more on one to compare")
    run([mpiexec, "-n", RANKS, sys.executable, HERE / "waves.py", *size, "--out", out])
    return json.loads((out / "harbour.json").read_text())


def measure_start(mpiexec, mpicc, out):
    """Median seconds of a whole job of 4 ranks that does nothing."""
    title(f"Starting and ending an empty C program on {RANKS} ranks, 7 times")
    program = out / "startup"
    run([mpicc, "-O2", ROOT / "bench/startup.c", "-o", program])
    times = []
    for _ in range(7):
        began = time.monotonic()
        run([mpiexec, "-n", RANKS, program])
        times.append(time.monotonic() - began)
    print(f"  {1000 * min(times):.0f} to {1000 * max(times):.0f} ms")
    return statistics.median(times)


def throw_messages(mpiexec, mpicc, out):
    title("A message between two ranks of a C program, one way (the best of what 0.1 s has room for)")
    program = out / "pingpong"
    run([mpicc, "-O2", ROOT / "examples/pingpong.c", "-o", program])
    run([mpiexec, "-n", 2, program])


def summary(report, picture, start, tree):
    title("What ran, and is it right")
    equal = f"all {report['values']:,} values are equal to the serial run's, to the last bit"
    differ = f"WRONG: {report['values_that_differ']:,} of {report['values']:,} values differ from the serial run's"
    print(f"  The harbour:  {report['steps']} steps on {report['ranks']} ranks in {report['seconds']:.1f} s", end="")
    print(f" ({report['seconds_alone']:.1f} s on one rank);")
    print(f"                {equal if report['right'] else differ}")
    print(f"                (energy, summed by MPI_Allreduce: relative difference {report['energy_difference']:.1e})")
    print(f"  The start:    {1000 * start:.0f} ms for a whole job of {RANKS} ranks, start to end")
    print(f"  The picture:  {os.path.relpath(picture)}; left the water at the end,")
    print("                right the highest that each place has seen, from dark (none) to bright (1.4 m)")
    tree = os.path.relpath(tree)
    print("\n  To try next:")
    print(f"    {tree}/bin/mpiexec -n 4 python your_program.py    your own, with the mpi4py of your own venv")
    print(f"    {tree}/bin/serried run --stats -n 4 build/venv/bin/python examples/harbour/waves.py")
    print(f"    {tree}/bin/mpicc your_program.c && {tree}/bin/mpiexec -n 4 ./a.out")
    if tree != "stage":
        print("    make          this tree was compiled in haste; `make` builds the real one, in stage/, and takes its time")
    print("    make test     all tests;  make bench  side by side with other MPIs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "stage", help="the Serried to use (stage)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/demo", help="folder for results (build/demo)")
    parser.add_argument("size", nargs="*", help="options of waves.py, after --, such as --columns 240 --seconds 60")
    options = parser.parse_args()
    out, mpiexec, mpicc = options.out.resolve(), options.tree.resolve() / "bin/mpiexec", options.tree.resolve() / "bin/mpicc"
    out.mkdir(parents=True, exist_ok=True)
    report = solve(mpiexec, options.size, out)
    picture = draw(out)
    start = measure_start(mpiexec, mpicc, out)
    throw_messages(mpiexec, mpicc, out)
    summary(report, picture, start, options.tree)
    sys.exit(0 if report["right"] else 1)


if __name__ == "__main__":
    main()
