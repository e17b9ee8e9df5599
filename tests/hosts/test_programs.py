"""MPI programs on several hosts: they are right, and what is told of them when they are not, as on one machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import hosts
import jobs
import pytest
from conftest import MPICC, SERRIED

ROOT = hosts.ROOT


def compiled(sources, target, compiler=MPICC):
    """The program made of a source, or of all that fit a pattern."""
    if not os.path.exists(compiler) or not shutil.which("cc"):
        pytest.skip(f"no {compiler}, or no C compiler")
    subprocess.run([compiler, "-O1", "-I", ROOT / "tests/c", *sorted(ROOT.glob(sources)), "-o", target], check=True)
    return str(target)


@pytest.fixture(scope="module")
def built(four):
    """Programs where all hosts see them."""
    return {name: compiled(source, four.folder / name) for name, source in (
        ("sum", "tests/launcher/sum.c"), ("misbehave", "tests/launcher/misbehave.c"), ("waits", "tests/hosts/waits.c"),
        ("computing", "tests/c/windows_computing.c"), ("long", "tests/c/long_over_nodes.c"))}


@pytest.mark.parametrize("places, ranks", [("n1:2,n2:2", 4), ("n1,n2,n3,n4", 4), ("n2:3,n4:2", 5)])
def test_ranks_of_all_hosts_add_up(site, built, places, ranks):
    said = site.run("--hosts", places, built["sum"])
    assert said.returncode == 0, said.stderr
    expected = [f"rank {rank} of {ranks}: sum {ranks * (ranks - 1) // 2}, Serried" for rank in range(ranks)]
    assert sorted(said.stdout.splitlines()) == expected


@pytest.mark.parametrize("places", ["n1:2,n2:2", "n1,n2,n3"])
def test_the_memory_of_a_rank_that_computes_on_another_host_is_reached(site, built, places):
    said = site.run("--hosts", places, "env", "SERRIED_TRANSPORT=wire", built["computing"])
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("places", ["n1:2,n2:2", "n2:3,n4:2"])
def test_long_collectives_over_hosts_have_the_bits_of_one(site, built, places):
    said = site.run("--hosts", places, built["long"])
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_demo_on_four_hosts_has_the_bits_of_one_rank(site):
    if not jobs.PYTHON.exists():
        pytest.skip("no build/venv")
    waves = ROOT / "examples/harbour/waves.py"
    said = site.run("--hosts", "n1,n2,n3,n4", jobs.PYTHON, waves, "--columns", "128", "--seconds", "20", "--out", "harbour")
    assert said.returncode == 0, said.stderr
    report = json.loads((site.cluster.folder / "harbour/harbour.json").read_text())
    assert report["ranks"] == 4 and report["right"] and report["values_that_differ"] == 0 and report["values"] > 1000


@pytest.mark.parametrize("what, status, words", [
    ("crash", 139, r"rank 1 \(process \d+ on n2, misbehave\) was killed by signal 11.*\n.*its last call was MPI_Barrier"),
    ("abort", 42, r"rank 1 \(process \d+ on n2, misbehave\) called MPI_Abort with code 42"),
    ("leave", 1, r"rank 1 \(process \d+ on n2, misbehave\) exited with status 0 without MPI_Finalize"),
    ("error", 6, "argument dest is 1000"),
])
def test_the_end_of_a_rank_on_another_host_is_told(site, built, what, status, words):
    said = site.run("--hosts", "n1,n2,n3", built["misbehave"], what)
    assert said.returncode == status and re.search(words, said.stderr) and "The other 2 ranks are ended" in said.stderr, said


@pytest.fixture
def walled(site):
    """Between n1 and n2 stands a firewall that lets nobody but ssh connect."""
    rule = "tcp flags & (syn | ack) == syn tcp dport != 22 ip saddr { 10.77.0.1, 10.77.0.2 } drop"
    for name in ("n1", "n2"):
        table = f"table inet wall {{ chain in {{ type filter hook input priority 0; iif != lo {rule}; }}; }}"
        if site.cluster.run(name, ["nft", table]).returncode:
            pytest.skip("no nft")
    yield
    for name in ("n1", "n2"):
        site.cluster.run(name, ["nft", "delete", "table", "inet", "wall"], check=True)


def test_ranks_between_which_a_firewall_stands_are_told_where_nothing_answers(site, built, walled):
    began = time.monotonic()
    said = site.run("--hosts", "n1,n2", "env", "SERRIED_TRANSPORT=wire", built["sum"])
    assert said.returncode != 0 and re.search(
        r"rank [01] cannot be reached: nothing has answered at its addresses \(10\.77\.0\.[12].*, port \d+\) for 20 s; .*firewall",
        said.stderr), said
    assert 15 < time.monotonic() - began < 45


def test_a_rank_that_never_joins_is_missed(site, built):
    script = f"[ $PMI_RANK = 2 ] && exit 0; exec {built['misbehave']} nothing"
    said = site.run("--hosts", "n1,n2,n3", "sh", "-c", script)
    assert said.returncode == 1 and re.search(r"rank 2 .* on n3, sh\) exited without MPI_Init", said.stderr), said.stderr


def test_a_deadlock_across_hosts_is_told_and_reported(site, built):
    said = site.run("--on-deadlock", "abort", "--report", "report", "--hosts", "n1:2,n2:2", built["waits"])
    assert said.returncode == 123, said.stderr
    assert "ranks 0, 1, 2 and 3 wait for one another" in said.stderr
    for rank, host in enumerate(("n1", "n1", "n2", "n2")):
        assert re.search(rf"rank {rank} \(process \d+ on {host}, waits\) is in MPI_Recv", said.stderr), said.stderr
    report = (site.cluster.folder / "report").read_text()
    assert all(re.search(rf"rank {rank} \(process \d+\) was inside", report) for rank in range(4)) and "MPI_Barrier" in report


def hanging(site, built):
    job = site.start("--on-deadlock", "off", "--hosts", "n1:2,n2:2", built["waits"])
    assert job.stdout.readline() == "all are there\n", job.stderr.read()
    return job


def test_why_and_top_see_all_ranks_where_the_job_was_started(site, built):
    job = hanging(site, built)
    try:
        # The mirrors are up to date within a second.
        deadline = time.monotonic() + 60
        while True:
            why = site.run("--json", command="why")
            if why.returncode == 1 or time.monotonic() > deadline:
                break
        assert why.stdout, why.stderr
        told = json.loads(why.stdout)
        assert why.returncode == 1 and len(told["ranks"]) == 4, why
        top = site.run("--json", "--count", "2", "--interval", "0.5", command="top")
        last = json.loads(top.stdout.splitlines()[-1])
        assert len(last["ranks"]) == 4 and all("MPI_Recv" in json.dumps(rank) for rank in last["ranks"]), last
    finally:
        os.kill(site.inner(job), signal.SIGTERM)
        job.communicate()


def test_statistics_have_all_ranks(site, built):
    said = site.run("--stats", "--hosts", "n1:2,n2:2", built["sum"])
    rows = [line.split() for line in said.stderr.splitlines() if line.split()[0] in {"0", "1", "2", "3", "all"}]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "all"]
    sent = [int(row[1]) for row in rows]
    assert all(sent) and sum(sent[:4]) == sent[4]


def test_ranks_are_bound_on_each_host_by_itself(site):
    said = site.run("--bind-to", "core", "--report-bindings", "--hosts", "n1,n2", "true")
    lines = sorted(said.stderr.splitlines())
    places = {re.sub(".* CPU ", "", line) for line in lines}
    assert [re.sub(" is bound.*", "", line) for line in lines] == ["serried: rank 0 on n1", "serried: rank 1 on n2"]
    assert len(places) == 1, "each is the first rank of its host"


def test_programs_of_another_mpi_start_too(site):
    mpich = jobs.PEERS / "mpich"
    if not (mpich / "bin/mpicc").exists():
        pytest.skip("no MPICH in build/peers")
    program = compiled("tests/golden/hello.c", site.cluster.folder / "theirs", compiler=mpich / "bin/mpicc")
    said = site.run("--launch-only", "-x", f"LD_LIBRARY_PATH={mpich}/lib", "-x", "MPIR_CVAR_CH4_NETMOD=ofi",
                    "-x", "FI_PROVIDER=tcp", "--hosts", "n1:2,n2:2", program)
    assert sorted(said.stdout.splitlines()) == [f"rank {rank} of 4" for rank in range(4)], said.stderr


def test_a_message_of_a_rank_crosses_a_link_that_is_down_for_a_moment(site, built):
    """The link of a host is out for 5 seconds while ranks talk: nothing is lost."""
    script = f"sleep 1; {built['sum']}; exec sleep 2"
    job = site.start("--hosts", "n1:2,n2:2", "sh", "-c", script)
    while len([line for line in site.cluster.processes("n2").values() if "sleep 1" in line]) < 2:
        time.sleep(0.02)
    site.cluster.unplug("n2")
    time.sleep(5)
    site.cluster.plug("n2")
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0 and sorted(out.splitlines())[0] == "rank 0 of 4: sum 6, Serried", err
    assert "no word from n2 for 3 s (ranks 2-3)" in err and "n2 answers again" in err
