"""Long operations over a slow network take their time: nobody says of the ranks that they wait for each other for ever."""

import pathlib
import subprocess

import pytest
from conftest import MPICC, Site, made

HERE = pathlib.Path(__file__).parent
WAYS = ("message", "strided", "broadcast", "allreduce", "get")


@pytest.fixture(scope="module")
def slow():
    """A host within which no more than 20 Mbit go a second, so that 8 MiB take more than 3 s."""
    with made(1, ssh=False) as cluster:
        cluster.limit("n1", 20, "lo")
        subprocess.run([MPICC, "-O1", "-o", cluster.folder / "slow_network", HERE / "slow_network.c"], check=True)
        yield Site(cluster)


@pytest.mark.parametrize("way", WAYS)
def test_what_takes_long_is_no_deadlock(slow, way):
    options = ["-n", "2", "--timeout", "100", "--on-deadlock=abort", "-x", "SERRIED_TRANSPORT=wire"]
    job = slow.run(*options, slow.cluster.folder / "slow_network", way)
    assert (job.returncode, job.stdout, job.stderr) == (0, "", "")
    slow.assert_nothing_left()
