"""Ends, good and bad: exit statuses, one message, nothing left behind."""

import os
import signal
import time

import pytest

from launching import PATIENCE, children_of, in_time, program

# Says that it is up, then works for a long time (longer than anybody waits for it) in a child of the shell.
BUSY = "echo $$ > ready.$PMI_RANK; sleep 660\n"


def test_the_status_is_that_of_the_first_bad_rank(launcher):
    result = launcher.run("-n", 3, "sh", "-c", "[ $PMI_RANK = 1 ] && exit 5; sleep 630")
    assert result.returncode == 5
    assert result.stderr.count("serried:") == 1 and "rank 1" in result.stderr and "status 5" in result.stderr


def test_all_ranks_ending_well_is_status_0(launcher):
    assert launcher.run("-n", 4, "true").returncode == 0


@pytest.mark.parametrize("name", ["KILL", "SEGV", "ABRT", "TERM"])
def test_a_signal_is_named_and_ends_the_job_quickly(launcher, name):
    def attempt():
        result = launcher.run("-n", 3, "sh", "-c", f"[ $PMI_RANK = 2 ] && kill -{name} $$; sleep 630")
        assert result.returncode == 128 + signal.Signals["SIG" + name]
        assert f"SIG{name}" in result.stderr and "rank 2" in result.stderr

    in_time(2, attempt)


def test_ranks_that_ignore_sigterm_are_killed_within_2_seconds(launcher):
    def attempt():
        script = "trap '' TERM; [ $PMI_RANK = 0 ] && exit 3; while :; do sleep 1; done"
        assert launcher.run("-n", 3, "sh", "-c", script).returncode == 3

    in_time(3, attempt)


def test_a_rank_has_time_to_clean_up(launcher, tmp_path):
    script = """
        [ $PMI_RANK = 0 ] && { while ! [ -e trapped ]; do sleep 0.05; done; exit 3; }
        trap 'touch cleaned; exit 0' TERM; touch trapped; while :; do sleep 0.05; done"""
    assert launcher.run("-n", 2, "sh", "-c", script).returncode == 3
    assert (tmp_path / "cleaned").exists()


def test_the_words_of_a_dying_rank_come_before_the_message(launcher):
    result = launcher.run("-n", 2, "sh", "-c", "[ $PMI_RANK = 1 ] && { echo last words >&2; exit 1; }; sleep 630")
    assert result.stderr.index("last words") < result.stderr.index("serried:")


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_timeout_ends_the_job(launcher, by_environment):
    options = [] if by_environment else ["--timeout", "0.5"]
    environment = {"MPIEXEC_TIMEOUT": "0.5"} if by_environment else {}
    result = launcher.run(*options, "-n", 2, "sleep", 630, env=environment)
    assert result.returncode == 124 and "0.5 s" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_user_signals_reach_the_ranks(launcher, number):
    name = number.name[3:]
    job = launcher.start("-n", 2, "sh", "-c",
                         f"trap 'echo got it; exit 0' {name}; echo $$ > ready.$PMI_RANK; while :; do sleep 0.05; done")
    launcher.wait_until_running(2)
    job.send_signal(number)
    out, _ = job.communicate(timeout=PATIENCE)
    assert (job.returncode, out) == (0, "got it\n" * 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_launcher_end_the_job(launcher, tmp_path, number):
    program(tmp_path, "echo $$ > ready.$PMI_RANK\nexec sleep 660\n")

    def attempt():
        job = launcher.start("-n", 3, "./program")
        launcher.wait_until_running(3)
        began = time.monotonic()
        job.send_signal(number)
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 128 + number and err.count("serried:") == 1
        return began

    in_time(5, attempt)


def test_a_signal_to_the_whole_process_group_is_never_lost(launcher, tmp_path):
    """As `timeout` does it: to the process that was started, then to its group."""
    program(tmp_path, "exec sleep 660\n")

    def attempt():
        job = launcher.start("-n", 3, "./program", start_new_session=True)
        time.sleep(0.05)
        job.send_signal(signal.SIGTERM)
        os.killpg(job.pid, signal.SIGTERM)
        job.communicate(timeout=PATIENCE)
        assert job.returncode in (143, -signal.SIGTERM)

    for _ in range(20):
        in_time(5, attempt)


def test_a_second_interrupt_kills_at_once(launcher):
    def attempt():
        job = launcher.start("-n", 2, "sh", "-c", "trap '' INT TERM; echo $$ > ready.$PMI_RANK; while :; do sleep 1; done")
        launcher.wait_until_running(2)
        job.send_signal(signal.SIGINT)
        time.sleep(0.4)
        job.send_signal(signal.SIGINT)
        began = time.monotonic()
        job.communicate(timeout=PATIENCE)
        assert job.returncode == 137
        return began

    in_time(1, attempt)


@pytest.mark.parametrize("victim", ["guard", "launcher"])
@pytest.mark.parametrize("detached", [False, True])
def test_kill_9_of_the_launcher_leaves_nothing(launcher, tmp_path, victim, detached):
    program(tmp_path, "setsid sleep 661 &\n" + BUSY if detached else BUSY)

    def attempt():
        job = launcher.start("-n", 4, "./program")
        launcher.wait_until_running(4)
        time.sleep(0.1)
        began = time.monotonic()
        os.kill(job.pid if victim == "guard" else children_of(job.pid)[0], signal.SIGKILL)
        assert job.wait(timeout=PATIENCE) in (137, -9)
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


def test_kill_9_of_a_rank_ends_the_job(launcher, tmp_path):
    program(tmp_path, BUSY)

    def attempt():
        job = launcher.start("-n", 3, "./program")
        launcher.wait_until_running(3)
        victim = launcher.rank_ids()[1]
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 137 and f"process {victim}" in err and "rank 1" in err
        return began

    in_time(2, attempt)


def test_a_killed_wrapper_takes_its_program_along(launcher, tmp_path):
    program(tmp_path, "sh -c 'echo $$ > inner.$PMI_RANK; setsid sleep 662 & sleep 663' &\necho $$ > ready.$PMI_RANK; wait\n")

    def attempt():
        job = launcher.start("-n", 2, "./program")
        launcher.wait_until_running(2)
        time.sleep(0.1)
        began = time.monotonic()
        os.kill(launcher.rank_ids()[0], signal.SIGKILL)
        job.communicate(timeout=PATIENCE)
        assert job.returncode == 137
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


def test_what_ranks_leave_behind_is_ended_with_the_job(launcher):
    def attempt():
        result = launcher.run("-n", 2, "sh", "-c", "setsid sleep 664 & echo done")
        assert (result.returncode, result.stdout) == (0, "done\n" * 2)

    in_time(3, attempt)
