#!/usr/bin/env python3
"""How long mpi4py's suite takes on Serried and on Open MPI: the same tests, the same tests left out, in turns.

    tests/mpi4py/compare.py                    5 ranks, the whole suite in 8 groups of modules
    tests/mpi4py/compare.py --ranks 2 --groups 1
    tests/mpi4py/compare.py --groups 16 --group 3    only one of the groups

For each group one job on each, Serried first. Wall time, and the processor time of all ranks, are summed up. Tests
that mpi4py leaves out by itself for one of the libraries (it knows Open MPI's faults) are counted.
"""

import argparse
import os
import re
import resource
import sys
import time

import run
from run import SUITE, jobs

OPEN_MPI = jobs.PEERS / "openmpi"
# name, launcher, folder of the library
RIVALS = [
    ("Serried", "serried", jobs.STAGE / "lib"),
    ("Open MPI", f"{OPEN_MPI}/bin/mpiexec --allow-run-as-root --oversubscribe --bind-to none", OPEN_MPI / "lib"),
]
# mpi4py skips it by itself where there are no windows.
LEFT_OUT = ["test_util_sync"]
RAN = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
SKIPPED = re.compile(r"skipped=(\d+)")


def groups(count):
    """The modules in `count` groups, in turn, so that long and short ones mix."""
    left_out = [*run.read_skips()[0], *LEFT_OUT]
    modules = [path.stem for path in sorted(SUITE.glob("test_*.py")) if path.stem not in left_out]
    return [modules[first::count] for first in range(count)]


def measure(rival, ranks, modules, timeout):
    """(wall, processor seconds, tests, skipped) of one job; exits if it fails."""
    name, launcher, library = rival
    program = [jobs.PYTHON, SUITE / "main.py", *run.suite_arguments([rf"^{module}\.py$" for module in modules])]
    command = jobs.job_command(launcher, ranks, program)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    outcome = jobs.run_job(command, timeout, env=jobs.environment(library, MPI4PY_TEST_SPAWN="no"))
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if not outcome.ended_well():
        tests = re.findall(r"^(?:FAIL|ERROR): .*", outcome.output, re.MULTILINE)
        print(f"  {name} failed with {modules}: status {outcome.status}; {sorted(set(tests))[:9]}", file=sys.stderr)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ran = [int(n) for n in RAN.findall(outcome.output)]
    skipped = [int(n) for n in SKIPPED.findall(outcome.output)]
    return wall, processor, sum(ran) // ranks, sum(skipped) // ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("--groups", type=int, default=8, help="jobs into which the suite is divided (8)")
    parser.add_argument("--group", type=int, help="only this group, from 0 on")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one job")
    options = parser.parse_args()
    os.environ.pop("MPI4PY_MPIABI", None)
    totals = {name: [0.0] * 4 for name, _, _ in RIVALS}
    chosen = groups(options.groups)
    for modules in chosen if options.group is None else [chosen[options.group]]:
        for rival in RIVALS:
            figures = measure(rival, options.ranks, modules, options.timeout)
            totals[rival[0]] = [total + figure for total, figure in zip(totals[rival[0]], figures)]
            print(f"  {rival[0]:9} {figures[0]:7.2f} s wall {figures[1]:7.2f} s processor  {len(modules)} modules", flush=True)
    for name, (wall, processor, tests, skipped) in totals.items():
        print(f"{name:9} {wall:7.1f} s wall {processor:7.1f} s processor, {tests:.0f} tests, {skipped:.0f} of them skipped")
    ours, theirs = totals["Serried"], totals["Open MPI"]
    print(f"ratio     {ours[0] / theirs[0]:7.3f}   wall {ours[1] / theirs[1]:7.3f}   processor")


if __name__ == "__main__":
    main()
