#!/usr/bin/env python3
"""Latency of two ranks, each in a container of its own, against ranks in none, in turns.

    bench/containers.py                some two minutes
    bench/containers.py --rounds 21    more of them: single jobs differ by 10 % and more

Shown are the medians over the rounds of the ping-pong's least times, in microseconds one way, and the geometric mean of their
ratios to ranks in no container.
"""

import argparse
import math
import shutil
import statistics
import subprocess
import sys

from libraries import all_libraries
from words import size_text

from namespaces import NAMESPACES  # of tests/support, which `libraries` makes known

SIZES = [0, 8, 64, 512, 4096, 65536, 1 << 20]
NONE = "none"


def containers():
    """The words before a program, by the name of its container, of those that can be made here."""
    kinds = {name: ["unshare", *words] for name, words in NAMESPACES.items() if words}
    if shutil.which("bwrap"):
        kinds["bubblewrap"] = ["bwrap", "--unshare-all", "--dev-bind", "/", "/", "--proc", "/proc"]
    for name, words in kinds.items():
        if subprocess.run([*words, "true"], capture_output=True).returncode:
            print(f"{name}: cannot be made here", flush=True)
        else:
            yield name, words


def latencies(library, words, timeout):
    """Microseconds one way, by the number of bytes."""
    outcome = library.run([*words, library.program("p2p")], 2, timeout)
    if not outcome.ended_well():
        sys.exit(f"{' '.join(words)}: status {outcome.status}. {outcome.output[-300:].strip()}")
    rows = (line.split() for line in outcome.output.splitlines())
    return {int(row[1]): float(row[2]) for row in rows if row and row[0] == "latency"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--timeout", type=float, default=120)
    options = parser.parse_args()
    ours = all_libraries()[0]
    ours.build()
    kinds = {NONE: [], **dict(containers())}
    found = {name: [] for name in kinds}
    for _ in range(options.rounds):
        for name, words in kinds.items():
            found[name].append(latencies(ours, words, options.timeout))
    medians = {name: {size: statistics.median(row[size] for row in rows) for size in SIZES} for name, rows in found.items()}
    print(f"{'':18}" + "".join(f"{size_text(size):>9}" for size in SIZES) + "    mean")
    for name, row in medians.items():
        ratios = [math.log(row[size] / medians[NONE][size]) for size in SIZES]
        print(f"{name:18}" + "".join(f"{row[size]:9.3f}" for size in SIZES) + f"{math.exp(statistics.mean(ratios)):8.2f}")


if __name__ == "__main__":
    main()
