#!/usr/bin/env python3
"""Runs mpi4py's own test suite, unmodified, on Serried.

    tests/mpi4py/run.py                         the runs of `make test`, listed in RUNS
    tests/mpi4py/run.py --more-ranks            those of MORE_RANKS, with which `make test` ends
    tests/mpi4py/run.py --everything            every launcher, binding, number of ranks, means of copying, nodes
    tests/mpi4py/run.py --launcher serried,hydra --ranks 2,5 --binding wheel --copy cells --nodes 2
    tests/mpi4py/run.py --modules test_op       only test modules whose name matches
    tests/mpi4py/run.py --by-module             one job for each module: slower, shows what hangs

Lists have commas; all combinations are run. What is left out, and why, is in skipped.toml beside this file. Each rank
writes its own log; the numbers come from what unittest says at the end of each log, so a rank that dies or hangs is a
failure.
"""

import argparse
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

# An older one may be there too, for `make applications`, whose suite begins otherwise.
SUITE = next((main.parent for main in sorted(jobs.BUILD.glob("mpi4py-*/test/main.py"))), None)
LOGS = jobs.BUILD / "test/mpi4py"


@dataclass(frozen=True)
class Run:
    """One job. `binding` says which mpi4py: "wheel" is the unmodified wheel of PyPI and speaks the MPICH ABI;
    "standard" is built from mpi4py's source with our own mpicc and mpi.h and speaks the MPI-5 standard ABI; "openmpi" is
    the wheel, told to speak Open MPI's.
    """

    launcher: str
    ranks: int
    binding: str = "wheel"
    copy: str = ""  # the best means of copying that may be used, as in SERRIED_COPY
    nodes: str = ""  # how many nodes the ranks pretend to be on, as in SERRIED_NODES
    transport: str = ""  # how ranks of other nodes are reached, as in SERRIED_TRANSPORT

    def settings(self):
        abi = "openmpi" if self.binding == "openmpi" else ""
        given = {
            "SERRIED_COPY": self.copy,
            "SERRIED_NODES": self.nodes,
            "SERRIED_TRANSPORT": self.transport,
            "MPI4PY_MPIABI": abi,
        }
        return {name: value for name, value in given.items() if value}

    def __str__(self):
        settings = "".join(f", {name}={value}" for name, value in self.settings().items())
        return f"({self.binding}) under {self.launcher} -n {self.ranks}{settings}"

    def folder(self):
        words = [pathlib.Path(self.launcher).name, str(self.ranks), self.binding, self.copy, self.nodes, self.transport]
        return "-".join(word for word in words if word)


def combinations(launchers, ranks, bindings=("wheel",), copies=("",), nodes=("",), transports=("",)):
    return [Run(*run) for run in itertools.product(launchers, ranks, bindings, copies, nodes, transports)]


# What `make test` runs; at its end, if there is time, MORE_RANKS.
RUNS = [
    *combinations(["serried"], [1, 2]),
    *combinations(["serried"], [2], ["standard", "openmpi"]),
    *combinations(["serried"], [4], nodes=["2"]),
    *combinations(["serried"], [2], transports=["loopback"]),
]
MORE_RANKS = [*combinations(["serried"], [5]), *combinations(["hydra"], [2, 5])]
# These modules call nothing in which another rank has a part, and are most of the work: `make test` has one rank run
# them with each binding, and all other modules in RUNS and MORE_RANKS.
LOCAL = ["test_util_dtlib", "test_datatype"]
LOCAL_RUNS = combinations(["serried"], [1], ["wheel", "standard", "openmpi"])
# What must be right before a release: well over an hour.
EVERYTHING = [
    *combinations(["serried"], [1, 2, 3, 4, 5, 8], ["wheel", "standard", "openmpi"]),
    *combinations(["hydra"], [1, 2, 3, 4, 5, 8]),
    *combinations(["serried"], [2, 5, 8], copies=["direct", "cross-memory", "memory-file", "cells"]),
    *combinations(["serried"], [4, 8], nodes=["2"]),
    *combinations(["serried"], [2, 4], transports=["loopback", "loopback:7"]),
]
# Python itself is what is started, as a user would, so that it gets what the launcher has for Python.
TO_OWN_LOG = """
import os, runpy, sys
log = os.open(f"{sys.argv[1]}/{os.uname().nodename}-{os.getpid()}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
os.dup2(log, 1), os.dup2(log, 2)
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
PYTHONS = {"wheel": jobs.PYTHON, "openmpi": jobs.PYTHON, "standard": jobs.BUILD / "venv-standard/bin/python"}


class Result:
    """What the ranks of one job said at their ends."""

    def __init__(self):
        self.ran = 0
        self.skipped = 0
        self.failures = {}  # test -> ranks where it failed

    def fail(self, test, rank):
        self.failures.setdefault(test, []).append(rank)

    def add(self, other):
        self.ran += other.ran
        self.skipped += other.skipped
        self.failures.update(other.failures)

    def line(self):
        passed = self.ran - self.skipped - len(self.failures)
        return f"{max(passed, 0)} passed, {len(self.failures)} failed, {self.skipped} skipped"


def read_skips():
    """The modules and test patterns left out, from skipped.toml."""
    chapters = tomllib.loads((HERE / "skipped.toml").read_text())["chapter"]
    modules = [m for c in chapters for m in c.get("modules", [])]
    tests = [t for c in chapters for t in c.get("tests", [])]
    return modules, tests


def suite_arguments(include, leave_out=()):
    modules, tests = read_skips()
    modules = [*modules, *leave_out]
    arguments = ["-v", "--no-builddir"]
    for module in modules:
        arguments += ["-e", rf"^{module}\.py$"]
    for test in tests:
        arguments += ["-x", test]
    for module in include:
        arguments += ["-i", module]
    return arguments


def read_log(text, rank, result):
    """Adds one rank's log to the result. Only rank 0's counts are taken; failures of all ranks are."""
    for test in set(re.findall(r"^(?:FAIL|ERROR): (\w+ \([\w.]+\)|.+)", text, re.MULTILINE)):
        result.fail(short_name(test), rank)
    ran = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
    if not ran:
        begun = re.findall(r"^(test\w+ \(.*?\)) .*\.\.\. ", text, re.MULTILINE)
        last = short_name(begun[-1]) if begun else "before the first test"
        result.fail(f"did not end (last: {last})", rank)
        return
    if rank == 0:
        skipped = re.search(r"skipped=(\d+)", text[ran.end() :])
        result.ran += int(ran.group(1))
        result.skipped += int(skipped.group(1)) if skipped else 0


def short_name(test):
    """`testX (test_y.TestZ.testX)` is `test_y.TestZ.testX`."""
    inside = re.search(r"\(([\w.]+)\)", test)
    return inside.group(1) if inside else test.strip(" .")


def run_suite(run, include, timeout, options, leave_out=()):
    """One job over the suite (or the modules in `include`); its logs are left in build/test/mpi4py."""
    logs = LOGS / "-".join([run.folder(), *[m.strip("^$") for m in include]])
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    program = [PYTHONS[run.binding], "-c", TO_OWN_LOG, logs, SUITE / "main.py", *suite_arguments(include, leave_out)]
    env = jobs.environment(options.library, MPI4PY_TEST_SPAWN="no", PYTHONFAULTHANDLER="1", **run.settings())
    outcome = jobs.run_job(jobs.job_command(run.launcher, run.ranks, program), timeout, env=env)
    (logs / "launcher.txt").write_text(outcome.output)
    return judge(logs, run.ranks, outcome)


def judge(logs, ranks, outcome):
    result = Result()
    texts = [p.read_text(errors="replace") for p in logs.glob("*.log")]
    texts.sort(key=lambda t: int((re.search(r"^\[(\d+)@", t, re.MULTILINE) or [0, 1 << 30])[1]))
    for rank, text in enumerate(texts):
        read_log(text, rank, result)
    if len(texts) != ranks:
        result.fail(f"{len(texts)} of {ranks} ranks started", -1)
    said = outcome.output.strip()[-1500:].replace("\n", "\n      | ")  # a verdict, if the job hung
    if outcome.status is None:
        result.fail(f"time was up; the launcher had said: {said}", -1)
    elif outcome.status != 0 and (not result.failures or any("did not end" in test for test in result.failures)):
        result.fail(f"exit status {outcome.status}: {said}", -1)
    return result


def run_by_module(run, include, options, leave_out):
    """One job for each module, with a short limit for each, and a line for each that fails."""
    skipped = [*read_skips()[0], *leave_out]
    pattern = re.compile("|".join(include) or ".")
    total = Result()
    for path in sorted(SUITE.glob("test_*.py")):
        if path.stem in skipped or not pattern.search(path.stem):
            continue
        result = run_suite(run, [f"^{path.stem}"], options.timeout / 10, options)
        total.add(result)
        print(f"  {path.stem:28} {result.line()}", flush=True)
        show_failures(result)
    return total


def show_failures(result):
    for test, ranks in list(result.failures.items())[:40]:
        where = "" if ranks == [-1] else f"  (rank {', '.join(map(str, ranks))})"
        print(f"    {test}{where}", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--everything", action="store_true", help="all runs that must be right")
    parser.add_argument("--more-ranks", action="store_true", help="the runs with which `make test` ends")
    parser.add_argument("--launcher", default="serried", help="serried, hydra, or a command line")
    parser.add_argument("--ranks", help="numbers of ranks")
    parser.add_argument("--binding", default="wheel", help="which mpi4py: wheel, standard, openmpi")
    parser.add_argument("--copy", default="", help="means of copying, as in SERRIED_COPY")
    parser.add_argument("--nodes", default="", help="nodes to pretend, as in SERRIED_NODES")
    parser.add_argument("--transport", default="", help="how other nodes are reached, as in SERRIED_TRANSPORT")
    parser.add_argument("--library", default=jobs.STAGE / "lib", help="folder of the MPI library to load")
    parser.add_argument("--modules", action="append", default=[], help="only test modules matching this")
    parser.add_argument("--by-module", action="store_true", help="one job for each module")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run (600)")
    return parser.parse_args()


def runs_of(options):
    """The runs that are asked for, each with the modules that it is to include and to leave out: all combinations if
    numbers of ranks are given, else a list above."""
    if options.everything:
        return [(run, options.modules, []) for run in EVERYTHING]
    if options.more_ranks or not options.ranks:
        runs = MORE_RANKS if options.more_ranks else RUNS
        local = [] if options.modules or options.more_ranks else [(run, LOCAL, []) for run in LOCAL_RUNS]
        return [*((run, options.modules, [] if options.modules else LOCAL) for run in runs), *local]
    lists = [options.launcher, options.ranks, options.binding, options.copy, options.nodes, options.transport]
    launchers, ranks, bindings, copies, nodes, transports = (text.split(",") for text in lists)
    chosen = combinations(launchers, map(int, ranks), bindings, copies, nodes, transports)
    return [(run, options.modules, []) for run in chosen]


def main():
    options = read_options()
    runs = runs_of(options)
    if any(run.binding == "standard" for run, _, _ in runs):
        subprocess.run([HERE / "build_standard"], check=True)
    total = Result()
    for run, include, leave_out in runs:
        began = time.monotonic()
        if options.by_module:
            result = run_by_module(run, include, options, leave_out)
        else:
            result = run_suite(run, include, options.timeout, options, leave_out)
        took = time.monotonic() - began
        print(f"mpi4py {run}{', local modules' if include is LOCAL else ''}: {result.line()}  [{took:.0f} s]", flush=True)
        show_failures(result)
        result.failures = {f"{run} {test}": ranks for test, ranks in result.failures.items()}
        total.add(result)
    failed = len(total.failures)
    jobs.finish(max(total.ran - total.skipped - failed, 0), failed, total.skipped)


if __name__ == "__main__":
    main()
