"""What memory ranks have: after they have begun, and when messages come that nobody has asked for.

The budgets are those of docs/rooms/message.md ("Memory of a rank"). KiB everywhere.
"""

import os
import re
import subprocess

import pytest

import jobs

HERE = jobs.ROOT / "tests/memory"
MESSAGES = 300_000
RECEIVER = 64 << 10
# A page table, a page of this and that: what two measurements of the same may differ by.
SLACK = 1024
# The code of the library as far as ranks have it in memory, where all have come to it.
CODE = 6144


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compiles a C program of this folder."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_one(name):
        flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([jobs.STAGE / "bin/mpicc", HERE / f"{name}.c", "-o", folder / name, *flags], check=True)
        return folder / name

    return compile_one


def run(ranks, program, *arguments, timeout=300):
    """One dictionary of numbers for each line of the output, by rank and by the word that follows it."""
    outcome = jobs.run_job(jobs.job_command("serried", ranks, [program, *arguments]), timeout)
    assert outcome.ended_well(), outcome.output
    said = {}
    for line in outcome.output.splitlines():
        rank, when, rest = re.fullmatch(r"rank (\d+) (\w+) (.*)", line).groups()
        words = rest.split()
        said[int(rank), when] = dict(zip(words[::2], map(int, words[1::2])))
    return said


def as_after_a_while(folder):
    """Libraries that were just built lie in the page cache in other pieces than those that were read: the kernel maps more of
    them around each page that is touched, by some 500 KiB. Here they are read."""
    os.sync()
    for file in folder.glob("*.so*"):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def pages(count):
    return -(-count // 4096) * 4


@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
def test_memory_after_the_start_keeps_to_its_budget_and_formula(compiled, ranks):
    footprint = compiled("footprint")
    as_after_a_while(jobs.STAGE / "lib")
    said = run(ranks, footprint)
    assert len(said) == 2 * ranks
    # Header and names of calls; for each rank its page, mailbox, control, blocks, and row of traffic.
    fixed = 4 + 64 + ranks * (4 + 72 + pages(32 * ranks))
    boxes, lent = ranks * 64, pages(256 + 272 * ranks + 8192 * ranks)
    for rank in range(ranks):
        begun, spoken = said[rank, "begun"], said[rank, "spoken"]
        assert begun["private"] <= 4096
        # 1 KiB for each peer spoken to, 64 bytes for each other rank.
        assert spoken["private"] - begun["private"] <= ranks + ranks // 16 + SLACK // 16
        assert fixed <= begun["segment"] <= fixed + boxes + lent
        assert begun["segment"] <= spoken["segment"] <= fixed + boxes + lent
    total, code = (sum(said[rank, "spoken"][what] for rank in range(ranks)) for what in ("part", "files"))
    # A rank needs no more; the code of all faces is there once for a node.
    assert total <= 1024 * ranks
    assert code <= CODE + 64 * ranks
    print(f"{ranks} ranks: {total // ranks} KiB for a rank, and {code} KiB of code for all")


@pytest.mark.parametrize("order", ["any", "source", "tag"])
@pytest.mark.parametrize("way", ["isend", "send", "unsafe"])
@pytest.mark.parametrize("ranks", [2, 8])
def test_a_flood_of_unexpected_messages_needs_little_memory_and_it_goes_back(compiled, ranks, way, order):
    said = run(ranks, compiled("unexpected"), way, order, MESSAGES)
    assert len(said) == ranks
    for rank in range(ranks):
        numbers = said[rank, "memory"]
        assert numbers["wrong"] == 0
        # The program's own table of requests is freed; cells and what the C library keeps stay.
        assert numbers["after"] <= numbers["before"] + 8 * SLACK, f"rank {rank}: {numbers}"
    assert said[0, "memory"]["peak"] <= RECEIVER
