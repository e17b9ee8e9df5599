"""kill -9 of anything, at any time; and a thousand jobs in a row: nothing is left."""

import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from launching import PATIENCE, ROOT, SERRIED, STAGE, children_of, compile_c, in_time, program

STARTS = 1000


@pytest.fixture(scope="session")
def nothing(tmp_path_factory):
    """A program that begins and ends."""
    target = tmp_path_factory.mktemp("nothing") / "misbehave"
    return compile_c("misbehave.c", target, compiler=str(STAGE / "bin/mpicc"))


def segments():
    """What the system has of shared memory and semaphores with names, and System V's."""
    folder = pathlib.Path("/dev/shm")
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    system_v = [pathlib.Path(f"/proc/sysvipc/{kind}") for kind in ("shm", "sem", "msg")]
    return names, [len(file.read_text().splitlines()) for file in system_v if file.exists()]


def ends_with_one_message(job, *words):
    _, err = job.communicate(timeout=PATIENCE)
    assert err.count("serried:") == 1 and len(err.splitlines()) <= 24, err
    for word in words:
        assert word in err, err


@pytest.mark.parametrize("victim", range(4))
def test_kill_9_of_any_rank_at_work(launcher, work, victim):

    def attempt():
        job = launcher.start("-n", 4, work, 60)
        launcher.wait_until_running(4)
        process = launcher.rank_ids()[victim]
        began = time.monotonic()
        os.kill(process, signal.SIGKILL)
        ends_with_one_message(job, f"rank {victim}", f"process {process}", "SIGKILL")
        assert job.returncode == 137
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


@pytest.mark.parametrize("victim", [0, 2])
def test_kill_9_of_a_rank_over_the_loopback(launcher, work, victim):
    """Its peers notice by themselves, but the launcher says it, and only once."""
    launcher.environment["SERRIED_TRANSPORT"] = "loopback"
    job = launcher.start("-n", 3, work, 60)
    launcher.wait_until_running(3)
    os.kill(launcher.rank_ids()[victim], signal.SIGKILL)
    ends_with_one_message(job, f"rank {victim}", "SIGKILL")
    launcher.assert_nothing_left()


@pytest.mark.parametrize("network", ["loopback", "wire"])
@pytest.mark.parametrize("victim", range(4))
def test_kill_9_of_a_rank_whose_memory_others_change(launcher, reaching, victim, network):
    """Ranks 0 and 2 have the servers of their nodes."""
    launcher.environment.update(SERRIED_TRANSPORT=network, SERRIED_NODES="2")
    job = launcher.start("-n", 4, reaching)
    launcher.wait_until_running(4)
    os.kill(launcher.rank_ids()[victim], signal.SIGKILL)
    ends_with_one_message(job, f"rank {victim}", "SIGKILL")
    assert job.returncode == 137
    launcher.assert_nothing_left()


@pytest.mark.parametrize("victim", ["guard", "launcher"])
def test_kill_9_of_the_launcher_at_work(launcher, work, victim):
    def attempt():
        job = launcher.start("-n", 4, work, 60)
        launcher.wait_until_running(4)
        began = time.monotonic()
        os.kill(job.pid if victim == "guard" else children_of(job.pid)[0], signal.SIGKILL)
        job.communicate(timeout=PATIENCE)
        assert job.returncode in (137, -9)
        launcher.assert_nothing_left(within=5)
        return began

    in_time(10, attempt)


@pytest.mark.parametrize("victim", range(3))
def test_kill_9_of_a_shell_around_a_rank(launcher, work, tmp_path, victim):
    """The shell is what the launcher knows; the program in it has to go with it."""
    program(tmp_path, f"echo $$ > shell.$PMI_RANK\n{work} 60\nexit $?\n")

    def attempt():
        job = launcher.start("-n", 3, "./program")
        launcher.wait_until_running(3)
        began = time.monotonic()
        os.kill(int((tmp_path / f"shell.{victim}").read_text()), signal.SIGKILL)
        ends_with_one_message(job, f"rank {victim}", "SIGKILL")
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


@pytest.mark.parametrize("victim", range(3))
def test_kill_9_of_the_program_in_a_shell(launcher, work, tmp_path, victim):
    program(tmp_path, f"{work} 60\nexit $?\n")

    def attempt():
        job = launcher.start("-n", 3, "./program")
        launcher.wait_until_running(3)
        began = time.monotonic()
        os.kill(launcher.rank_ids()[victim], signal.SIGKILL)
        ends_with_one_message(job, f"rank {victim}", "137")
        assert job.returncode == 137
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


@pytest.fixture(scope="session")
def storm(tmp_path_factory):
    """Collectives without end."""
    target = tmp_path_factory.mktemp("storm") / "storm"
    return compile_c(ROOT / "tests/faults/storm.c", target, compiler=str(STAGE / "bin/mpicc"))


def ends_when_a_rank_dies_in_a_storm(launcher, storm, ranks, kind, victim, microseconds):
    def attempt():
        job = launcher.start("-n", ranks, storm, kind, victim, microseconds)
        ends_with_one_message(job, f"rank {victim}", "SIGKILL")
        assert job.returncode == 137

    in_time(5, attempt)


@pytest.mark.parametrize("ranks, victim", [(2, 0), (2, 1), (5, 0), (5, 4)])
def test_kill_9_of_a_rank_inside_a_collective_on_shared_memory(launcher, storm, ranks, victim):
    """It has published its part and is combining the others'."""
    ends_when_a_rank_dies_in_a_storm(launcher, storm, ranks, "user", victim, 0)
    launcher.assert_nothing_left()


def test_kill_9_at_random_points_of_a_storm_of_collectives(launcher, storm):
    before = segments()
    chance = random.Random(2)
    for kind in ("barrier", "bcast", "short", "slot", "long", "mixed"):
        for ranks in (2, 3, 4):
            for _ in range(2):
                victim, microseconds = chance.randrange(ranks), chance.randrange(1, 5000)
                ends_when_a_rank_dies_in_a_storm(launcher, storm, ranks, kind, victim, microseconds)
        launcher.assert_nothing_left()
    assert segments() == before


def test_kills_at_any_time_leave_nothing(launcher, nothing):
    """Of any process of the job, also while it starts and while it ends."""
    before = segments()
    chance = random.Random(1)
    for number in range(STARTS // 5):
        job = launcher.start("-n", 3, nothing, "nothing")
        time.sleep(chance.random() * 0.03)
        middle = children_of(job.pid)
        everybody = [job.pid, *middle, *(rank for process in middle for rank in children_of(process))]
        try:
            os.kill(chance.choice(everybody), signal.SIGKILL)
        except ProcessLookupError:
            pass
        job.communicate(timeout=PATIENCE)
        if number % 20 == 19:
            launcher.assert_nothing_left(within=5)
    launcher.assert_nothing_left(within=5)
    assert segments() == before


def test_a_thousand_jobs_in_a_row_leave_nothing(launcher, nothing):
    before = segments()
    command = [SERRIED, "run", "-n", "2", str(nothing), "nothing"]
    for _ in range(STARTS):
        done = subprocess.run(command, env=launcher.environment, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (0, "2 ranks\n"), done.stderr
    launcher.assert_nothing_left()
    assert segments() == before
