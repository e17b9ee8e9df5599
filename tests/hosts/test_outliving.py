"""Jobs on several hosts that go on without ranks, or whole hosts, that have failed: as on one machine (tests/survivors)."""

import re
import shutil
import subprocess
import time

import hosts
import pytest
from conftest import MPICC

ROOT = hosts.ROOT
GOES_ON = "--on-failure=continue"
PLACES = {"2x2": "n1:2,n2:2", "4x1": "n1,n2,n3,n4", "3+3": "n2:3,n4:3"}
RANKS = {"2x2": 4, "4x1": 4, "3+3": 6}


@pytest.fixture(scope="module")
def built(four):
    """The programs of tests/survivors, where all hosts see them."""
    if not MPICC.exists() or not shutil.which("cc"):
        pytest.skip(f"no {MPICC}, or no C compiler")
    sources = {name: ROOT / f"tests/survivors/{name}.c" for name in ("survivors", "agreements", "windows", "delay")}
    for name, source in sources.items():
        subprocess.run([MPICC, "-O1", "-I", source.parent, source, "-o", four.folder / name], check=True)
    return {name: str(four.folder / name) for name in sources}


def survive(site, program, what, places):
    ranks = RANKS[places]
    job = site.run("--hosts", PLACES[places], GOES_ON, program, what)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("well") == ranks - 1, job.stdout + job.stderr
    assert re.search(rf"rank {ranks - 1} \(process \d+ on n[24], \w+\) was killed by signal 9, SIGKILL", job.stderr), job.stderr
    assert job.stderr.count("The job goes on without it (--on-failure=continue).") == 1, job.stderr


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("what", ["receive", "send", "before", "any"])
def test_messages(site, built, what, places):
    survive(site, built["survivors"], what, places)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kind", range(6))
def test_collectives(site, built, kind, places):
    survive(site, built["survivors"], f"collective{kind}", places)
