"""Building the programs of this folder once, and running jobs beside each other."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compiles a C program of this folder with our mpicc; gives its path."""
    folder = tmp_path_factory.mktemp("verdict")
    built = {}

    def compile_once(name):
        if name not in built:
            program = folder / name
            command = [jobs.STAGE / "bin/mpicc", "-std=gnu11", "-Wall", "-Wextra", "-O1", "-g", "-pthread"]
            subprocess.run([*command, "-o", program, HERE / f"{name}.c"], check=True)
            built[name] = program
        return built[name]

    return compile_once
