"""`--restarts N`: a job that fails is started again; one that is ended by somebody, or cannot be started, is not."""

import os
import signal
import socket
import subprocess
import time

import pytest

from launching import PATIENCE, PROGRAMS, STAGE

# Rank 1 dies when the other one has had time to say its word.
DIES = "echo attempt $SERRIED_RESTART of $PMI_RANK; [ $SERRIED_RESTART -lt 2 ] && [ $PMI_RANK = 1 ] && sleep 0.5 && kill -9 $$; exit 0"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    program = tmp_path_factory.mktemp("restarts") / "checkpoints"
    subprocess.run([STAGE / "bin/mpicc", "-O1", "-Wall", "-Wextra", PROGRAMS / "checkpoints.c", "-o", program], check=True)
    return program


def ours(result):
    """What the launcher says of attempts."""
    return [line for line in result.stderr.splitlines() if "attempt" in line]


def test_a_job_that_fails_twice_is_started_three_times(launcher):
    result = launcher.run("--restarts", 4, "-n", 2, "sh", "-c", DIES)
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1].startswith("attempt 2 of")
    assert sorted(set(result.stdout.splitlines())) == [f"attempt {which} of {rank}" for which in range(3) for rank in range(2)]
    host = socket.gethostname()
    assert ours(result) == [
        "serried: attempt 1 of 5 has failed (rank 1, status 137)", f"serried: attempt 2 begins: 2 ranks on {host}",
        "serried: attempt 2 of 5 has failed (rank 1, status 137)", f"serried: attempt 3 begins: 2 ranks on {host}"]
    assert result.stderr.count("was killed by") == 2


def test_a_program_goes_on_from_its_checkpoint(launcher, checkpoints, tmp_path):
    result = launcher.run("--restarts", 2, "-n", 3, checkpoints, tmp_path / "state", "dies")
    assert result.returncode == 0, result.stderr
    # Each attempt but the last one comes a turn further.
    assert result.stdout.splitlines() == [
        "attempt 0 begins with turn 0", "attempt 1 begins with turn 1", "attempt 2 begins with turn 2", "attempt 2: sum 435 of 3 ranks"]
    assert sorted(os.listdir(tmp_path)) == ["state"]


@pytest.mark.parametrize("options", [[], ["--restarts", "0"]])
def test_without_restarts_there_is_one_attempt_that_has_no_number(launcher, options):
    result = launcher.run(*options, "-n", 2, "sh", "-c", "echo [$SERRIED_RESTART]; exit 4", env={"SERRIED_RESTART": "1"})
    assert result.returncode == 4 and set(result.stdout.split()) == {"[]"} and not ours(result)
    assert "SERRIED_RESTART" not in result.stderr


def test_the_last_attempt_gives_the_status(launcher):
    result = launcher.run("--restarts", 2, "sh", "-c", "exit $((5 + SERRIED_RESTART))")
    assert result.returncode == 7 and len(ours(result)) == 5
    assert ours(result)[-1] == "serried: attempt 3 of 3 has failed (rank 0, status 7); the job is not started again"


def test_mpi_abort_is_a_failure(launcher, checkpoints):
    # Without a folder the file cannot be written.
    result = launcher.run("--restarts", 1, "-n", 2, checkpoints, "/nowhere/state")
    assert result.returncode == 9 and len(ours(result)) == 3


@pytest.mark.parametrize("arguments, status", [
    (["--timeout", "1", "sleep", "600"], 124),
    (["true"], 0),
    (["./no-such-program"], 127),
    (["./odd"], 127),
    (["-wdir", "/nowhere", "true"], 127),
    (["--restart", "2", "true"], 2),
])
def test_what_is_no_failure_of_a_rank_is_not_repeated(launcher, tmp_path, arguments, status):
    (tmp_path / "odd").write_text("#!/nowhere/interpreter\n")
    (tmp_path / "odd").chmod(0o755)
    result = launcher.run("--restarts", 3, "-n", 2, *arguments)
    assert result.returncode == status and not ours(result), result.stderr


def test_ranks_that_wait_for_each_other_for_ever_are_not_started_again(launcher, checkpoints, tmp_path):
    result = launcher.run("--restarts", 3, "--on-deadlock", "abort", "-n", 2, checkpoints, tmp_path / "state", "waits")
    assert result.returncode == 123 and not ours(result), result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("attempt", [0, 1])
def test_a_job_that_the_user_ends_stays_ended(launcher, number, attempt):
    script = f"[ $SERRIED_RESTART = {attempt} ] || exit 3; echo $$ > ready.$PMI_RANK; exec sleep 660"
    job = launcher.start("--restarts", 5, "-n", 2, "sh", "-c", script)
    launcher.wait_until_running(2)
    job.send_signal(number)
    _, err = job.communicate(timeout=PATIENCE)
    assert job.returncode == 128 + number and err.count(" begins: ") == attempt, err


def test_a_user_who_wants_the_end_while_a_failed_job_ends_gets_it(launcher, tmp_path):
    script = """
        [ $PMI_RANK = 1 ] && { while ! [ -e trapped ]; do sleep 0.05; done; exit 3; }
        trap 'touch asked' TERM; touch trapped; while :; do sleep 0.05; done"""
    job = launcher.start("--restarts", 5, "-n", 2, "sh", "-c", script)
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "asked").exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=PATIENCE)
    assert job.returncode == 3 and "begins" not in err, err


def test_the_time_limit_is_that_of_all_attempts(launcher):
    began = time.monotonic()
    result = launcher.run("--restarts", 900, "--timeout", 3, "-n", 2, "sh", "-c", "sleep 0.4; exit 3")
    assert result.returncode in (3, 124) and 2 < time.monotonic() - began < 60
    assert 1 < len(ours(result)) < 40


def test_files_of_output_keep_what_all_attempts_have_written(launcher, tmp_path):
    (tmp_path / "out.0").write_text("of yesterday\n")
    launcher.run("--restarts", 2, "-n", 2, "-outfile-pattern", "out.%r", "sh", "-c", DIES)
    assert (tmp_path / "out.1").read_text() == "".join(f"attempt {which} of 1\n" for which in range(3))
    assert "yesterday" not in (tmp_path / "out.0").read_text()


def test_ranks_of_all_attempts_may_open_as_many_files(launcher):
    result = launcher.run("--restarts", 1, "sh", "-c", "ulimit -Sn; exit 1")
    one, other = result.stdout.split()
    assert one == other


def test_a_killed_launcher_leaves_nothing_in_any_attempt(launcher):
    script = "[ $SERRIED_RESTART = 0 ] && exit 3; echo $$ > ready.$PMI_RANK; exec sleep 660"
    job = launcher.start("--restarts", 5, "-n", 2, "sh", "-c", script)
    launcher.wait_until_running(2)
    job.kill()
    job.communicate(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while launcher.processes():
        assert time.monotonic() < deadline, "ranks are left"
        time.sleep(0.05)
