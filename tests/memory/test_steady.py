"""Allreduces of 1 MiB between mapped buffers make no system call, once they are under way.

strace stops a process at every call that it traces, so a rank that is traced while it waits makes the other wait, and
both sleep ever after. So the two calls that waiting consists of are not traced but counted by the ranks themselves.
"""

import collections
import re
import shutil
import subprocess

import pytest

import jobs

WAITING = "futex,membarrier"
ROUNDS, EACH = 20, 50


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """The program, compiled; skips where there is no strace."""
    if not shutil.which("strace"):
        pytest.skip("no strace here (`make test` installs it)")
    target = tmp_path_factory.mktemp("programs") / "steady"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([jobs.STAGE / "bin/mpicc", jobs.ROOT / "tests/memory/steady.c", "-o", target, *flags], check=True)
    return target


def rounds_of(file):
    """The system calls of each round, as the file of one process tells."""
    rounds = []
    for line in file.read_text().splitlines():
        if "a round begins or ends" in line:
            rounds.append(collections.Counter())
        elif rounds:
            rounds[-1][line.split("(")[0]] += 1
    return rounds[:-1]


def test_the_steady_state_of_a_long_allreduce_makes_no_system_call(steady, tmp_path):
    trace = ["strace", "-qq", "-ff", "--seccomp-bpf", "-e", f"trace=!{WAITING}", "-o", str(tmp_path / "calls")]
    job = jobs.job_command("serried", 2, [steady, ROUNDS, EACH])
    outcome = jobs.run_job([*trace, *job], 60)
    assert outcome.ended_well(), outcome.output
    ranks = [rounds for rounds in map(rounds_of, tmp_path.glob("calls.*")) if rounds]
    assert [len(rounds) for rounds in ranks] == [ROUNDS, ROUNDS]
    for rounds in ranks:
        # Something rare (a second of waiting, say) may fall into a round, but not into most.
        calls = sum(rounds, collections.Counter())
        assert sum(not any(round.values()) for round in rounds) >= ROUNDS - 2, calls


def test_and_most_of_them_nobody_sleeps(steady):
    """By what the ranks count. Whoever shares the machine makes them sleep, so the best of some runs counts."""
    shares = []
    for _ in range(8):
        outcome = jobs.run_job(jobs.job_command("serried", 2, [steady, ROUNDS, EACH], ["--stats"]), 60)
        assert outcome.ended_well(), outcome.output
        total = re.search(r"^ +all .* (\d+) +\S+s +(\d+)$", outcome.output, re.MULTILINE)
        collectives, sleeps = map(int, total.groups())
        assert collectives >= 2 * ROUNDS * EACH, outcome.output
        shares.append(sleeps / collectives)
        if shares[-1] < 0.1:
            return
    pytest.fail(f"sleeps for each allreduce: {shares}")
