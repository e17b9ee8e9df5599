"""Processes of a job that are stopped, and ranks that leave nobody the cores: it ends all the same, and soon."""

import os
import signal
import subprocess
import sys
import time

import pytest

from launching import PATIENCE, children_of, compile_c, in_time, program, state_of, stop

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SLEEPER = "setsid sleep 661 &\necho $$ > ready.$PMI_RANK; sleep 660\n"


def start(launcher, ranks=3):
    """A job that is up: the process that the user sees, and the one below it."""
    program(launcher.folder, SLEEPER)
    job = launcher.start("-n", ranks, "./program")
    launcher.wait_until_running(ranks)
    [inner] = children_of(job.pid)
    return job, inner


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_job_though_the_inner_process_is_stopped(launcher, number):
    def attempt():
        job, inner = start(launcher)
        stop(inner)
        began = time.monotonic()
        job.send_signal(number)
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 128 + number and f"received signal {number:d}" in err
        launcher.assert_nothing_left()
        return began

    in_time(3, attempt)


HOLD = """
import ctypes, os, sys
libc, victim = ctypes.CDLL(None), int(sys.argv[1])
if libc.ptrace(16, victim, None, None):  # PTRACE_ATTACH
    sys.exit("may not trace")
os.waitpid(victim, 0)
print("holds it", flush=True)
while True:
    _, status = os.waitpid(victim, 0)
    if os.WIFSIGNALED(status) or os.WIFEXITED(status):
        break
"""


def test_a_signal_ends_the_job_though_a_debugger_holds_the_inner_process(launcher):
    def attempt():
        job, inner = start(launcher)
        holder = subprocess.Popen([sys.executable, "-c", HOLD, str(inner)], stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "holds it\n":
            job.kill()
            job.communicate(timeout=PATIENCE)
            pytest.skip("no right to trace a process")
        began = time.monotonic()
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 143 and f"the launcher (process {inner}) did not react" in err
        launcher.assert_nothing_left()
        holder.communicate(timeout=PATIENCE)
        return began

    in_time(10, attempt)


@pytest.mark.parametrize("stopped", ["the inner process", "the ranks", "all of them"])
def test_kill_9_of_the_outer_process_leaves_nothing_though_others_are_stopped(launcher, stopped):
    def attempt():
        job, inner = start(launcher)
        victims = {"the inner process": [inner], "the ranks": launcher.rank_ids(),
                   "all of them": [*launcher.rank_ids(), inner]}[stopped]
        stop(*victims)
        began = time.monotonic()
        job.kill()
        job.communicate(timeout=PATIENCE)
        launcher.assert_nothing_left(within=20)
        return began

    in_time(5, attempt)


@pytest.mark.parametrize("number", ENDING)
def test_a_stopped_rank_ends_with_the_others(launcher, number):
    def attempt():
        job, _ = start(launcher)
        stop(launcher.rank_ids()[1])
        began = time.monotonic()
        job.send_signal(number)
        job.communicate(timeout=PATIENCE)
        assert job.returncode == 128 + number
        launcher.assert_nothing_left()
        return began

    # Those that take no notice of an interrupt are asked again a second later.
    in_time(3, attempt)


def test_a_stopped_rank_has_time_to_clean_up(launcher, tmp_path):
    program(tmp_path, "trap 'touch cleaned.$PMI_RANK; exit 0' TERM; echo $$ > ready.$PMI_RANK; while :; do sleep 0.05; done\n")
    job = launcher.start("-n", 2, "./program")
    launcher.wait_until_running(2)
    stop(launcher.rank_ids()[1])
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=PATIENCE)
    assert (tmp_path / "cleaned.1").exists()


def test_a_user_signal_does_not_wake_a_stopped_rank(launcher, tmp_path):
    program(tmp_path, "trap : USR1; echo $$ > ready.$PMI_RANK; while :; do sleep 0.05; done\n")
    job = launcher.start("-n", 2, "./program")
    launcher.wait_until_running(2)
    rank = launcher.rank_ids()[1]
    stop(rank)
    job.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    assert state_of(rank) == "T"
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=PATIENCE)
    assert job.returncode == 143


LIMIT = 3
RANKS = 512


@pytest.fixture
def spin(tmp_path):
    """A program that computes for ever."""
    (tmp_path / "spin.c").write_text("int main(void) { for (volatile long at = 0;; at++) { } }\n")
    return compile_c(tmp_path / "spin.c", tmp_path / "spin")


def test_many_ranks_that_compute_end_soon_after_a_time_limit(launcher, spin):
    """They leave the launcher little time: starting them all takes longer than the limit."""
    def attempt():
        began = time.monotonic()
        result = launcher.run("--timeout", LIMIT, "-n", RANKS, spin)
        assert result.returncode == 124 and "3 s (--timeout)" in result.stderr
        return began + LIMIT

    in_time(5, attempt)


def test_many_ranks_that_compute_end_soon_after_a_signal(launcher, spin):
    def attempt():
        job = launcher.start("-n", RANKS, spin)
        time.sleep(LIMIT)
        began = time.monotonic()
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=PATIENCE)
        assert job.returncode == 143
        return began

    in_time(5, attempt)
