#!/usr/bin/env python3
"""Measures the same programs with Serried, MPICH, Open MPI and Intel MPI, in turn, in one run.

    make bench                        about 10 minutes
    BENCH=quick make bench            one repeat
    bench/run.py --libraries mpich serried --programs p2p

Every repeat runs all libraries one after the other, so that what else the machine does hits all alike. Shown are
medians, and how many times better Serried is than the best of the others (below 1.00: worse). A job that takes
too long is stopped; its figures are missing and the table says so. Results go to bench/results/.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

import report

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import jobs  # noqa: E402

PROGRAMS = ROOT / "build/bench"
QUICK = os.environ.get("BENCH") == "quick"

# program, ranks, times in each repeat. "startup" is timed from outside: the whole job, from start to end.
PLAN = [
    ("p2p", 2, 1),
    ("collectives", 2, 1),
    ("collectives", 4, 1),
    ("collectives", 8, 1),
    ("startup", 2, 3),
    ("startup", 8, 2),
    ("startup", 64, 1),
]


class Library:
    """One MPI: how its programs are built and started."""

    def __init__(self, name, title, mpicc, launcher, environment=None):
        self.name, self.title = name, title
        self.mpicc, self.launcher = mpicc, launcher
        self.environment = dict(os.environ, **(environment or {}))

    def program(self, name):
        return PROGRAMS / self.name / name

    def build(self):
        for source in ROOT.glob("bench/*.c"):
            target = self.program(source.stem)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.mpicc, "-O2", source, "-o", target], check=True)

    def run(self, name, ranks, timeout):
        command = [*map(str, self.launcher), "-n", str(ranks), str(self.program(name))]
        return jobs.run_job(command, timeout, env=self.environment)


def libraries():
    peers = jobs.PEERS
    root_flags = ["--allow-run-as-root"] if os.getuid() == 0 else []
    intel = {"I_MPI_ROOT": f"{peers}/impi", "FI_PROVIDER_PATH": f"{peers}/impi/lib"}
    # Intel's wheel has no compiler wrapper: its programs are built with MPICH's, whose ABI it shares.
    intel["LD_LIBRARY_PATH"] = f"{peers}/impi/lib"
    return [
        Library("serried", "Serried", jobs.STAGE / "bin/mpicc", [jobs.STAGE / "bin/mpiexec"]),
        Library("mpich", "MPICH", peers / "mpich/bin/mpicc", [peers / "mpich/bin/mpiexec"]),
        Library("openmpi", "Open MPI", peers / "openmpi/bin/mpicc",
                [peers / "openmpi/bin/mpiexec", *root_flags, "--oversubscribe", "--bind-to", "none"]),
        Library("impi", "Intel MPI", peers / "mpich/bin/mpicc", [peers / "impi/bin/mpiexec.hydra"], intel),
    ]


def measure(library, program, ranks, times, timeout, figures):
    """Runs one program and files its figures under (program, ranks, name, bytes, unit)."""
    for _ in range(times):
        began = time.monotonic()
        outcome = library.run(program, ranks, timeout)
        took = time.monotonic() - began
        if program == "startup" and outcome.ended_well():
            figures.add(library.name, (program, ranks, "start to end", 0, "s"), took)
        for name, size, value, unit in re.findall(r"^([\w-]+) (\d+) (\S+) (\S+)$", outcome.output, re.MULTILINE):
            figures.add(library.name, (program, ranks, name, int(size), unit), float(value))
        if not outcome.ended_well():
            reason = f"stopped after {timeout:.0f} s" if outcome.status is None else f"status {outcome.status}"
            figures.note(f"{library.title}, {program} on {ranks} ranks: {reason}")
            print(f"    {library.title}: {reason}. {outcome.output[-300:].strip()}", flush=True)
            return


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [library.name for library in libraries()]
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--programs", nargs="+", choices=["p2p", "collectives", "startup"])
    parser.add_argument("--repeats", type=int, default=1 if QUICK else 3)
    parser.add_argument("--timeout", type=float, default=30 if QUICK else 60, help="seconds for one job")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def main():
    options = read_options()
    chosen = [library for library in libraries() if library.name in options.libraries]
    plan = [row for row in PLAN if not options.programs or row[0] in options.programs]
    for library in chosen:
        library.build()
    figures = report.Figures({library.name: library.title for library in chosen})
    for repeat in range(1, options.repeats + 1):
        for program, ranks, times in plan:
            print(f"  repeat {repeat} of {options.repeats}: {program} on {ranks} ranks", flush=True)
            for library in chosen:
                measure(library, program, ranks, times, options.timeout, figures)
    report.write(figures, options.out)


if __name__ == "__main__":
    main()
