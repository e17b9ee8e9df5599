"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import shutil
import sys

import pytest

SURVIVORS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SURVIVORS.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import STAGE, compile_c, for_each_abi, peer_compiler  # noqa: E402

# Programs whose last rank fails.
survivors = for_each_abi(SURVIVORS / "survivors.c")
agreements = for_each_abi(SURVIVORS / "agreements.c")
windows = for_each_abi(SURVIVORS / "windows.c")
# Processes of two jobs, of which some fail.
families = for_each_abi(SURVIVORS / "families.c")
# One that fails, and another one is started in its place.
replaced = for_each_abi(SURVIVORS / "replaced.c")


@pytest.fixture(scope="session")
def pes(tmp_path_factory):
    """A program with OpenSHMEM."""
    return compile_c(SURVIVORS / "pes.c", tmp_path_factory.mktemp("pes") / "pes", compiler=str(STAGE / "bin/oshcc"))


@pytest.fixture(scope="session")
def armci(tmp_path_factory):
    """A program with ARMCI."""
    target = tmp_path_factory.mktemp("armci") / "armci"
    return compile_c(SURVIVORS / "armci.c", target, "-larmci", compiler=str(STAGE / "bin/mpicc"))


@pytest.fixture(scope="session", params=["serried", "openmpi"])
def of_open_mpi(request, tmp_path_factory):
    """A program that is written for Open MPI's ULFM, compiled with our headers and with Open MPI's own."""
    flags = ["-abi=openmpi"] if request.param == "serried" else []
    target = tmp_path_factory.mktemp("open_mpi") / "open_mpi"
    return compile_c(SURVIVORS / "open_mpi.c", target, *flags, compiler=peer_compiler(request.param))


@pytest.fixture(scope="session")
def with_header(tmp_path_factory):
    """A program that declares the functions as our mpi-ext.h does."""
    flags = ["-include", "mpi-ext.h", "-Wall", "-Werror"]
    target = tmp_path_factory.mktemp("with_header") / "with_header"
    return compile_c(SURVIVORS / "agreements.c", target, *flags, compiler=str(STAGE / "bin/mpicc"))


@pytest.fixture(scope="session", params=["F08", "MODULE", "INCLUDED"])
def in_fortran(request, tmp_path_factory):
    """A program of Fortran, by our mpifort."""
    if not shutil.which("gfortran"):
        pytest.skip("no gfortran here")
    target = tmp_path_factory.mktemp("in_fortran") / "in_fortran"
    flags = ["-O1", f"-D{request.param}"]
    return compile_c(SURVIVORS / "survivors.F90", target, *flags, compiler=str(STAGE / "bin/mpifort"))


@pytest.fixture(scope="session")
def delay(tmp_path_factory):
    """A program that tells how soon ranks are told of a failure."""
    return compile_c(SURVIVORS / "delay.c", tmp_path_factory.mktemp("delay") / "delay", compiler=str(STAGE / "bin/mpicc"))
