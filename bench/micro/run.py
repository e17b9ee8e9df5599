#!/usr/bin/env python3
"""Where the thresholds of the engine come from: times around each, on this machine.

    make bench-micro                     all of thresholds.toml (about two minutes)
    bench/micro/run.py EAGER_BYTES       only this constant

For each threshold the lengths around it take turns in one job (steps.c). Told are the times below and beyond, and the
step: the time of 8 bytes more than the threshold, divided by that at it. At a right threshold both ways take the same
time, so the step is near 1; one of more than 1.25 or less than 0.8 is marked. The tree is the staged one, or TREE.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from words import size_text  # noqa: E402

TREE = pathlib.Path(os.environ.get("TREE", ROOT / "stage")).resolve()
MARKED = (0.8, 1.25)


def thresholds():
    return tomllib.loads((HERE / "thresholds.toml").read_text())["threshold"]


def value_of(text):
    """A number as the engine's sources write it: digits, `<<`, `-`."""
    if not re.fullmatch(r"[\d\s<-]+", text):
        raise ValueError(f"not a number: {text}")
    return eval(text, {"__builtins__": {}})  # digits and operators only, as was just checked


def missing(row, sources):
    """Why the engine has no such constant; empty if it has. `sources` are the texts of files by name."""
    room = f"engine/src/{row['room']}"
    texts = [text for name, text in sources.items() if name.startswith((room + "/", room + "."))]
    value = re.escape(row["value"])
    is_const = re.compile(rf"\bconst {row['name']}: \w+ = {value};")
    is_table = re.compile(rf"\bstatic {row['name']}: [^=]*=[^;]*\brule\(\d+, {value},")
    if any(is_const.search(text) or is_table.search(text) for text in texts):
        return ""
    return f"{room} has no {row['name']} of {row['value']}"


def lengths_around(bytes_):
    """Lengths in whole items of 8 bytes, the threshold and its neighbour among them."""
    at = bytes_ // 8 * 8
    return sorted({max(8, at // 4 // 8 * 8), max(8, at // 2 // 8 * 8), at, at + 8, 2 * at, 4 * at})


def step_of(row):
    """How far apart are the lengths at the threshold and beyond it: an item for each rank, where there is a block for each."""
    return 8 * (row["ranks"] if row["operation"] in ("scatter", "alltoall", "alltoallv", "reduce_scatter_block") else 1)


def measure(program, row):
    at = row.get("bytes", value_of(row["value"])) // 8 * 8
    beyond = at + step_of(row)
    lengths = [length if length != at + 8 else beyond for length in lengths_around(at)]
    settings = [word for name, value in row.get("settings", {}).items() for word in ("-x", f"{name}={value}")]
    command = [TREE / "bin/serried", "run", "-n", str(row["ranks"]), *settings, program, row["operation"],
               row.get("memory", "heap"), *map(str, lengths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{row['name']}: {done.stderr.strip() or done.stdout.strip()}")
    times = dict((int(length), float(time)) for length, time in map(str.split, done.stdout.splitlines()))
    return at, beyond, times


def report(row, at, beyond, times):
    step = times[beyond] / times[at]
    mark = "" if MARKED[0] <= step <= MARKED[1] else "  <- a step"
    where = ", ".join(f"{name}={value}" for name, value in row.get("settings", {}).items())
    print(f"{row['name']} of {row['room']}: {row['operation']}, {row['ranks']} ranks, {row.get('memory', 'heap')}"
          f"{', ' + where if where else ''}")
    print("  " + "   ".join(f"{size_text(length)} {time:.3g}" for length, time in times.items()) + "   us")
    print(f"  up to {size_text(at)} {row['below']}; then {row['beyond']}: step {step:.2f}{mark}", flush=True)


def main():
    wanted = set(sys.argv[1:])
    unknown = wanted - {row["name"] for row in thresholds()}
    if unknown:
        sys.exit(f"no such threshold: {', '.join(sorted(unknown))}; thresholds.toml has them")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "steps"
        subprocess.run([TREE / "bin/mpicc", "-O2", HERE / "steps.c", "-o", program], check=True)
        for row in thresholds():
            if not wanted or row["name"] in wanted:
                report(row, *measure(program, row))


if __name__ == "__main__":
    main()
