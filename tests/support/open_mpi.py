"""A compiler for Open MPI's ABI: our declarations of it (tests/abi compares them with Open MPI's own header), our library."""

import re
import subprocess

import jobs

LIBRARY = "libmpi.so.40"


# A value in parentheses: the ABI has no such constant, but our functions have a value for it.
LACKING = re.compile(r"^(MPI\w+) +\((\S+)\)$", re.MULTILINE)
POINTERS = {"MPI_BUFFER_AUTOMATIC": "(void*)"}


def lacking():
    """Definitions of what newer programs name and the ABI has not."""
    text = (jobs.ROOT / "faces/mpi/openmpi/openmpi.abi").read_text()
    return "".join(f"#define {name} ({POINTERS.get(name, '')}({value}))\n" for name, value in LACKING.findall(text))


def compiler(directory, *flags):
    """Writes mpi.h and a compiler script into a folder, and returns the script. The flags come before the program's."""
    include = directory / "open-mpi"
    include.mkdir()
    header = subprocess.run([*jobs.GENERATE, "header", "openmpi"], cwd=jobs.ROOT, capture_output=True, text=True, check=True).stdout
    (include / "mpi.h").write_text(header + lacking())
    script = include / "cc"
    # An address such as that of MPI_IN_PLACE is none to the compiler.
    words = ["gcc", "-Wno-stringop-overflow", "-Wno-stringop-overread", *flags, f"-I{include}"]
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@" {jobs.STAGE}/lib/{LIBRARY}\n')
    script.chmod(0o755)
    return script
