"""A rank that is asked for its stack keeps no memory for it: the launcher reads the debugging information."""

import json
import pathlib
import re
import subprocess
import time

import pytest

import jobs
from launching import PATIENCE

SERRIED = jobs.STAGE / "bin/serried"
PYTHON_PROGRAM = pathlib.Path(__file__).with_name("hangs.py")
KIB = 1024
GROWTH = 1024 * KIB


def private_memory(process):
    """Bytes that a process has written and nobody shares."""
    text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(re.search(r"^Private_Dirty: +(\d+) kB", text, re.MULTILINE)[1]) * KIB


def why(process):
    """The verdict with all that belongs to it; on a busy machine it may have to be asked for again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        command = [SERRIED, "why", str(process), "--json"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        seen = json.loads(answer.stdout)
        if seen["verdict"]:
            return seen
    raise AssertionError(f"no verdict: {answer.stdout}{answer.stderr}")


def wait_until_all_sleep(process):
    """Gives the processes of the ranks, when all of them wait in a call; nobody has been asked yet."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        report = subprocess.run(
            [SERRIED, "top", str(process), "--json", "-n", "1"], capture_output=True, text=True, timeout=PATIENCE
        )
        ranks = [rank for line in report.stdout.splitlines() for rank in json.loads(line)["ranks"]]
        if ranks and all(rank["state"] == "waiting" for rank in ranks):
            return [rank["process"] for rank in ranks]
        time.sleep(0.1)
    raise AssertionError(f"they do not wait: {report.stdout}{report.stderr}")


@pytest.mark.parametrize("language", ["c", "python"])
def test_a_verdict_costs_the_ranks_no_memory(language, build):
    program = [build("hangs")] if language == "c" else [jobs.PYTHON, PYTHON_PROGRAM]
    case = "wrong_tag_both" if language == "c" else "arrays_with_the_wrong_tag"
    job = subprocess.Popen([SERRIED, "run", "-n", "2", "--on-deadlock=off", *program, case])
    try:
        ranks = wait_until_all_sleep(job.pid)
        before = [private_memory(rank) for rank in ranks]
        seen = why(job.pid)
        after = [private_memory(rank) for rank in ranks]
    finally:
        job.terminate()
        job.wait(timeout=PATIENCE)
    assert seen["verdict"]["ranks"] == [0, 1]
    threads = [rank["threads"][0] for rank in seen["ranks"]]
    assert all(thread["stack"] for thread in threads), threads
    assert all(thread["python"] for thread in threads) or language == "c", threads
    growth = [now - then for now, then in zip(after, before)]
    assert max(growth) <= GROWTH, growth
