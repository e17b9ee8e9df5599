"""`serried why` on running jobs, what a verdict does to a job, and the flight recorder of a killed rank."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time


import jobs
from launching import PATIENCE

SERRIED = jobs.STAGE / "bin/serried"


@contextlib.contextmanager
def running(program, case, ranks, *options):
    """A job that is under way; ended at the end."""
    command = [SERRIED, "run", "-n", str(ranks), *options, program, case]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def why(process, *options):
    return subprocess.run([SERRIED, "why", str(process.pid), *options], capture_output=True, text=True, timeout=PATIENCE)


def ask_until(process, words):
    """Asks until the answer has these words: the job may still be starting, the machine may be busy."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = why(process)
        if words in answer.stdout:
            return answer
        time.sleep(0.25)
    raise AssertionError(f"{words!r} is not in: {answer.stdout}{answer.stderr}")


def facts(process, states):
    """What it says to machines once the ranks are in these states: it does not wait for ever for one that has no core."""
    end = time.monotonic() + PATIENCE
    while True:
        seen = json.loads(why(process, "--json").stdout)
        found = [rank["state"] for rank in seen["ranks"]]
        if found == states:
            return seen
        assert time.monotonic() < end, found


def test_of_a_job_that_hangs_it_tells_the_verdict(build):
    with running(build("hangs"), "wrong_tag_both", 2, "--on-deadlock=off") as process:
        answer = ask_until(process, "verdict: ranks 0 and 1 wait for each other")
        assert answer.returncode == 1
        for words in ("is in MPI_Recv", "this call waits for tag 7", "hangs.c:", "moved by rank 0: 4 bytes in packets"):
            assert words in answer.stdout
        seen = facts(process, ["waits", "waits"])
        assert seen["verdict"]["ranks"] == [0, 1]
        waits = seen["ranks"][1]
        assert (waits["state"], waits["call"], waits["waits_for"]) == ("waits", "MPI_Recv", [0])
        need = waits["threads"][0]["ways"][0][0]["message"]
        assert need == {"communicator": "MPI_COMM_WORLD", "source": 0, "tag": 7, "bytes": 4}
        assert waits["unexpected"][0]["tag"] == 8 and waits["threads"][0]["stack"]


def test_lines_are_told_of_a_program_that_was_removed_and_of_one_whose_debugging_information_is_elsewhere(build, tmp_path):
    removed, stripped = tmp_path / "removed", tmp_path / "stripped"
    shutil.copy(build("hangs"), removed)
    shutil.copy(build("hangs"), stripped)
    subprocess.run(["objcopy", "--only-keep-debug", stripped, tmp_path / "stripped.debug"], check=True)
    subprocess.run(["strip", stripped], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path}/stripped.debug", stripped], check=True)
    for program in (removed, stripped):
        with running(program, "crossed_receives", 2, "--on-deadlock=off") as process:
            ask_until(process, "verdict: ranks 0 and 1 wait for each other")
            if program is removed:
                program.unlink()
            answer = ask_until(process, "in crossed_receives at ")
            assert re.search(r"in crossed_receives at .*hangs.c:\d+\n +main at .*hangs.c:\d+\n", answer.stdout)


def test_of_a_job_that_goes_on_it_tells_who_is_awaited(build):
    with running(build("slow"), "chain", 4) as process:
        answer = ask_until(process, "not stuck: rank 0 does not wait")
        assert answer.returncode == 0
        assert "sleeps, not in MPI; its last MPI call was MPI_Comm_size" in answer.stdout
        assert "rank 3" in answer.stdout and "for a message of rank 2 with tag 0" in answer.stdout
        seen = facts(process, ["free", "waits", "waits", "waits"])
        assert seen["verdict"] is None


def test_a_stopped_rank_is_told_apart(build):
    with running(build("slow"), "late_barrier", 2, "-x", "NOTHING=1") as process:
        ask_until(process, "not stuck")
        seen = json.loads(why(process, "--json").stdout)
        stopped = seen["ranks"][1]["process"]
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert "rank 1" in ask_until(process, "is stopped (SIGSTOP, or a debugger)").stdout
        finally:
            os.kill(stopped, signal.SIGCONT)


def test_without_a_job_it_says_so():
    gone = subprocess.Popen(["true"])
    gone.wait()
    answer = why(gone)
    assert answer.returncode == 2 and f"there is no process {gone.pid}" in answer.stderr
    assert subprocess.run([SERRIED, "why", "--nonsense"], capture_output=True, timeout=PATIENCE).returncode == 2


def test_a_verdict_is_told_once_and_ends_the_job_only_if_wanted(build):
    program = build("hangs")
    for seconds in (6, 15, 40):  # a busy machine needs more
        outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--timeout", str(seconds), program, "crossed_receives"], PATIENCE)
        assert outcome.status == 124
        if "cannot go on" in outcome.output:
            break
    assert outcome.output.count("wait for each other and cannot go on") == 1
    assert "The job goes on; --on-deadlock=abort would end it." in outcome.output
    outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--on-deadlock=off", "--timeout", "4", program, "probe"], PATIENCE)
    assert outcome.status == 124 and "cannot go on" not in outcome.output
    outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--on-deadlock=maybe", program, "probe"], PATIENCE)
    assert outcome.status == 2 and "known are report, abort and off" in outcome.output


def test_of_a_killed_rank_the_last_calls_are_told_and_the_report_has_all(build, tmp_path):
    report = tmp_path / "report.txt"
    outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--report", report, build("killed")], PATIENCE)
    assert outcome.status == 137
    assert "its last call was MPI_Barrier, which had returned" in outcome.output
    assert "MPI_Recv (rank 0, tag 39, 4 bytes, MPI_COMM_WORLD)" in outcome.output
    assert len(outcome.output.splitlines()) < 24
    text = report.read_text()
    assert outcome.output.strip() in text
    assert "rank 0" in text and "MPI_Allreduce (MPI_COMM_WORLD)" in text
    # 64 calls of rank 1: 32 receives and 32 barriers.
    assert text.split("rank 1 (process")[-1].count("MPI_Recv") == 32


def test_what_a_killed_rank_has_called_before_and_in_initialisation_is_told(build, tmp_path):
    report = tmp_path / "report.txt"
    outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--report", report, build("killed"), "soon"], PATIENCE)
    assert outcome.status == 137
    calls = report.read_text().split("rank 1 (process")[-1].split("\n")[1:3]
    assert [call.strip() for call in calls] == ["MPI_Comm_rank", "MPI_Init"]


def test_a_job_that_ends_well_leaves_no_report(build, tmp_path):
    report = tmp_path / "report.txt"
    outcome = jobs.run_job([SERRIED, "run", "-n", "2", "--report", report, build("slow"), "chain", "1"], PATIENCE)
    assert outcome.status == 0 and not report.exists()
