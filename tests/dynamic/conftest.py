"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import subprocess
import sys

import pytest

DYNAMIC = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(DYNAMIC.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import STAGE, for_each_abi  # noqa: E402


# A program that starts children, and children's children.
family = for_each_abi(DYNAMIC / "family.c")
# A program of a job that connects with another one.
apart = for_each_abi(DYNAMIC / "apart.c")


@pytest.fixture
def alone(launcher):
    """Runs a program that nobody launches; nothing may be left in the end."""

    def run(*command, timeout=120):
        library = {"LD_LIBRARY_PATH": str(STAGE / "lib"), **launcher.environment}
        return subprocess.run(
            list(map(str, command)), cwd=launcher.folder, env=library, timeout=timeout,
            capture_output=True, text=True, stdin=subprocess.DEVNULL)

    return run
