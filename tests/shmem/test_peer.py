"""Our shmem.h and our library beside those of Open MPI as Debian has them (OpenSHMEM 1.4): what both have is the same."""

import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

PEER = jobs.BUILD / "fortran/usr/lib/x86_64-linux-gnu"
HEADER = PEER / "openmpi/include/shmem.h"
OURS = jobs.STAGE / "include/shmem.h"
# Removed in version 1.5, or never in a standard: caches; bitwise operations on signed integers; one without a type.
NOT_OURS = re.compile(
    r"p?shmem_(clear_cache|set_cache|udcflush)\w*|p?shmem_(ctx_)?(int|long|longlong)_atomic_(fetch_)?(and|or|xor)"
    r"|shmem_broadcast"
)

needs_peer = pytest.mark.skipif(not HEADER.exists(), reason="no OpenSHMEM of Debian: scripts/setup fortran")


def preprocessed(header):
    """The text of a header as a compiler of C99 sees it: without the generic names of C11."""
    command = ["cc", "-std=c99", "-E", "-P", "-I", str(header.parent), str(header)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def argument(text):
    """The type of an argument, without its name and without `volatile`, which version 1.5 took away."""
    words = re.sub(r"\bvolatile\b", " ", text.replace("*", " * ")).split()
    if len(words) > 1 and words[-1] not in {"*", "int", "long", "short", "char", "double", "float", "_Complex"}:
        words.pop()
    if words == ["unsigned"]:
        words.append("int")
    return " ".join(words)


def prototypes(header):
    """The types of result and arguments of each function of OpenSHMEM."""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", preprocessed(header))
    found = {}
    pattern = r"(?:^|[;{}])\s*((?:extern )?[\w\s\*]*?[\s\*])((?:p?shmem_|_my_pe|_num_pes|start_pes|shmalloc|shfree)\w*)\s*\(([^(){};]*)\)"
    for match in re.finditer(pattern + r"(?=\s*;)", text):
        result = " ".join(match[1].replace("extern", "").replace("*", " * ").split())
        arguments = [argument(part) for part in match[3].split(",")]
        found[match[2]] = (result, [one for one in arguments if one not in ("void", "")])
    return found


@needs_peer
def test_functions_of_both_have_the_same_types():
    theirs, ours = prototypes(HEADER), prototypes(OURS)
    assert len(theirs) > 700 and len(ours) > 1600
    both = {name for name in theirs if name in ours}
    different = {name: (theirs[name], ours[name]) for name in both if theirs[name] != ours[name]}
    # Theirs still has no const here.
    for name in list(different):
        if [one.replace("const ", "") for one in theirs[name][1]] == [one.replace("const ", "") for one in ours[name][1]]:
            different.pop(name)
    assert not different
    missing = {name for name in theirs if name not in ours and not NOT_OURS.fullmatch(name)}
    assert not {name for name in missing if not name.startswith("shmemx_")}


def constants(header, names):
    """The code of a program that prints constants: the same for the same values."""
    lines = "".join(f'printf("{name} %ld\\n", (long){name});' for name in names)
    source = f"#include <stdio.h>\n#include <shmem.h>\nint main(void) {{ {lines} return 0; }}\n"
    command = ["cc", "-std=c99", "-I", str(header.parent), "-x", "c", "-", "-S", "-o", "-"]
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=True).stdout


@needs_peer
def test_constants_of_both_are_the_same():
    names = [f"SHMEM_CMP_{one}" for one in ("EQ", "NE", "GT", "LE", "LT", "GE")]
    names += [f"SHMEM_THREAD_{one}" for one in ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")]
    names += [f"SHMEM_CTX_{one}" for one in ("PRIVATE", "SERIALIZED", "NOSTORE")]
    names += ["SHMEM_MAJOR_VERSION", "SHMEM_MAX_NAME_LEN"]
    assert constants(HEADER, names) == constants(OURS, names)


def exported(library):
    command = ["nm", "-D", "--defined-only", str(library)]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


@needs_peer
def test_the_library_has_what_the_peer_has():
    peer = next(iter(sorted(PEER.glob("liboshmem.so.*"))))
    theirs = {name for name in exported(peer) if re.fullmatch(r"p?shmem_[a-z0-9_]*[a-z0-9]", name)}
    ours = exported(jobs.STAGE / "lib/libsma.so")
    assert len(theirs) > 1000
    missing = {name for name in theirs - ours if not NOT_OURS.fullmatch(name)}
    # Functions of theirs that are in no standard.
    internal = re.compile(r"p?shmem_(lock|api|startup|internal|runtime|heap|mca|proc|group|op|util|ds)\w*|\w*_f")
    assert not sorted(name for name in missing if not internal.fullmatch(name))


def test_every_function_of_the_header_is_in_the_library():
    ours = exported(jobs.STAGE / "lib/libsma.so")
    wanted = set(prototypes(OURS)) | set(prototypes(jobs.STAGE / "include/pshmem.h"))
    assert len(wanted) > 3300
    assert not sorted(wanted - ours)
