"""Real file systems that are full, read-only or small, files that change under us, and little memory (disks.c)."""

import os
import re
import shutil
import subprocess

import pytest

import jobs
from launching import memory_group  # noqa: F401  a fixture


def run(programs, ranks, *words, enter=(), timeout=240, **environment):
    command = [*enter, *jobs.job_command("serried", ranks, [programs / "disks", *words])]
    outcome = jobs.run_job(list(map(str, command)), timeout, env=dict(os.environ, **environment))
    assert outcome.ended_well() and "wrong" not in outcome.output, outcome.output


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small file system."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(kind, *options):
        if kind == "ext4":
            if not shutil.which("mkfs.ext4"):
                pytest.skip("no mkfs.ext4")
            image = tmp_path / "image"
            with open(image, "wb") as file:
                file.truncate(8 << 20)
            made = subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            options = ("-o", ",".join(["loop", *options]), image)
        else:
            options = ("-t", "tmpfs", "-o", ",".join(["size=4m", *options]), "tmpfs")
        done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        return folder

    yield mount
    subprocess.run(["umount", folder], capture_output=True)


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
@pytest.mark.parametrize("how", [[], ["interleaved"]], ids=["apart", "interleaved"])
def test_a_full_disk_is_told(programs, mounted, kind, how):
    run(programs, 3, mounted(kind) / "data", "full", *how)


def test_a_file_system_that_can_only_be_read_is_told(programs, mounted):
    run(programs, 3, mounted("tmpfs", "ro") / "data", "read-only")


@pytest.mark.parametrize("kind", ["truncated", "removed"])
def test_a_file_that_changes_while_it_is_open(programs, tmp_path, kind):
    run(programs, 3, tmp_path / "data", kind)


def test_300000_tiny_writes(programs, tmp_path):
    run(programs, 3, tmp_path / "data", "tiny")


def test_tiny_writes_in_a_row_are_few_system_calls(programs, tmp_path):
    """Of the 100,000 writes of a rank from front to back; those from back to front are calls of their own."""
    trace = tmp_path / "trace"
    run(programs, 1, tmp_path / "data", "tiny", enter=["strace", "-f", "-c", "-e", "trace=pwrite64", "-o", trace])
    calls = int(re.search(r"(\d+) +pwrite64", trace.read_text()).group(1))
    assert 100_000 <= calls < 100_100


@pytest.mark.parametrize("nodes", ["", "2"])
def test_bytes_beyond_2_to_the_40th(programs, tmp_path, nodes):
    run(programs, 3, tmp_path / "data", "far", SERRIED_NODES=nodes)


@pytest.mark.parametrize("nodes", ["", "2"])
def test_2_gib_are_written_together_in_half_a_gib_of_memory(programs, tmp_path, memory_group, nodes):  # noqa: F811
    limit, members = memory_group
    limit.write_text(str(512 << 20))
    enter = ["sh", "-c", f'echo $$ > {members}; exec "$@"', "sh"]
    run(programs, 2, tmp_path / "data", "big", 2 << 30, enter=enter, timeout=600, SERRIED_NODES=nodes)
    (tmp_path / "data").unlink()
