#!/usr/bin/env python3
"""Runs Intel's IMB-MPI1, the unmodified binary of the impi-rt wheel, to the end, and checks its data.

    tests/imb/run.py                          np 2 and np 4
    tests/imb/run.py --ranks 2 Allreduce      only these benchmarks

The binary in the wheel is built without data checking. So checker.c stands between it and the library, through
MPI's profiling interface, and checks every message and every collective. What IMB prints is checked too: each
benchmark must have its table, and the last line must be there.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

IMB = jobs.PEERS / "impi/bin/IMB-MPI1"
LOGS = jobs.BUILD / "test/imb"
CHECKER = LOGS / "checker.so"
NOT_BY_DEFAULT = "Biband,Uniband,PingPongSpecificSource,PingPongAnySource,PingPingSpecificSource,PingPingAnySource"


def build_checker():
    """The checker is compiled with MPICH's header, for the benchmark speaks the MPICH ABI."""
    LOGS.mkdir(parents=True, exist_ok=True)
    include = jobs.PEERS / "mpich/include"
    command = ["cc", "-O2", "-Wall", "-shared", "-fPIC", f"-I{include}", HERE / "checker.c", "-o", CHECKER]
    subprocess.run(command, check=True)


def run_benchmark(options, ranks, arguments, **extra):
    program = ["env", f"LD_PRELOAD={CHECKER}", *[f"{k}={v}" for k, v in extra.items()], IMB, *arguments]
    command = jobs.job_command(options.launcher, ranks, program)
    return jobs.run_job(command, options.timeout, env=jobs.environment(options.library))


def arguments_for(ranks, benchmarks):
    """Few repetitions, lengths 0 to 1 MiB, and only the full number of ranks."""
    limits = ["-npmin", str(ranks), "-iter", "20,20", "-msglog", "0:20", "-time", "1"]
    return limits + (benchmarks or ["-include", NOT_BY_DEFAULT])


def problems_in(outcome, ranks):
    """Every reason why this run is not good, in words."""
    text = outcome.output
    if outcome.status is None:
        yield f"time was up in {(re.findall('# Benchmarking (.*)', text) or ['start'])[-1]}"
    elif outcome.status != 0:
        yield f"exit status {outcome.status}"
    if "All processes entering MPI_Finalize" not in text:
        yield "IMB did not come to its end"
    asked = re.findall(r"^# (\w+)$", text.split("# List of Benchmarks to run:")[-1].split("#---")[0], re.MULTILINE)
    shown = re.findall(r"^# Benchmarking (\w+)", text, re.MULTILINE)
    for name in sorted(set(asked) - set(shown)):
        yield f"{name} has no table"
    reports = re.findall(r"imb-check: rank \d+: (\d+) calls, \d+ bytes, (\d+) defects", text)
    if len(reports) != ranks:
        yield f"{len(reports)} of {ranks} ranks reported their checks"
    if any(calls == "0" for calls, _ in reports):
        yield "a rank checked nothing"
    if any(defects != "0" for _, defects in reports):
        yield "; ".join(re.findall(r"DEFECT in .*", text)) or "defects"


def planted_defect_is_seen(options):
    outcome = run_benchmark(options, 2, ["-iter", "2", "-msglog", "2:3", "PingPong"], IMB_CHECK_PLANT="1")
    return "DEFECT in MPI_Recv" in outcome.output


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", default="serried", help="serried, hydra, or a command line")
    parser.add_argument("--library", default=jobs.STAGE / "lib", help="folder of the MPI library to load")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, with commas")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one run (240)")
    parser.add_argument("benchmarks", nargs="*", help="names of benchmarks (all)")
    return parser.parse_args()


def main():
    options = read_options()
    build_checker()
    passed = failed = 0
    for ranks in map(int, options.ranks.split(",")):
        began = time.monotonic()
        outcome = run_benchmark(options, ranks, arguments_for(ranks, options.benchmarks))
        (LOGS / f"np{ranks}.log").write_text(outcome.output)
        problems = list(problems_in(outcome, ranks))
        tables = len(re.findall(r"^# Benchmarking", outcome.output, re.MULTILINE))
        calls = sum(map(int, re.findall(r"imb-check: rank \d+: (\d+) calls", outcome.output)))
        word = "FAILED: " + "; ".join(problems) if problems else "all data right"
        took = time.monotonic() - began
        print(f"IMB-MPI1 -n {ranks}: {tables} benchmarks, {calls} calls checked, {word}  [{took:.0f} s]", flush=True)
        passed, failed = passed + (not problems) * tables, failed + bool(problems)
    seen = planted_defect_is_seen(options)
    print(f"a planted defect is {'seen' if seen else 'NOT SEEN'}")
    jobs.finish(passed + seen, failed + (not seen))


if __name__ == "__main__":
    main()
