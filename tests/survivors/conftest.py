"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import sys

import pytest

SURVIVORS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SURVIVORS.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import STAGE, compile_c  # noqa: E402


@pytest.fixture(scope="session", params=["standard", "mpich", "openmpi"])
def survivors(request, tmp_path_factory):
    """A program whose last rank fails, for each ABI."""
    target = tmp_path_factory.mktemp("survivors") / "survivors"
    flags = [f"-abi={request.param}"] if request.param != "standard" else []
    return compile_c(SURVIVORS / "survivors.c", target, *flags, compiler=str(STAGE / "bin/mpicc"))
