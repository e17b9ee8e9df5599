import ctypes.util
import os
import pathlib
import re
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import hosts  # noqa: E402
import jobs  # noqa: E402

SERRIED = os.environ.get("SERRIED", str(jobs.STAGE / "bin/serried"))
# The processes of a cluster itself.
BELONGS = re.compile(r"sh .*/start_host\.sh |sleep 3600$|sshd: .*\[listener\]|munged|slurmctld|slurmd|.*slurmscriptd$|slurmstepd infinity|$")
MPICC = pathlib.Path(SERRIED).resolve().parent / "mpicc"


def need_libfabric():
    """Skips a test where there is no libfabric."""
    if not ctypes.util.find_library("fabric"):
        pytest.skip("no libfabric (Debian: libfabric1)")


def made(count, **options):
    """A cluster, or a sentence why there is none here."""
    refusal = hosts.why_not() or (hosts.why_no_slurm() if options.get("slurm") else None)
    if refusal:
        pytest.skip(refusal)
    return hosts.Hosts(count, **options)


class Site:
    """A cluster on which jobs are started from n1, and on which nothing may be left of them."""

    def __init__(self, cluster):
        self.cluster = cluster

    def left(self):
        """Processes and files by host that do not belong to the cluster itself."""
        left = {}
        for name in self.cluster.names:
            if hosts.is_there(self.cluster.first[name]):
                processes = [line for line in self.cluster.processes(name).values() if not BELONGS.match(line)]
                left[name] = [*processes, *self.cluster.files(name)]
        return {name: what for name, what in left.items() if what}

    def start(self, *arguments, command="run", **options):
        """A job under way."""
        return self.cluster.start("n1", [SERRIED, command, *arguments], **options)

    def run(self, *arguments, command="run", **options):
        """A job that has ended."""
        return self.cluster.run("n1", [SERRIED, command, *arguments], **options)

    def inner(self, process):
        """The process id, as it is seen from here, of what was started on a host."""
        while not hosts.children_of(process.pid):
            time.sleep(0.005)
        return hosts.children_of(process.pid)[0]

    def clean(self):
        """Ends what is left, so that other tests do not see it."""
        for name in self.cluster.names:
            left = [number for number, line in self.cluster.processes(name).items() if not BELONGS.match(line)]
            if left:
                self.cluster.run(name, ["kill", "-9", *left])

    def assert_nothing_left(self, seconds=30):
        """Looks until all is as it was: the end of a session takes sshd a moment."""
        deadline = time.monotonic() + seconds
        while True:
            left = self.left()
            if not left:
                return
            assert time.monotonic() < deadline, f"left behind: {left}"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def four():
    """Four hosts with sshd, for all tests of a file."""
    with made(4) as cluster:
        yield cluster


@pytest.fixture
def two():
    """Two hosts for a test alone, which may break them."""
    with made(2) as cluster:
        yield cluster


@pytest.fixture
def site(four):
    """The four hosts, on which nothing may be left."""
    made = Site(four)
    yield made
    try:
        made.assert_nothing_left()
    finally:
        made.clean()
