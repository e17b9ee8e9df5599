"""Packages of PyPI that use MPI, with their own tests, which come with their sources.

Those of mpsort, which take seconds, are part of `make test`; WHOLE=1 takes the others too (`make applications` does).
"""

import os
import pathlib
import re
import tarfile

import pytest
from support import jobs

WHOLE = pytest.mark.skipif(not os.environ.get("WHOLE"), reason="these tests take minutes: WHOLE=1 runs them")
FFTW = pathlib.Path("/usr/include/fftw3.h")
# For the ABI of mpi4py's wheel.
BUILT = {"SERRIED_ABI": "mpich", "MPICC": "mpicc"}


@pytest.fixture(scope="session")
def suites(venv_for_suites, tmp_path_factory):
    """Installs a package from its source, for the ABI of mpi4py's wheel; gives the folder of that source."""

    def install(package):
        folder = tmp_path_factory.mktemp("source")
        own = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", package)
        venv_for_suites.pip("download", "--dest", folder, *own, **BUILT)
        archive = next(folder.glob("*.tar.gz"))
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        venv_for_suites.pip("install", "--no-deps", "--no-build-isolation", archive, **BUILT)
        return folder / archive.name.removesuffix(".tar.gz")

    return install


def passed(venv, ranks, *tests):
    """How many tests of pytest passed at each rank; all that ran must pass."""
    suite = ("-m", "pytest", "-p", "no:cacheprovider", "--with-mpi", *tests)
    said = venv.run("mpiexec", "-n", ranks, "python", *suite, OMP_NUM_THREADS="1")
    return [int(number) for number in re.findall(r"(\d+) passed", said)]


def test_mpsort_is_built_with_our_mpicc_and_passes_its_tests(venv_for_suites, suites):
    suites("mpsort==0.1.19")
    # There are 405 on few items, with every way of dealing them out.
    some = () if os.environ.get("WHOLE") else ("-k", "not few_items")
    for ranks in (1, 2, 4):
        counts = passed(venv_for_suites, ranks, "--pyargs", "mpsort.tests", *some)
        assert counts == [32 if some else 437] * ranks


@pytest.mark.skipif(not FFTW.exists(), reason="no FFTW (Debian has libfftw3-dev)")
@WHOLE
def test_mpi4py_fft_passes_its_tests(venv_for_suites, suites):
    tests = suites("mpi4py-fft==2.0.6") / "tests"
    for ranks in (1, 2, 4):
        for name in ("pencil", "darray", "mpifft"):
            venv_for_suites.run("mpiexec", "-n", ranks, "python", tests / f"test_{name}.py", OMP_NUM_THREADS="1")
