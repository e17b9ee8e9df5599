"""Fixtures and names for the tests of this folder: see support/launching.py and tests/faults."""

import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import HELLO, PATIENCE, SERRIED, compile_c, peer_compiler  # noqa: E402


class Doctor:
    """Runs `serried doctor`, before it a shell script and around it another command."""

    def __init__(self, launcher):
        self.launcher = launcher
        self.environment = launcher.environment

    def text(self, *arguments, before=(), script="", **options):
        command = [SERRIED, "doctor", *arguments]
        if script:
            command = ["sh", "-ec", f'{script}\nexec "$@"', "sh", *command]
        return subprocess.run([*map(str, [*before, *command])], cwd=self.launcher.folder, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)

    def facts(self, *arguments, **options):
        """What it says to machines: findings by what they are about, and its exit status."""
        result = self.text("--json", *arguments, **options)
        told = json.loads(result.stdout)
        assert told["status"] == result.returncode, result
        found = {}
        for finding in told["findings"]:
            found.setdefault(finding["about"], []).append(finding)
        return found, result.returncode

    def in_namespace(self, flags, script, *arguments):
        if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
            pytest.skip("no right to make a namespace")
        return self.facts(*arguments, before=["unshare", *flags], script=script)


@pytest.fixture(scope="session")
def other_mpi(tmp_path_factory):
    """A folder with launchers as Debian's Open MPI has them: links to one program, here a script that only says its name."""
    folder = tmp_path_factory.mktemp("other-mpi")
    (folder / "orterun").write_text("#!/bin/sh\necho 'orterun (Open MPI) 4.1.4'\n")
    (folder / "orterun").chmod(0o755)
    for name in ("mpiexec", "mpirun"):
        (folder / f"{name}.openmpi").symlink_to("orterun")
        (folder / name).symlink_to(f"{name}.openmpi")
    return folder


@pytest.fixture
def doctor(launcher, other_mpi):
    """The doctor on a machine whose PATH ends with another MPI, as that of many users does."""
    launcher.environment["PATH"] += f":{other_mpi}"
    for name in ("LD_PRELOAD", "MPI4PY_LIBMPI", "MPI4PY_MPIABI"):
        launcher.environment.pop(name, None)
    return Doctor(launcher)


@pytest.fixture(scope="session")
def deny(tmp_path_factory):
    """A program that denies system calls to another."""
    return compile_c(HERE.parent / "faults/deny.c", tmp_path_factory.mktemp("deny") / "deny")


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Builds a small MPI program with the compiler of one MPI; gives its path."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "hello.c").write_text(HELLO)

    def made(name, whose, *flags):
        return compile_c(folder / "hello.c", folder / name, *flags, compiler=peer_compiler(whose))

    return made
