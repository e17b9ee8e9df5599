#!/usr/bin/env python3
"""Buffers in the memory of a GPU, side by side with Intel MPI, the one other MPI on PyPI that takes them.

    make bench-devices
    bench/devices.py --ranks 2 --rounds 3

Ranks share the first GPU. The limits, what one process gets from the driver without MPI, are measured beside it. Without a
GPU nothing is measured, and a sentence says so. Times are medians of the rounds, in microseconds; of a message, one way.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import sys

from libraries import ROOT, all_libraries

TIME = 60  # seconds that one job may take; the figures up to then count


def figures_of(library, ranks, words):
    """The figures of a job by name and bytes, and what it had wrong."""
    outcome = library.run([library.program("devices"), *words], ranks, TIME, I_MPI_OFFLOAD="1")
    found, wrong = {}, []
    for line in outcome.output.splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[3] == "us":
            found[parts[0], int(parts[1])] = float(parts[2])
        elif line.startswith("wrong") or "error" in line:
            wrong.append(line)
    if why := outcome.why():
        wrong.append(f"{why}\n{outcome.last(15)}")
    return found, wrong


def limit_of(name, size, limits):
    """What the driver needs for the bytes that a row moves at least: a copy of all of them."""
    if name in ("device-host", "host-host"):
        return limits.get(("limit-device-pinned", size))
    return limits.get(("limit-device-device", size))


def tell(ranks, medians):
    limits = {key: value for key, value in medians["serried"].items() if key[0].startswith("limit")}
    print(f"\n{ranks} ranks on one GPU, us{' ' * 14}{'limit':>10}{'Serried':>10}{'Intel MPI':>10}{'ratio':>8}")
    for name, size in medians["serried"]:
        ours, theirs = medians["serried"][name, size], medians.get("impi", {}).get((name, size))
        limit = limit_of(name, size, limits)
        cells = [f"{limit:10.2f}" if limit and not name.startswith("limit") else " " * 10, f"{ours:10.2f}"]
        if theirs and not name.startswith("limit"):
            cells += [f"{theirs:10.2f}", f"{ours / theirs:8.2f}"]
        print(f"{name:22} {size:9}{''.join(cells)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not os.path.exists("/dev/nvidiactl"):
        sys.exit("skipped: there is no GPU here (no /dev/nvidiactl)")
    libraries = [library for library in all_libraries() if library.name in ("serried", "impi")]
    result = {}
    for ranks in given.ranks:
        times = {library.name: collections.defaultdict(list) for library in libraries}
        for number in range(given.rounds):
            for library in libraries:
                words = ["limits"] if ranks == 2 and library.name == "serried" and number == 0 else []
                found, wrong = figures_of(library, ranks, words)
                print(f"{library.title}, {ranks} ranks, round {number}: {len(found)} figures", flush=True)
                for line in wrong:
                    print(f"{library.title}, {ranks} ranks: {line}", flush=True)
                for key, value in found.items():
                    times[library.name][key].append(value)
        medians = {name: {key: statistics.median(values) for key, values in found.items()} for name, found in times.items()}
        tell(ranks, medians)
        result[ranks] = {name: [[*key, value] for key, value in found.items()] for name, found in medians.items()}
    target = pathlib.Path(ROOT / "bench/results/devices.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
