#!/usr/bin/env python3
"""`make demo`: unmodified programs on Serried, and what came out of it.

1. waves.py, a 2-D wave equation with the mpi4py and numpy wheels of PyPI, on 4 ranks;
2. a picture of the result;
3. how long a job of 4 ranks takes to start and end;
4. Intel's IMB-MPI1, the binary of the impi-rt wheel.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "build/demo"
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


def shown(path):
    return path.relative_to(ROOT)


def solve(mpiexec):
    title(f"Storm waves enter a harbour: mpi4py and NumPy on {RANKS} ranks, then once more on one to compare")
    run([*mpiexec, "-n", RANKS, sys.executable, HERE / "waves.py", "--out", OUT])
    return json.loads((OUT / "harbour.json").read_text())


def draw():
    return pathlib.Path(run([sys.executable, HERE / "picture.py", OUT], stdout=subprocess.PIPE).strip())


def measure_start(mpiexec, mpicc):
    """Median seconds of a whole job of 4 ranks that does nothing."""
    title(f"Starting and ending an empty C program on {RANKS} ranks, 7 times")
    program = OUT / "startup"
    run([mpicc, "-O2", ROOT / "bench/startup.c", "-o", program])
    times = []
    for _ in range(7):
        began = time.monotonic()
        run([*mpiexec, "-n", RANKS, program])
        times.append(time.monotonic() - began)
    print(f"  {1000 * min(times):.0f} to {1000 * max(times):.0f} ms")
    return statistics.median(times)


def run_intel_benchmark(mpiexec):
    """Shows the tables as Intel's program prints them, without its long heading."""
    title("Intel's IMB-MPI1 PingPong Allreduce, unmodified (built by Intel against its own library)")
    imb = ROOT / "build/peers/impi/bin/IMB-MPI1"
    limits = ["-npmin", 2, "-msglog", "3:20", "-iter", "1000,64", "-time", "2"]
    output = run([*mpiexec, "-n", 2, imb, *limits, "PingPong", "Allreduce"], stdout=subprocess.PIPE)
    tables = output[output.index("#-----", output.index("List of Benchmarks")) :]
    print("".join(f"  {line}\n" for line in tables.splitlines() if line.strip()))


def summary(report, picture, start):
    title("What ran, and is it right")
    equal = f"all {report['values']:,} values are equal to the serial run's, to the last bit"
    differ = f"WRONG: {report['values_that_differ']:,} of {report['values']:,} values differ from the serial run's"
    print(f"  The harbour:  {report['steps']} steps on {report['ranks']} ranks in {report['seconds']:.1f} s", end="")
    print(f" ({report['seconds_alone']:.1f} s on one rank);")
    print(f"                {equal if report['right'] else differ}")
    print(f"                (energy, summed by MPI_Allreduce: relative difference {report['energy_difference']:.1e})")
    print(f"  The start:    {1000 * start:.0f} ms for a whole job of {RANKS} ranks, start to end")
    print("  Intel's IMB:  ran to its end")
    print(f"  The picture:  {shown(picture)}")
    print("\n  To try next:")
    print("    stage/bin/mpiexec -n 4 python your_program.py    your own, with the mpi4py of your own venv")
    print("    stage/bin/serried run --stats -n 4 build/venv/bin/python examples/harbour/waves.py")
    print("    stage/bin/mpicc your_program.c && stage/bin/mpiexec -n 4 ./a.out")
    print("    make test, make bench")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", default=f"{ROOT}/stage/bin/mpiexec", help="launcher to use")
    parser.add_argument("--mpicc", default=f"{ROOT}/stage/bin/mpicc", help="compiler to use")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    mpiexec = options.mpiexec.split()
    report = solve(mpiexec)
    picture = draw()
    start = measure_start(mpiexec, options.mpicc)
    run_intel_benchmark(mpiexec)
    summary(report, picture, start)
    sys.exit(0 if report["right"] else 1)


if __name__ == "__main__":
    main()
