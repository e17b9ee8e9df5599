"""What goes wrong with a file is an error of its class, on every rank that must know; never a hang, never wrong data."""

import errno
import os
import subprocess

import pytest

import jobs

# Classes of the MPI-5 ABI, in which the programs are compiled.
CLASSES = {}


@pytest.fixture(scope="module", autouse=True)
def classes():
    for line in (jobs.STAGE / "include/mpi.h").read_text().splitlines():
        words = line.replace("=", " ").replace(",", " ").replace("(", " ").replace(")", " ").split()
        for word, value in zip(words, words[1:]):
            if word.startswith("MPI_ERR_") and value.isdigit():
                CLASSES[word.removeprefix("MPI_ERR_")] = value


def run(programs, name, kind, error_class="0", ranks=3, **fail):
    env = dict(os.environ, **{f"FAIL_{key.upper()}": str(value) for key, value in fail.items()})
    if fail:
        env |= {"FAIL_PATH": name.name, "LD_PRELOAD": str(programs / "failing.so")}
    command = jobs.job_command("serried", ranks, [programs / "writes", name, error_class, kind])
    outcome = jobs.run_job(command, 60, env=env)
    assert outcome.ended_well(), outcome.output


KINDS = ["apart", "interleaved", "rows", "nonblocking"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_wrong(programs, tmp_path, kind):
    run(programs, tmp_path / "whole", kind)


@pytest.mark.parametrize("call", ["pwrite", "pread"])
@pytest.mark.parametrize("kind", KINDS)
def test_short_and_interrupted_calls_are_made_up_for(programs, tmp_path, kind, call):
    run(programs, tmp_path / "short", kind, call=call, short=70000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "code, error_class",
    [("ENOSPC", "NO_SPACE"), ("EIO", "IO"), ("EDQUOT", "QUOTA"), ("EROFS", "READ_ONLY"), ("EFBIG", "NO_SPACE")],
)
def test_a_write_that_fails(programs, tmp_path, kind, code, error_class):
    run(programs, tmp_path / "failed", kind, CLASSES[error_class], call="pwrite", errno=getattr(errno, code))


@pytest.mark.parametrize("kind", ["interleaved", "rows"])
def test_a_write_that_fails_later(programs, tmp_path, kind):
    run(programs, tmp_path / "later", kind, CLASSES["NO_SPACE"], call="pwrite", errno=errno.ENOSPC, after=3)


def test_a_read_that_fails(programs, tmp_path):
    run(programs, tmp_path / "read", "read", CLASSES["IO"], call="pread", errno=errno.EIO)


def test_a_sync_that_fails_fails_everywhere(programs, tmp_path):
    run(programs, tmp_path / "sync", "sync", CLASSES["IO"], call="fdatasync", errno=errno.EIO)


def test_two_jobs_on_one_file(programs, tmp_path):
    name = tmp_path / "both"
    command = jobs.job_command("serried", 2, [programs / "writes", name, "0", "apart"])
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for job in both:
        _, said = job.communicate(timeout=60)
        assert job.returncode == 0, said


def test_a_rank_that_is_killed_ends_the_job_and_leaves_nothing(programs, tmp_path):
    shared = set(os.listdir("/dev/shm"))
    command = jobs.job_command("serried", 3, [programs / "writes", tmp_path / "killed", "0", "killed"])
    outcome = jobs.run_job(command, 60)
    assert outcome.status not in (None, 0) and "rank 1" in outcome.output, outcome.output
    assert set(os.listdir("/dev/shm")) <= shared
