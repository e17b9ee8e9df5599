#!/usr/bin/env python3
"""All tests, in order: one line for each part, a sum at the end.

    make test                       with all set-up
    make test PARTS="unit mpi4py"   only these parts
    tests/run.py unit mpi4py        the same, without set-up

A part is a command. Its log goes to build/test/<part>.log; how many tests passed is read from its last lines.
A part that fails does not stop the others.
"""

import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import jobs  # noqa: E402

PYTHON = str(jobs.PYTHON)

# name, what it shows, command, minutes it may take
PARTS = [
    ("format", "rustfmt has nothing to change", ["cargo", "fmt", "--all", "--check"], 2),
    ("house", "house rules: lengths, paths, settings, docs", [PYTHON, "tests/house/check.py"], 1),
    (
        "clippy",
        "no warnings",
        ["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        10,
    ),
    ("unit", "unit tests of all crates", ["cargo", "test", "--workspace", "--no-fail-fast"], 15),
    (
        "loom",
        "mailbox, express boxes, doorbell: every interleaving",
        ["cargo", "test", "--release", "--manifest-path", "tests/loom/Cargo.toml", "--target-dir", "target/loom"],
        5,
    ),
    ("stage", "release build and staged tree", ["scripts/stage"], 10),
    ("moved", "the staged tree works from another place", [PYTHON, "-m", "pytest", "-q", "tests/moved"], 3),
    ("launcher", "serried run: output, exit status, faults", [PYTHON, "-m", "pytest", "-q", "tests/launcher"], 10),
    ("faults", "kills, odd machines, limits: one message, nothing left", [PYTHON, "-m", "pytest", "-q", "tests/faults"], 10),
    ("doctor", "serried doctor: faults named, libraries found, variables", [PYTHON, "-m", "pytest", "-q", "tests/doctor"], 5),
    ("top", "serried top: true rates, terminal, page in a browser", [PYTHON, "-m", "pytest", "-q", "tests/top"], 8),
    ("verdict", "jobs that hang are told why, slow ones are let alone", [PYTHON, "-m", "pytest", "-q", "tests/verdict"], 5),
    ("pmpi", "tools over PMPI, preloaded and linked: our own and EZTrace", [PYTHON, "-m", "pytest", "-q", "tests/pmpi"], 5),
    (
        "golden",
        "what people read when something goes wrong; every launcher with every library",
        [PYTHON, "-m", "pytest", "-q", "tests/golden"],
        5,
    ),
    ("abi", "constants, layouts, symbols against peers", ["tests/abi/run"], 5),
    ("c", "C programs, both ABIs", ["tests/c/run"], 10),
    ("rungs", "C programs with each means of copying", ["tests/c/run", "--rungs"], 5),
    ("nodes", "C programs with ranks that pretend to be on several nodes", ["tests/c/run", "--nodes"], 5),
    ("memory", "memory of ranks: budgets, sharing it, processes they start", [PYTHON, "-m", "pytest", "-q", "tests/memory"], 5),
    ("address", "C programs and library under AddressSanitizer", ["tests/sanitize/run"], 30),
    ("threads", "unit tests with threads under ThreadSanitizer", ["tests/sanitize/threads"], 20),
    ("mpi4py", "mpi4py's own suite, unmodified", [PYTHON, "tests/mpi4py/run.py"], 40),
    ("imb", "Intel's IMB-MPI1, P2P, NBC, MT with data checking", [PYTHON, "tests/imb/run.py"], 20),
]


def count(output):
    """(passed, failed, skipped) as the output tells it, in the words of cargo, pytest or our own runners."""
    cargo = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE)
    if cargo:
        return tuple(sum(int(row[i]) for row in cargo) for i in range(3))
    for line in reversed(output.splitlines()):
        if re.search(r"\d+ (passed|failed|error)", line):
            words = dict((word.rstrip("s"), int(n)) for n, word in re.findall(r"(\d+) (\w+)", line))
            return words.get("passed", 0), words.get("failed", 0) + words.get("error", 0), words.get("skipped", 0)
    return None


def run_part(name, shows, command, minutes):
    began = time.monotonic()
    try:
        outcome = jobs.run_job(command, minutes * 60, cwd=jobs.ROOT)
    except OSError as problem:
        outcome = jobs.Outcome(127, f"cannot start {command[0]}: {problem.strerror}")
    log = jobs.BUILD / "test" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(outcome.output)
    passed, failed, skipped = count(outcome.output) or (int(outcome.ended_well()), 0, 0)
    if not outcome.ended_well() and failed == 0:
        failed = 1
    mark = "FAILED" if failed else "ok"
    counts = jobs.closing_line(passed, failed, skipped)
    print(f"{mark:7}{name:9} {shows}: {counts}  [{time.monotonic() - began:.0f} s]", flush=True)
    if failed:
        why = "time was up" if outcome.status is None else f"exit status {outcome.status}"
        print(f"  {why}; the end of {log.relative_to(jobs.ROOT)}:")
        print("".join(f"  | {line}\n" for line in outcome.output.splitlines()[-30:]), flush=True)
    return passed, failed, skipped


def hear_signals():
    """Lets what is tested get the signals that a shell has made deaf for what it runs in the background."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main():
    hear_signals()
    wanted = sys.argv[1:]
    unknown = set(wanted) - {part[0] for part in PARTS}
    if unknown:
        sys.exit(f"no such part: {', '.join(unknown)}. There are: {' '.join(part[0] for part in PARTS)}")
    totals = [run_part(*part) for part in PARTS if not wanted or part[0] in wanted]
    jobs.finish(*(sum(column) for column in zip(*totals)))


if __name__ == "__main__":
    main()
