"""Packages of PyPI that use MPI, each with a program of about ten lines (tests/pip_programs).

Those whose wheels are small or quick are part of `make test`; WHOLE=1 takes the others too.
"""

import os

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


@pytest.mark.skipif(not os.environ.get("WHOLE"), reason="JAX is 100 MB, and mpi4jax has to be compiled: WHOLE=1 tries it")
def test_mpi4jax_is_built_for_the_abi_of_mpi4py_s_wheel(venv_with_programs):
    venv_with_programs.pip("install", "jax", "nanobind", "setuptools", "wheel", "cython")
    venv_with_programs.pip("install", "--no-build-isolation", "mpi4jax", SERRIED_ABI="mpich")
    assert results(venv_with_programs, "jax", 2) == ["16.0"] * 2
