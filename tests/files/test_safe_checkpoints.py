"""The hints serried_atomic_replace and serried_checksum: a reader finds the old file or the new one, whole, and damage."""

import errno
import hashlib
import os

import pytest

import jobs

RANKS, PART, TURNS = 3, 700001, 7
OLD = b"the old file" * 1000


def whole():
    """What the file holds once it was written."""
    parts = []
    for turn in range(TURNS):
        for rank in range(RANKS):
            pattern = bytes((i * 7 + turn + rank) % 256 for i in range(256))
            parts.append((pattern * (PART // 256 + 1))[:PART])
    return b"".join(parts)


def run(programs, name, *words, **environment):
    command = jobs.job_command("serried", RANKS, [programs / "replaces", name, *words])
    outcome = jobs.run_job(command, 120, env=dict(os.environ, **environment))
    assert "wrong" not in outcome.output, outcome.output
    return outcome


def digest(name):
    return hashlib.sha256(name.read_bytes()).hexdigest()


@pytest.mark.parametrize("nodes", ["", "2"])
def test_the_new_file_takes_the_place_of_the_old_one(programs, tmp_path, nodes):
    name = tmp_path / "checkpoint"
    name.write_bytes(OLD)
    name.chmod(0o640)
    assert run(programs, name, "false", SERRIED_NODES=nodes).ended_well()
    assert name.read_bytes() == whole()
    assert name.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_a_link_is_followed(programs, tmp_path):
    (tmp_path / "there").write_bytes(OLD)
    (tmp_path / "link").symlink_to("there")
    assert run(programs, tmp_path / "link", "false").ended_well()
    assert (tmp_path / "there").read_bytes() == whole() and (tmp_path / "link").is_symlink()


def test_a_job_that_is_killed_leaves_the_old_file_and_the_next_one_goes_on(programs, tmp_path):
    name = tmp_path / "checkpoint"
    name.write_bytes(OLD)
    assert not run(programs, name, "false", "killed").ended_well()
    assert name.read_bytes() == OLD
    assert run(programs, name, "false").ended_well()
    assert name.read_bytes() == whole() and os.listdir(tmp_path) == ["checkpoint"]


@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_failure_leaves_the_old_file(programs, tmp_path, call):
    name = tmp_path / "checkpoint"
    name.write_bytes(OLD)
    fail = {"FAIL_CALL": call, "FAIL_ERRNO": str(errno.EIO), "FAIL_AFTER": "5" if call == "pwrite" else "0"}
    outcome = run(programs, name, "false", "failing", LD_PRELOAD=str(programs / "failing.so"), FAIL_PATH=name.name, **fail)
    assert outcome.ended_well(), outcome.output
    assert name.read_bytes() == OLD and os.listdir(tmp_path) == ["checkpoint"]


def test_checksums_find_damage_and_say_where(programs, tmp_path):
    name = tmp_path / "checkpoint"
    assert run(programs, name, "true").ended_well()
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "checkpoint.serried-sums"]
    assert run(programs, name, "true", "read").ended_well()
    with open(name, "r+b") as file:
        file.seek(9 * 262144 + 77)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 4]))
    said = run(programs, name, "true", "read")
    assert not said.ended_well() and "block 9" in said.output and "offset 2359296" in said.output, said.output
    os.truncate(name, 1000)
    said = run(programs, name, "true", "read")
    assert not said.ended_well() and "has 1000 bytes" in said.output, said.output
    # A new file has new sums, and one that is written without the hint has none.
    assert run(programs, name, "true").ended_well() and run(programs, name, "true", "read").ended_well()
    assert run(programs, name, "false").ended_well()
    assert os.listdir(tmp_path) == ["checkpoint"]
