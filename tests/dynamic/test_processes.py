"""Jobs that start others and connect with them, under our launcher and without one; mpi4py's own tests of that."""

import os
import signal
import subprocess

import pytest

from launching import PATIENCE, PYTHON, ROOT, STAGE

SUITE = next((main.parent for main in sorted((ROOT / "build").glob("mpi4py-*/test/main.py"))), None)
MODULES = ["test_spawn", "test_dynproc", "test_util_pool"]


def ended_well(job):
    assert job.returncode == 0, job.stdout + job.stderr
    assert "serried:" not in job.stderr, job.stderr


@pytest.mark.parametrize("what, ranks", [
    ("spawn", 1), ("spawn", 3), ("generations", 1), ("multiple", 2), ("names", 1), ("wrong", 2), ("many", 1), ("join", 2),
])
def test_a_job_starts_others_and_talks_with_them(launcher, family, what, ranks):
    ended_well(launcher.run("-n", ranks, family, what))


@pytest.mark.parametrize("what", ["spawn", "generations", "multiple", "names", "wrong", "many"])
def test_the_same_without_a_launcher(alone, family, what):
    ended_well(alone(family, what))


def test_waiting_for_children_is_no_deadlock(launcher, family):
    ended_well(launcher.run("-n", 2, "--on-deadlock=abort", family, "slow"))


def wait_for(launcher, count):
    launcher.wait_until_running(count)
    return {file.suffix[1:]: int(file.read_text()) for file in launcher.folder.glob("ready.*")}


def test_a_parent_that_is_killed_takes_its_children_along(launcher, family):
    environment = {"LD_LIBRARY_PATH": str(STAGE / "lib"), **launcher.environment}
    parent = subprocess.Popen([family, "hang"], cwd=launcher.folder, env=environment, stderr=subprocess.PIPE, text=True)
    wait_for(launcher, 3)
    os.kill(parent.pid, signal.SIGKILL)
    _, said = parent.communicate(timeout=PATIENCE)
    assert "the process that has started this job has died" in said
    launcher.assert_nothing_left(within=10)


def test_a_parent_under_the_launcher_that_is_killed_does_too(launcher, family):
    job = launcher.start("-n", 2, family, "hang")
    os.kill(wait_for(launcher, 4)["0"], signal.SIGKILL)
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode == 137 and "SIGKILL" in said
    launcher.assert_nothing_left(within=10)


def test_a_child_that_is_killed_is_missed_by_its_parent(launcher, family):
    job = launcher.start("-n", 1, family, "hang")
    os.kill(wait_for(launcher, 3)["10"], signal.SIGKILL)
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode not in (0, None) and "of another job cannot be reached" in said, said
    launcher.assert_nothing_left(within=10)


def test_a_launcher_that_is_killed_leaves_nobody(launcher, family):
    job = launcher.start("-n", 2, family, "hang")
    wait_for(launcher, 4)
    job.kill()
    job.communicate(timeout=PATIENCE)
    launcher.assert_nothing_left(within=10)


def test_a_signal_ends_parents_and_children(launcher, family):
    job = launcher.start("-n", 2, family, "hang")
    wait_for(launcher, 4)
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=PATIENCE)
    launcher.assert_nothing_left(within=20)


def suite(module):
    return [PYTHON, SUITE / "main.py", "-f", "-i", rf"^{module}\.py$"]


@pytest.mark.skipif(SUITE is None, reason="no sources of mpi4py (`make test` gets them)")
@pytest.mark.parametrize("abi", ["", "openmpi"])
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_suite_of_mpi4py(launcher, module, ranks, abi):
    job = launcher.run("-n", ranks, *suite(module), env={"MPI4PY_MPIABI": abi} if abi else {})
    ended_well(job)


@pytest.mark.skipif(SUITE is None, reason="no sources of mpi4py (`make test` gets them)")
@pytest.mark.parametrize("module", MODULES)
def test_the_suite_of_mpi4py_without_a_launcher(alone, launcher, module):
    launcher.environment["MPI4PY_LIBMPI"] = str(STAGE / "lib/libmpi.so.12")
    ended_well(alone(*suite(module)))


FUTURES = """
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor(4) as pool:
        assert list(pool.map(pow, range(100), [3] * 100)) == [number ** 3 for number in range(100)]
"""


def test_a_notebook_has_a_pool(alone, launcher):
    (launcher.folder / "pool.py").write_text(FUTURES)
    launcher.environment["MPI4PY_LIBMPI"] = str(STAGE / "lib/libmpi.so.12")
    ended_well(alone(PYTHON, "pool.py"))
