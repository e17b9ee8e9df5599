#!/usr/bin/env python3
"""Runs mpi4py's own test suite, unmodified, on Serried.

    tests/mpi4py/run.py                         every run listed in RUNS
    tests/mpi4py/run.py --launcher serried --ranks 2
    tests/mpi4py/run.py --modules test_op       only test modules whose name matches
    tests/mpi4py/run.py --by-module             one job for each module: slower, shows what hangs

What is left out, and why, is in skipped.toml beside this file. Each rank writes its own log; the numbers come
from what unittest says at the end of each log, so a rank that dies or hangs is a failure.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

SUITE = next(iter(sorted(jobs.BUILD.glob("mpi4py-*/test"))), None)
LOGS = jobs.BUILD / "test/mpi4py"

# launcher, ranks, which mpi4py. "wheel" is the unmodified wheel of PyPI: it speaks the MPICH ABI.
# "standard" is mpi4py built from its source with our own mpicc and mpi.h: it speaks the MPI-5 standard ABI.
RUNS = [
    ("serried", 1, "wheel"),
    ("serried", 2, "wheel"),
    ("serried", 5, "wheel"),
    ("hydra", 2, "wheel"),
    ("hydra", 5, "wheel"),
    ("serried", 2, "standard"),
]
# Python itself is what is started, as a user would, so that it gets what the launcher has for Python.
TO_OWN_LOG = """
import os, runpy, sys
log = os.open(f"{sys.argv[1]}/{os.getpid()}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
os.dup2(log, 1), os.dup2(log, 2)
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
PYTHONS = {"wheel": jobs.PYTHON, "standard": jobs.BUILD / "venv-standard/bin/python"}


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


def suite_arguments(include):
    modules, tests = read_skips()
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


def run_suite(run, include, timeout, options):
    """One job over the suite (or the modules in `include`); its logs are left in build/test/mpi4py."""
    launcher, ranks, binding = run
    logs = LOGS / "-".join([pathlib.Path(launcher).name, str(ranks), binding, *[m.strip("^$") for m in include]])
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    program = [PYTHONS[binding], "-c", TO_OWN_LOG, logs, SUITE / "main.py", *suite_arguments(include)]
    env = jobs.environment(options.library, MPI4PY_TEST_SPAWN="no", PYTHONFAULTHANDLER="1")
    outcome = jobs.run_job(jobs.job_command(launcher, ranks, program), timeout, env=env)
    (logs / "launcher.txt").write_text(outcome.output)
    return judge(logs, ranks, outcome)


def judge(logs, ranks, outcome):
    result = Result()
    texts = [p.read_text(errors="replace") for p in logs.glob("*.log")]
    texts.sort(key=lambda t: int((re.search(r"^\[(\d+)@", t, re.MULTILINE) or [0, 1 << 30])[1]))
    for rank, text in enumerate(texts):
        read_log(text, rank, result)
    if len(texts) != ranks:
        result.fail(f"{len(texts)} of {ranks} ranks started", -1)
    if outcome.status is None:
        result.fail("time was up", -1)
    elif outcome.status != 0 and (not result.failures or any("did not end" in test for test in result.failures)):
        result.fail(f"exit status {outcome.status}: {outcome.output[-300:].strip()}", -1)
    return result


def run_by_module(run, include, options):
    """One job for each module, with a short limit for each, and a line for each that fails."""
    skipped, _ = read_skips()
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
    parser.add_argument("--launcher", help="serried, hydra, or a command line")
    parser.add_argument("--ranks", help="numbers of ranks, with commas")
    parser.add_argument("--binding", default=None, choices=PYTHONS, help="which mpi4py")
    parser.add_argument("--library", default=jobs.STAGE / "lib", help="folder of the MPI library to load")
    parser.add_argument("--modules", action="append", default=[], help="only test modules matching this")
    parser.add_argument("--by-module", action="store_true", help="one job for each module")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run (600)")
    return parser.parse_args()


def main():
    options = read_options()
    runs = [r for r in RUNS if options.binding in (None, r[2])]
    if options.launcher or options.ranks:
        sizes = [int(n) for n in (options.ranks or "1,2,5").split(",")]
        runs = [(options.launcher or "serried", n, options.binding or "wheel") for n in sizes]
    if any(binding == "standard" for _, _, binding in runs):
        subprocess.run([HERE / "build_standard"], check=True)
    total = Result()
    for run in runs:
        began = time.monotonic()
        if options.by_module:
            result = run_by_module(run, options.modules, options)
        else:
            result = run_suite(run, options.modules, options.timeout, options)
        launcher, ranks, binding = run
        took = time.monotonic() - began
        print(f"mpi4py ({binding}) under {launcher} -n {ranks}: {result.line()}  [{took:.0f} s]", flush=True)
        show_failures(result)
        result.failures = {f"{run} {test}": ranks for test, ranks in result.failures.items()}
        total.add(result)
    failed = len(total.failures)
    jobs.finish(max(total.ran - total.skipped - failed, 0), failed, total.skipped)


if __name__ == "__main__":
    main()
