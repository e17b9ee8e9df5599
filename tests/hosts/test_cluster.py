"""The cluster that other tests rely on: what its hosts share, what they do not, and that nothing is left of it."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import hosts
import pytest
from conftest import made

CONNECT = "import socket, sys; socket.create_connection(('n1', 7000), timeout=float(sys.argv[1])).close()"


def test_hosts_have_their_own_name_address_processes_and_memory_files(four):
    assert [four.run(name, ["hostname"]).stdout.strip() for name in four.names] == four.names
    four.run("n1", ["touch", "/tmp/mine", "/dev/shm/mine", f"{four.folder}/ours"], check=True)
    assert four.files("n1") == {"tmp/mine", "dev/shm/mine"} and four.files("n2") == set()
    assert four.run("n2", ["ls", f"{four.folder}/ours"]).returncode == 0
    assert set(os.listdir(four.root("n3") / "sys/class/net")) == {"lo", "e0"}
    sleeper = four.start("n1", ["env", "MARK=x1", "sleep", "60"])
    while not four.processes("n1", "MARK=x1"):
        time.sleep(0.01)
    assert not four.processes("n2", "MARK=x1")
    four.kill("n1", *four.processes("n1", "MARK=x1"))
    sleeper.communicate()


def test_ssh_goes_from_host_to_host(four):
    for here, there in zip(four.names, [*four.names[1:], "n1"]):
        assert four.run(here, ["ssh", there, "hostname"], check=True).stdout.strip() == there


def connects(cluster, name, seconds=1.0):
    return cluster.run(name, [sys.executable, "-c", CONNECT, str(seconds)]).returncode == 0


def test_a_cable_that_is_out_stops_all_and_one_that_is_in_again_none(two):
    listener = "import socket, time; s = socket.create_server(('', 7000)); print('up', flush=True); time.sleep(600)"
    server = two.start("n1", [sys.executable, "-c", listener])
    server.stdout.readline()
    assert connects(two, "n2")
    two.unplug("n2")
    assert not connects(two, "n2")
    two.plug("n2")
    assert connects(two, "n2", 60)
    two.lose("n2", 1000)
    assert not connects(two, "n2")
    two.lose("n2", 0)
    assert connects(two, "n2", 60)
    two.limit("n2", 100)
    assert connects(two, "n2", 60)
    two.destroy("n1")
    server.communicate()
    assert not connects(two, "n2")


def test_nothing_is_left_whether_it_is_closed_or_its_maker_is_killed():
    made(1).close()  # or the reason why not
    for how in ("close", "kill"):
        script = ("import sys, time; sys.path.insert(0, sys.argv[1]); import hosts; cluster = hosts.Hosts(2); "
                  "print(cluster.folder, *cluster.first.values(), cluster.lab_id, flush=True); sys.stdin.read(1); cluster.close()")
        maker = subprocess.Popen(
            [sys.executable, "-c", script, str(pathlib.Path(hosts.__file__).parent)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        folder, *processes = maker.stdout.readline().split()
        assert all(hosts.is_there(process) for process in processes)
        if how == "kill":
            maker.send_signal(signal.SIGKILL)
        maker.communicate("x" if how == "close" else None)
        hosts.wait_for_the_end(processes)
        hosts.sweep()
        assert not pathlib.Path(folder).exists()


def test_slurm_runs_on_all_hosts():
    with made(3, ssh=False, slurm=True) as cluster:
        said = cluster.run("n1", ["srun", "-N3", "--label", "hostname"])
        assert sorted(said.stdout.split()) == sorted("0: n1 1: n2 2: n3".split()), said.stderr


def test_who_may_not_make_hosts_is_told_so():
    script = "import sys; sys.path.insert(0, sys.argv[1]); import hosts; print(hosts.why_not())"
    command = ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", script,
               str(pathlib.Path(hosts.__file__).parent)]
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    told = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert told.stdout.strip() == "only root can make hosts of namespaces", told.stderr
