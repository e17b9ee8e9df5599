"""Serried, an MPI: where its parts are in this installation.

    >>> import serried
    >>> serried.bin / "mpiexec", serried.library("mpich"), serried.include

Nothing of it is Python. This module is for build scripts and the curious; programs find MPI without it.
"""

import pathlib as _pathlib

from importlib import metadata as _metadata

__all__ = ["prefix", "bin", "lib", "include", "library"]
__version__ = _metadata.version("serried")

LIBRARIES = {"mpi-5": "libmpi_abi.so.1", "mpich": "libmpi.so.12", "open mpi": "libmpi.so.40"}


def _find():
    """The tree lies in lib/serried of the same installation as this module, be it a venv or not."""
    for folder in _pathlib.Path(__file__).resolve().parents:
        if (folder / "lib/serried/bin/serried").is_file():
            return folder / "lib/serried"
    raise ImportError(f"the programs of Serried are not installed beside {__file__}: install its wheel with pip")


def library(abi="mpi-5"):
    """The library that programs of an ABI load: "mpi-5", "mpich" or "open mpi"."""
    if abi not in LIBRARIES:
        raise ValueError(f"no ABI {abi!r}: there are {', '.join(map(repr, LIBRARIES))}")
    return lib / LIBRARIES[abi]


prefix = _find()
bin = prefix / "bin"
lib = prefix / "lib"
include = prefix / "include"
