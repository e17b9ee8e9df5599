"""Jobs on several hosts that connect with others, and start them, there or elsewhere."""

import os
import re
import signal
import time

import jobs
import pytest
from conftest import SERRIED
from test_mpi4py import runner
from test_programs import compiled

PATIENCE = 120


@pytest.fixture(scope="module")
def built(four):
    """Programs where all hosts see them."""
    return {name: compiled(f"tests/dynamic/{name}.c", four.folder / name) for name in ("apart", "family", "afar")}


class Jobs:
    """Some jobs that run at a time, each launched on a host of its own."""

    def __init__(self, site, program):
        self.site, self.program, self.started = site, program, []
        for old in site.cluster.folder.glob("port*"):
            old.unlink()

    def start(self, host, places, what, word):
        names = f"SERRIED_NAMES={self.site.cluster.folder}"
        command = [SERRIED, "run", "--hosts", places, "env", names, self.program, what, word]
        self.started.append(self.site.cluster.start(host, command))

    def all_end_well(self):
        said = [(*job.communicate(timeout=PATIENCE), job.returncode) for job in self.started]
        assert all(status == 0 and not re.search("serried:", text) for _, text, status in said), said


@pytest.mark.parametrize("servers, clients", [("n1", "n2"), ("n1:2,n2:2", "n3,n4"), ("n1,n2", "n2:2,n1:2"), ("n1:2,n2", "n3:2")])
def test_jobs_on_several_hosts_connect(site, built, servers, clients):
    some = Jobs(site, built["apart"])
    some.start("n1", servers, "server", "port")
    some.start(clients[:2], clients, "client", "port")
    some.all_end_well()


def test_they_find_each_other_by_a_name_in_a_folder(site, built):
    some = Jobs(site, built["apart"])
    some.start("n3", "n3,n4", "finder", "a service")
    some.start("n1", "n1,n2", "publisher", "a service")
    some.all_end_well()


def test_many_jobs_become_one_communicator(site, built):
    some = Jobs(site, built["apart"])
    some.start("n1", "n1,n2", "hub", "port")
    for host, places in (("n2", "n2:2"), ("n3", "n3,n4"), ("n4", "n4,n1")):
        some.start(host, places, "spoke", "port")
    some.all_end_well()


@pytest.mark.parametrize("what", ["spawn", "generations", "multiple", "many", "wrong"])
def test_a_job_on_several_hosts_starts_others(site, built, what):
    said = site.run("--hosts", "n1:2,n2", built["family"], what)
    assert said.returncode == 0 and "serried:" not in said.stderr, said


def said_well(site, *words):
    said = site.run(*words)
    assert said.returncode == 0 and said.stderr == "", said
    return said.stdout.split()


@pytest.mark.parametrize("key, value, where", [
    ("host", "n2", "n2 n2 n2"),
    ("host", "n2:2,n3:1", "n2 n2 n3"),
    ("hosts", "n3 n1 n3", "n3 n3 n1"),
    ("add-host", "localhost,n4:2", "n1 n4 n4"),
    ("hostfile", "places", "n4 n2 n2"),
])
@pytest.mark.parametrize("parents", [("-n", "2"), ("--hosts", "n1,n2:2")], ids=["one", "several"])
def test_children_run_on_the_hosts_that_are_named(site, built, parents, key, value, where):
    (site.cluster.folder / "places").write_text("n4\nn2 slots=2\n")
    found = said_well(site, *parents, built["afar"], "talk", "3", key, value)
    assert sorted(found) == sorted(where.split())


def test_a_program_that_nobody_launches_has_children_on_other_hosts(site, built):
    library = {**os.environ, "LD_LIBRARY_PATH": str(jobs.STAGE / "lib")}
    said = site.cluster.run("n3", [built["afar"], "talk", "2", "host", "n4,n2"], env=library)
    assert (said.returncode, said.stderr, said.stdout.split()) == (0, "", ["n4", "n2"])


@pytest.mark.parametrize("options, what, count, where", [
    # Free slots first, in the order of the hosts; then all of them again.
    (("--hosts", "n1:2,n2:2,n3:1", "-n", "2"), "talk", 2, "n2 n2"),
    (("--hosts", "n1:2,n2:2,n3:1", "-n", "2"), "talk", 6, "n2 n2 n3 n1 n1 n2"),
    (("--hosts", "n1:2,n2:2", "-n", "1"), "talk", 3, "n1 n2 n2"),
    (("--hosts", "n1:2,n2:2,n3:1", "-n", "3"), "apiece", 3, "n2 n3 n1"),
    (("--hosts", "n4:1,n2:2", "-n", "1"), "talk", 1, "n2"),
])
def test_children_that_have_no_host_go_where_there_is_room(site, built, options, what, count, where):
    assert said_well(site, *options, built["afar"], what, str(count)) == where.split()


def test_each_command_has_its_own_hosts(site, built):
    options = ("--hosts", "n1:1,n2:4", "-n", "1")
    assert said_well(site, *options, built["afar"], "two", "4", "host", "n3") == ["n3", "n3", "n2", "n2"]


@pytest.mark.parametrize("options, slots", [
    (("--hosts", "n1:2,n2:3,n3", "-n", "1"), "6"), (("--hosts", "n1,n2", "-n", "6"), "6"),
    (("--hosts", "n2,n3", "-ppn", "4", "-n", "2"), "8"),
])
def test_the_universe_is_as_large_as_the_hosts_have_room(site, built, options, slots):
    assert said_well(site, *options, built["afar"], "universe")[0] == slots


@pytest.mark.parametrize("parents", [("-n", "2"), ("--hosts", "n1,n2")], ids=["one", "several"])
@pytest.mark.parametrize("key, value, words", [
    ("host", "n9", r"no agent could be started on n9: ssh .*\n.*[Cc]ould not resolve hostname n9"),
    ("host", "n2:x", "the key host: `x` ranks on a host"),
    ("hostfile", "nowhere", "the key hostfile nowhere: there is no such file"),
])
def test_a_host_that_is_none_is_named_in_the_error(site, built, parents, key, value, words):
    said = site.run(*parents, built["afar"], "refused", "2", key, value)
    assert said.returncode == 0 and re.search(words, said.stdout), said


def test_children_outlive_parents_that_have_let_go_of_them(site, built):
    for parents in (("-n", "1"), ("--hosts", "n2,n1")):
        said = site.run(*parents, built["afar"], "leave", "2", "host", "n3,n4")
        assert (said.returncode, said.stderr) == (0, ""), said
        assert re.search("rank 0 was still there", said.stdout) and re.search("rank 1 was still there", said.stdout), said


def test_the_end_of_a_child_is_told(site, built):
    said = site.run("--hosts", "n1,n2", built["afar"], "fail", "2", "host", "n3,n4")
    assert said.returncode not in (0, None) and "a child ends badly" in said.stdout, said
    assert re.search(r"rank 0 .*on n3.* status 7", said.stderr), said


def running(site, host, program, count):
    """The processes of a program on a host, once there are so many that have begun to wait."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = [number for number, line in site.cluster.processes(host).items() if line.startswith(str(program))]
        if len(found) == count:
            return found
        assert time.monotonic() < deadline, site.cluster.processes(host)
        time.sleep(0.05)


@pytest.mark.parametrize("who", ["root", "child", "launcher of the parents", "launcher of the children", "agent of a child"])
def test_nothing_is_left_whoever_is_killed(site, built, who):
    job = site.start("--hosts", "n1,n2", built["afar"], "hang", "2", "host", "n3,n4")
    [root], _ = running(site, "n1", built["afar"], 1), running(site, "n2", built["afar"], 1)
    [child], _ = running(site, "n3", built["afar"], 1), running(site, "n4", built["afar"], 1)
    here = site.cluster.processes("n1")
    spawned = max(number for number, line in here.items() if " spawned " in line)
    launcher = max(number for number, line in here.items() if f"{SERRIED} run" in line)
    agent = max(number for number, line in site.cluster.processes("n4").items() if line.endswith("serried agent"))
    host, process = {"root": ("n1", root), "child": ("n3", child), "launcher of the parents": ("n1", launcher),
                     "launcher of the children": ("n1", spawned), "agent of a child": ("n4", agent)}[who]
    site.cluster.kill(host, process, signal.SIGKILL)
    out, text = job.communicate(timeout=PATIENCE)
    assert job.returncode not in (0, None), (out, text)
    site.assert_nothing_left()


def test_a_host_that_is_lost_ends_its_children(two, compiled_for_two):
    """The children's host loses its network and its power: the parents hear of it."""
    job = two.start("n1", [SERRIED, "run", "-n", "1", compiled_for_two, "hang", "1", "host", "n2"])
    deadline = time.monotonic() + PATIENCE
    while not any(line.startswith(str(compiled_for_two)) for line in two.processes("n2").values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    two.destroy("n2")
    out, text = job.communicate(timeout=PATIENCE)
    assert job.returncode not in (0, None) and "n2" in text, (out, text)


@pytest.fixture
def compiled_for_two(two):
    return compiled("tests/dynamic/afar.c", two.folder / "afar")


POOL = """
import socket, sys
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor(3, mpi_info={"host": sys.argv[1]} if len(sys.argv) > 1 else None) as pool:
        assert list(pool.map(pow, range(100), [3] * 100)) == [number ** 3 for number in range(100)]
        found = list(pool.starmap(socket.gethostname, [()] * 60, chunksize=1))
    print(*sorted(set(found)))
"""


@pytest.mark.parametrize("options, host, where", [
    (("-n", "1"), ["n2:2,n3:1"], {"n2", "n3"}), (("--hosts", "n1:1,n4:3", "-n", "1"), [], {"n4"})])
def test_a_pool_of_mpi4py_is_on_other_hosts(site, options, host, where):
    if not jobs.PYTHON.exists():
        pytest.skip("no build/venv (scripts/setup venv)")
    (site.cluster.folder / "pool.py").write_text(POOL)
    found = said_well(site, *options, jobs.PYTHON, "pool.py", *host)
    assert found and set(found) <= where


@pytest.mark.parametrize("options", [("--hosts", "n1:1,n2:1,n3:1", "-n", "1"), ("--hosts", "n1:1,n2:1,n3:2", "-n", "2")])
def test_the_suite_of_mpi4py_spawns_on_other_hosts(site, options):
    suite = runner().SUITE
    if suite is None or not jobs.PYTHON.exists():
        pytest.skip("no build/venv, or no source of mpi4py (scripts/setup venv mpi4py-source)")
    # Its temporary files have to be where all hosts see them; /tmp is each host's own.
    env = jobs.environment(jobs.STAGE / "lib", TMPDIR=str(site.cluster.folder))
    said = site.run(*options, jobs.PYTHON, suite / "main.py", "-f", "-i", r"^test_spawn\.py$", env=env, timeout=400)
    assert said.returncode == 0 and "serried:" not in said.stderr, said
