#!/usr/bin/env python3
"""Runs Intel's benchmarks, the unmodified binaries of the impi-rt wheel, to the end, and checks their data.

    tests/imb/run.py                                    IMB-MPI1, IMB-P2P, IMB-NBC, IMB-RMA, IMB-MT, np 2 and 8
    tests/imb/run.py --suites MPI1 --ranks 2 Allreduce  only these benchmarks
    tests/imb/run.py --device-driver FOLDER             IMB-MPI1-GPU, with the libcuda.so.1 and libcudart.so of a folder

The binaries in the wheel are built without data checking. So checker.c stands between them and the library, through
MPI's profiling interface, and checks every message, every collective, and what is put and got one-sidedly. (IMB-MT
checks by itself.) What IMB prints is checked too: each benchmark must have its table, and the last line must be there.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

LOGS = jobs.BUILD / "test/imb"
CHECKER = LOGS / "checker.so"
# IMB-MT is built with Intel's OpenMP, which has a wheel of its own.
OPENMP = jobs.PEERS / "intel/lib"
NOT_BY_DEFAULT = "Biband,Uniband,PingPongSpecificSource,PingPongAnySource,PingPingSpecificSource,PingPingAnySource"
TOO_FEW_RANKS = {"Stencil2D", "Stencil3D"}  # IMB leaves them out with 2 ranks, and says so
FOR_TWO_RANKS = {"Fetch_and_op", "Compare_and_swap"}  # IMB leaves them out where `-npmin` is more than 2


@dataclass
class Suite:
    """One binary: its arguments (few repetitions, the full number of ranks only) and what its output must hold.

    Lengths go from 0 to 1 MiB on two ranks, to 128 KiB on more.
    """

    name: str
    arguments: list
    more: list = field(default_factory=list)  # unless benchmarks are named
    tables: tuple = ()  # benchmarks that must have a table, where the output has no list of them
    checks_itself: bool = False
    planted: str = "PingPong"
    takes_limits: bool = True
    of_device: bool = False  # run only with a driver

    def label(self):
        return f"{self.name}-{self.arguments[-1]}" if self.of_device else self.name

    def program(self, ranks, benchmarks):
        lengths = [] if self.checks_itself else ["-msglog", "0:20" if ranks < 4 and not self.of_device else "0:17"]
        limits = ["-npmin", str(ranks), "-time", "1"] if self.takes_limits else []
        binary = jobs.PEERS / f"impi/bin/IMB-{self.name}"
        return [binary, *limits, *lengths, *self.arguments, *(benchmarks or self.more)]


SUITES = [
    Suite("MPI1", ["-iter", "20,20"], ["-include", NOT_BY_DEFAULT]),
    Suite("P2P", ["-iter", "20"], takes_limits=False),
    Suite("NBC", ["-iter", "10,10"], planted="Ibcast"),
    Suite("RMA", ["-iter", "20,20"], planted="Unidir_put"),
    Suite(
        "MT",
        ["-thread_level", "multiple", "-check", "on", "-repeat", "20", "-count", "1,1000,50000"],
        tables=tuple("PingPongMT PingPingMT SendRecvMT ExchangeMT UniBandMT BiBandMT BarrierMT BcastMT ReduceMT "
                     "AllReduceMT".split()),
        checks_itself=True, planted="PingPongMT", takes_limits=False),
    *[Suite("MPI1-GPU", ["-iter", "4,4", "-mem_alloc_type", kind], of_device=True) for kind in ("device", "shared", "host")],
]


def build_checker():
    """The checker is compiled with MPICH's header, for the benchmarks speak the MPICH ABI."""
    LOGS.mkdir(parents=True, exist_ok=True)
    sources = [HERE / name for name in ("checker.c", "memory.c", "messages.c", "collectives.c", "windows.c")]
    flags = ["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{jobs.PEERS}/mpich/include"]
    subprocess.run(["cc", *flags, *sources, "-o", CHECKER], check=True)


def run_program(options, ranks, program, **extra):
    variables = {"LD_PRELOAD": CHECKER, "OMP_NUM_THREADS": "2", **extra}
    command = ["env", *[f"{name}={value}" for name, value in variables.items()], *map(str, program)]
    folders = [options.device_driver, options.library, OPENMP]
    env = jobs.environment(":".join(str(folder) for folder in folders if folder))
    return jobs.run_job(jobs.job_command(options.launcher, ranks, command), options.timeout, env=env)


def tables_in(text):
    return re.findall(r"^# Benchmarking (\w+)", text, re.MULTILINE)


def problems_in(outcome, suite, ranks, benchmarks):
    """Every reason why this run is not good, in words."""
    text = outcome.output
    if outcome.status is None:
        yield f"time was up in {(tables_in(text) or ['start'])[-1]}"
    elif outcome.status != 0:
        yield f"exit status {outcome.status}"
    asked = re.findall(r"^# (\w+)$", text.split("# List of Benchmarks to run:")[-1].split("#---")[0], re.MULTILINE)
    asked = set(asked) if not suite.tables else set(benchmarks or suite.tables)
    for name in sorted(asked - set(tables_in(text)) - (TOO_FEW_RANKS if ranks < 4 else FOR_TWO_RANKS)):
        yield f"{name} has no table"
    if not suite.checks_itself and "All processes entering MPI_Finalize" not in text:
        yield "IMB did not come to its end"
    if "CHECK FAILURES" in text:
        yield "IMB's own check failed"
    yield from problems_of_checker(text, suite, ranks)


def problems_of_checker(text, suite, ranks):
    reports = re.findall(r"imb-check: rank \d+: (\d+) calls, \d+ bytes, (\d+) defects", text)
    if len(reports) != ranks:
        yield f"{len(reports)} of {ranks} ranks reported their checks"
    if any(calls == "0" for calls, _ in reports) and not suite.checks_itself:
        yield "a rank checked nothing"
    if any(defects != "0" for _, defects in reports):
        yield "; ".join(re.findall(r"DEFECT.*", text)) or "defects"


def run_suite(options, suite, ranks):
    """One suite on so many ranks: (tables that were right, whether it failed)."""
    began = time.monotonic()
    outcome = run_program(options, ranks, suite.program(ranks, options.benchmarks))
    (LOGS / f"{suite.label()}-np{ranks}.log").write_text(outcome.output)
    problems = list(problems_in(outcome, suite, ranks, options.benchmarks))
    tables = len(tables_in(outcome.output))
    calls = sum(map(int, re.findall(r"imb-check: rank \d+: (\d+) calls", outcome.output)))
    word = "FAILED: " + "; ".join(problems) if problems else "all data right"
    checked = "checks itself" if suite.checks_itself else f"{calls} calls checked"
    took = time.monotonic() - began
    print(f"IMB-{suite.label()} -n {ranks}: {tables} benchmarks, {checked}, {word}  [{took:.0f} s]", flush=True)
    return (0 if problems else tables), bool(problems)


def planted_defect_is_seen(options, suite):
    outcome = run_program(options, 2, suite.program(2, [suite.planted]), IMB_CHECK_PLANT="1")
    seen = bool(re.search("DEFECT in MPI_|CHECK FAILURES", outcome.output))
    print(f"a planted defect in IMB-{suite.label()} is {'seen' if seen else 'NOT SEEN'}", flush=True)
    return seen


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [suite.name for suite in SUITES if not suite.of_device]
    parser.add_argument("--suites", nargs="+", default=names, choices=names)
    parser.add_argument("--launcher", default="serried", help="serried, hydra, or a command line")
    parser.add_argument("--library", default=jobs.STAGE / "lib", help="folder of the MPI library to load")
    parser.add_argument("--device-driver", help="folder of a driver and runtime of CUDA: then IMB-MPI1-GPU is run alone")
    parser.add_argument("--ranks", default="2,8", help="numbers of ranks, with commas")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run (600)")
    parser.add_argument("benchmarks", nargs="*", help="names of benchmarks (all)")
    return parser.parse_args()


def main():
    os.environ.pop("IMB_CHECK_PLANT", None)
    options = read_options()
    build_checker()
    passed = failed = 0
    chosen = [suite for suite in SUITES if suite.name in options.suites]
    if options.device_driver:
        os.environ["SERRIED_GPU"] = "on"
        chosen = [suite for suite in SUITES if suite.of_device]
    for suite in chosen:
        for ranks in map(int, options.ranks.split(",")):
            right, bad = run_suite(options, suite, ranks)
            passed, failed = passed + right, failed + bad
        seen = planted_defect_is_seen(options, suite)
        passed, failed = passed + seen, failed + (not seen)
    jobs.finish(passed, failed)


if __name__ == "__main__":
    main()
