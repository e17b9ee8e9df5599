"""Allreduces of 1 MiB between mapped buffers make no system call, once they are under way.

strace stops a process at every call that it traces, and takes a core for that. A rank that is traced while it waits makes
the other wait, and strace is a load that ranks feel: both sleep, or wait as in a crowd, ever after. So the calls that
waiting consists of are not traced; how often ranks sleep they count themselves.
"""

import collections
import itertools
import os
import pathlib
import resource
import shutil
import subprocess
import time

import pytest

import jobs

# What a wait consists of; the last three where others want the core.
WAITING = "futex,membarrier,sched_yield,sched_getaffinity,sched_setaffinity"
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


def busy():
    """Seconds that all cores of the machine have worked."""
    user, nice, system = map(int, pathlib.Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def own():
    """Seconds that jobs of this test have worked."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(*command):
    """The outcome of a job that ends well, and how many cores others had meanwhile."""
    before, began = busy() - own(), time.monotonic()
    outcome = jobs.run_job(command, 300)
    others = (busy() - own() - before) / (time.monotonic() - began)
    assert outcome.ended_well(), outcome.output
    return outcome, others


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
    run(*trace, *job)
    ranks = [rounds for rounds in map(rounds_of, tmp_path.glob("calls.*")) if rounds]
    assert [len(rounds) for rounds in ranks] == [ROUNDS, ROUNDS]
    for rounds in ranks:
        # Something rare (a second of waiting, say) may fall into a round, but not into most.
        calls = sum(rounds, collections.Counter())
        assert sum(not any(round.values()) for round in rounds) >= ROUNDS - 2, calls


def told_by(steady, rounds, each):
    """What both ranks say of each round (sleeps, cores taken away, microseconds without a core), and how many cores others
    had meanwhile."""
    outcome, others = run(*jobs.job_command("serried", 2, [steady, rounds, each, "tell"]))
    ranks = {0: [], 1: []}
    for line in outcome.output.splitlines():
        rank, *row = map(int, line.split())
        ranks[rank].append(row)
    assert [len(rows) for rows in ranks.values()] == [rounds, rounds]
    return list(zip(*ranks.values())), others


def test_and_most_of_them_nobody_sleeps(steady):
    """By what the ranks count. Whoever shares the machine makes them sleep, so one good run is enough; and while others work,
    so are some rounds for which both ranks had a core to themselves."""
    rounds, each = 500, 2
    shares, alone = [], []
    for _ in range(20):
        told, others = told_by(steady, rounds, each)
        sleeps = [one[0] + other[0] for one, other in told]
        shares.append((sum(sleeps) / (2 * each * rounds), others))
        if shares[-1][0] < 0.1:
            return
        if others > 0.2:
            left_alone = [all(taken == 0 and ready < 20 for _, taken, ready in round) for round in told]
            alone += itertools.compress(sleeps, left_alone)
        if len(alone) >= 50:
            assert sum(alone) < 0.1 * 2 * each * len(alone), alone
            return
    if min(others for _, others in shares) > 1:
        pytest.skip("others have always taken more than a core")
    pytest.fail(f"sleeps for each allreduce, and cores that others had: {shares}")
