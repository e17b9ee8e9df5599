"""The wheel of the tree that is tested, and venvs in which it is installed."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import Venv, jobs, run  # noqa: E402


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    if os.environ.get("WHEEL"):
        return pathlib.Path(os.environ["WHEEL"]).resolve()
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "scripts/wheel", "--tree", jobs.STAGE, "--to", folder, cwd=jobs.ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def venv(wheel, tmp_path_factory):
    """Nothing but our wheel, mpi4py's and NumPy's."""
    made = Venv(tmp_path_factory.mktemp("fresh") / "venv")
    made.pip("install", "--only-binary", ":all:", wheel, *jobs.requirements("demo"))
    return made


@pytest.fixture(scope="session")
def venv_with_programs(wheel, tmp_path_factory):
    """With packages of others that use MPI (scripts/pip-programs.txt)."""
    made = Venv(tmp_path_factory.mktemp("programs") / "venv")
    made.pip("install", "--only-binary", ":all:", wheel, *jobs.requirements("demo"), *jobs.requirements("pip-programs"))
    return made


@pytest.fixture(scope="session")
def venv_for_suites(wheel, tmp_path_factory):
    """With what packages of others are built with, and their tests run with (scripts/pip-suites.txt)."""
    made = Venv(tmp_path_factory.mktemp("suites") / "venv")
    made.pip("install", "--only-binary", ":all:", wheel, *jobs.requirements("demo"), *jobs.requirements("pip-suites"))
    return made


@pytest.fixture(scope="session")
def venv_with_kernel(wheel, tmp_path_factory):
    """With the kernel of notebooks (scripts/notebook.txt), and dask-mpi."""
    made = Venv(tmp_path_factory.mktemp("notebook") / "venv")
    dask = [one for one in jobs.requirements("pip-programs") if one.startswith("dask")]
    wanted = [*jobs.requirements("demo"), *jobs.requirements("notebook"), *dask]
    made.pip("install", "--only-binary", ":all:", wheel, *wanted)
    return made
