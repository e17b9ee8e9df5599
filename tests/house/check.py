#!/usr/bin/env python3
"""House rules that a program can check. Each prints what breaks it and where.

The lists in ratchet.txt name the files and functions that are longer than we like, with their length today, the files
that import each other in circles, and figures of the sources. They may shrink and go; they may not grow, and the list
should not.
"""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "support"))
import docs  # noqa: E402
import jobs  # noqa: E402
import metrics  # noqa: E402
import schedule  # noqa: E402
from circles import circles  # noqa: E402

SOURCE = {".rs", ".py", ".c", ".h", ".api", ".sh", ""}
FILE_LINES, FILE_LINES_EVER, FUNCTION_LINES, TRAIT_FUNCTIONS, SETTINGS = 500, 1000, 66, 15, 40
BUILT, CACHES = {".git", "target", "stage", "build", "bench/results"}, {"__pycache__", ".pytest_cache"}
# Written in pieces, so that this file does not break its own rule.
MACHINE_PATHS = re.compile("|".join("/" + p for p in ("root/", "work/", "home/\\w", "tmp/peers", "Users/\\w")))


def project_files():
    """Every file of the project with its text, by its path from the root; what is built is left out."""
    files = {}
    for folder, below, names in os.walk(ROOT):
        here = pathlib.Path(folder).relative_to(ROOT)
        below[:] = [name for name in below if str(here / name) not in BUILT and name not in CACHES]
        for name in set(names) - {".git"}:
            files[str(here / name)] = (ROOT / here / name).read_text(errors="replace")
    return files


def read_ratchet():
    lines = (HERE / "ratchet.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: int(length) for name, length in rows}


def sources(files):
    return {n: t for n, t in files.items() if pathlib.Path(n).suffix in SOURCE and not n.startswith("LICENSE")}


def rust(files):
    return {n: t for n, t in files.items() if n.endswith(".rs")}


def file_lengths(files, ratchet):
    """No file over 500 lines but those in ratchet.txt; none ever over 1000."""
    for name, text in sources(files).items():
        lines = text.count("\n")
        allowed = min(ratchet.get(name, FILE_LINES), FILE_LINES_EVER)
        if lines > allowed:
            yield f"{name} has {lines} lines; {allowed} are allowed"


def function_lengths(files, ratchet):
    """No Rust function over 66 lines but those in ratchet.txt."""
    for name, text in rust(files).items():
        start = None
        for number, line in enumerate(text.splitlines(), 1):
            opening = re.match(r"( *)(?:pub(?:\([\w:]+\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)", line)
            if opening and not line.rstrip().endswith((";", "}")):
                start, indent, function = number, opening.group(1), opening.group(2)
            elif start and line == indent + "}":
                length, key = number - start + 1, f"{name}:{function}"
                if length > ratchet.get(key, FUNCTION_LINES):
                    yield f"{key} has {length} lines; {ratchet.get(key, FUNCTION_LINES)} are allowed"
                start = None


# Functions that glibc has since 2.18 or later, as far as somebody is likely to call them.
NEWER_GLIBC = re.compile(
    r"libc::(memfd_create|gettid|getrandom|getentropy|copy_file_range|statx|pidfd_\w+|close_range|renameat2|preadv2|pwritev2"
    r"|mlock2|getcpu|explicit_bzero|execveat|epoll_pwait2|tgkill|pthread_cond_clockwait|reallocarray|fcntl64|posix_spawn_file_actions_addchdir\w*)\b"
)


def traits_of_transports(files, _ratchet):
    """No trait of the transports has more than 15 functions: it would be several."""
    for name, text in rust(files).items():
        if not name.startswith("engine/src/transport/"):
            continue
        for trait, body in re.findall(r"^(?:pub )?(?:unsafe )?trait (\w+).*?\n(.*?)^}", text, re.MULTILINE | re.DOTALL):
            functions = len(re.findall(r"^    (?:unsafe )?fn ", body, re.MULTILINE))
            if functions > TRAIT_FUNCTIONS:
                yield f"{name}: {trait} has {functions} functions; {TRAIT_FUNCTIONS} are allowed"


def old_c_library(files, _ratchet):
    """No function of the C library is called that glibc 2.17 has not: the wheels promise to run with it."""
    for name, text in rust(files).items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := NEWER_GLIBC.search(line):
                yield f"{name}:{number}: {found.group()}: make the system call (engine/src/memory/system_calls.rs)"


def import_circles(files, ratchet):
    """No files that import each other in a circle but those in ratchet.txt."""
    for group in circles(files):
        if not all(f"circle:{name}" in ratchet for name in group):
            yield f"these import each other: {' '.join(group)}"


def ratchet_is_true(files, ratchet):
    """The ratchet lists nothing that has been mended."""
    in_circle = {f"circle:{name}" for group in circles(files) for name in group}
    for name in ratchet:
        if name.startswith("circle:") and name not in in_circle:
            yield f"{name} is in no circle any more: take it out of ratchet.txt"


def figures_of_the_sources(files, ratchet):
    """Names of files used twice, and tests beside sources, are no worse than ratchet.txt has them."""
    yield from metrics.problems(files, ratchet)


def machine_paths(files, _ratchet):
    """No path of one machine in the project."""
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line):
                yield f"{name}:{number}: {line.strip()[:100]}"


def settings(files, _ratchet):
    """At most 40 settings, each one explained in docs/settings.md."""
    code = [t for n, t in files.items() if n.startswith(("engine/src", "faces/", "tools/")) and n.endswith(".rs")]
    names = set(re.findall(r'"(SERRIED_[A-Z0-9_]+)"', "\n".join(code)))
    if len(names) > SETTINGS:
        yield f"{len(names)} settings; {SETTINGS} are allowed"
    explained = files.get("docs/settings.md", "")
    for name in sorted(names):
        if name not in explained:
            yield f"{name} is not explained in docs/settings.md"


def modules_say_what_they_are(files, _ratchet):
    """Every Rust file of a crate begins with a module comment."""
    for name, text in rust(files).items():
        if "/src/" in name and pathlib.Path(name).stem != "tests" and not text.startswith(("//!", "// ")):
            yield f"{name} does not begin with a comment that says what it is for"


def what_faces_share_names_none(files, _ratchet):
    """What all faces share (faces/common) names no face: its files name each other by `super` alone."""
    for name, text in rust(files).items():
        if name.startswith("faces/common/") and re.search(r"\bcrate::", re.sub(r"//.*", "", text)):
            yield f"{name} names something outside of faces/common"


def licences_and_texts(files, _ratchet):
    """The texts every newcomer looks for are there."""
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT",
                 "docs/overview.md", "docs/glossary.md", "docs/performance.md"):
        if not files.get(name, "").strip():
            yield f"{name} is missing"


RULES = [
    file_lengths,
    function_lengths,
    traits_of_transports,
    old_c_library,
    import_circles,
    ratchet_is_true,
    figures_of_the_sources,
    machine_paths,
    settings,
    modules_say_what_they_are,
    what_faces_share_names_none,
    licences_and_texts,
    *docs.RULES,
    *schedule.RULES,
]


def main():
    files, ratchet = project_files(), read_ratchet()
    failed = 0
    for rule in RULES:
        problems = list(rule(files, ratchet))
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok':7}{rule.__doc__}")
        for problem in problems:
            print(f"    {problem}")
    jobs.finish(len(RULES) - failed, failed)


if __name__ == "__main__":
    main()
