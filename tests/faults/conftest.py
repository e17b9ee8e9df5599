"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import sys

import pytest

FAULTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FAULTS.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import STAGE, compile_c  # noqa: E402


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A program that sends and adds up in many ways, and checks it."""
    target = tmp_path_factory.mktemp("work") / "work"
    flags = ["-std=gnu11", "-Wall", "-I", str(FAULTS.parent / "c")]
    return compile_c(FAULTS / "work.c", target, *flags, compiler=str(STAGE / "bin/mpicc"))


@pytest.fixture(scope="session")
def reaching(tmp_path_factory):
    """A program whose ranks change memory of each other for ever."""
    target = tmp_path_factory.mktemp("reaching") / "reaching"
    flags = ["-std=gnu11", "-Wall", "-I", str(FAULTS.parent / "c")]
    return compile_c(FAULTS / "reaching.c", target, *flags, compiler=str(STAGE / "bin/mpicc"))
