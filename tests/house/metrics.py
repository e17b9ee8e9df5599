"""Figures of the sources that may not get worse: names of files used twice in a crate, tests beside sources.

A figure is compared with its line in ratchet.txt, `metric:NAME NUMBER`. If it has become better, write the new number there.
"""

import collections
import pathlib
import re

TESTS = re.compile(r"(^|/)tests?(/|\.rs$)|_tests?\.rs$")
CODE = {".rs", ".c", ".h", ".py", ".sh", ".api", ".js", ".F90", ".fortran"}
LEFT_OUT = re.compile(r"^(bench|examples|scripts)/|(^|/)build\.rs$")
# Every crate and folder may have these.
EVERYWHERE = {"mod", "lib", "main", "tests"}


def names_used_twice(files):
    """How many names of files are used more than once in a crate, tests left out."""
    places = collections.Counter()
    for name in files:
        crate, found, inner = name.partition("/src/")
        stem = pathlib.PurePosixPath(inner).stem
        if found and name.endswith(".rs") and stem not in EVERYWHERE and not TESTS.search(inner):
            places[crate, stem] += 1
    return sum(count > 1 for count in places.values())


def lines_by_kind(files):
    """Lines of tests and of sources; a test module in a source file counts as tests."""
    tests = sources = 0
    for name, text in files.items():
        if pathlib.PurePosixPath(name).suffix not in CODE or LEFT_OUT.search(name):
            continue
        lines = text.count("\n")
        inline = 0
        if name.endswith(".rs") and not TESTS.search(name):
            parts = re.split(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\]\n)*mod tests \{$", text, maxsplit=1, flags=re.M)
            inline = parts[1].count("\n") if len(parts) > 1 else 0
        if TESTS.search(name):
            tests += lines
        else:
            tests, sources = tests + inline, sources + lines - inline
    return tests, sources


def tests_per_hundred(files):
    """Lines of tests for a hundred lines of source."""
    tests, sources = lines_by_kind(files)
    return 100 * tests // sources


# name, what it is called, whether more is better
METRICS = {
    "names-used-twice": (names_used_twice, "names of files used twice in a crate", False),
    "tests-per-hundred": (tests_per_hundred, "lines of tests for a hundred lines of source", True),
}


def problems(files, ratchet):
    """What has become worse."""
    for name, (figure, words, more_is_better) in METRICS.items():
        now, then = figure(files), ratchet.get(f"metric:{name}")
        if then is None:
            yield f"ratchet.txt has no line metric:{name} {now}"
        elif now != then and (now > then) != more_is_better:
            yield f"{words}: {now}, and {then} before"
