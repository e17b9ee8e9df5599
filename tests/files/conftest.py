"""Building the programs of this folder once."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-O1", "-g"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The folder of the compiled programs, and of the library that makes calls fail."""
    folder = tmp_path_factory.mktemp("files")
    compiler = jobs.STAGE / "bin/mpicc"
    for name in ("writes", "replaces", "random", "disks", "watched", "unlike"):
        sources = sorted(HERE.glob("random*.c")) if name == "random" else [HERE / f"{name}.c"]
        subprocess.run([compiler, *FLAGS, "-o", folder / name, *sources], check=True)
    library = ["-shared", "-fPIC", "-o", folder / "failing.so", HERE / "failing.c", "-ldl"]
    subprocess.run(["cc", *FLAGS, *library], check=True)
    return folder
