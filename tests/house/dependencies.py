#!/usr/bin/env python3
"""What Serried depends on: licences that we may use, crates from the registry only, and none in two versions but those
that are listed here with the reason. `cargo deny` would also ask for known faults; its data cannot be had everywhere.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

LICENCES = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Zlib", "Unlicense", "BSL-1.0", "0BSD", "Unicode-3.0"}
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
TWICE = {
    "syn": "derive macros of the terminal's crates are on their way from 2 to 3",
    "unicode-width": "ratatui takes one, its truncation another",
    "windows-sys": "never compiled here",
}


def packages():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return json.loads(subprocess.run(command, cwd=jobs.ROOT, capture_output=True, check=True).stdout)["packages"]


def may_be_used(expression):
    """Whether all parts of an SPDX expression that are joined by AND have a licence that we may use."""
    parts = re.split(r"\bAND\b", (expression or "").replace("/", " OR "))
    return all(set(map(str.strip, re.split(r"\bOR\b", part.strip(" ()")))) & LICENCES for part in parts)


def problems(found):
    for package in found:
        what = f"{package['name']} {package['version']}"
        if not may_be_used(package["license"]):
            yield f"{what} has the licence {package['license']}"
        if package["source"] not in (None, REGISTRY):
            yield f"{what} comes from {package['source']}"
    names = collections.Counter(package["name"] for package in found)
    twice = {name for name, count in names.items() if count > 1}
    for name in sorted(twice ^ set(TWICE)):
        yield f"{name} is {'there in two versions' if name in twice else 'listed as there twice, and is not'}"


def main():
    found = packages()
    wrong = list(problems(found))
    print("\n".join(wrong) or f"{len(found)} packages: licences, sources, versions")
    jobs.finish(int(not wrong), len(wrong))


if __name__ == "__main__":
    main()
