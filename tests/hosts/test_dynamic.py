"""Jobs on several hosts that connect with others, and start them."""

import re

import pytest
from conftest import SERRIED
from test_programs import compiled

PATIENCE = 120


@pytest.fixture(scope="module")
def built(four):
    """Programs where all hosts see them."""
    return {name: compiled(f"tests/dynamic/{name}.c", four.folder / name) for name in ("apart", "family")}


class Jobs:
    """Some jobs that run at a time, each launched on a host of its own."""

    def __init__(self, site, program):
        self.site, self.program, self.jobs = site, program, []
        for old in site.cluster.folder.glob("port*"):
            old.unlink()

    def start(self, host, places, what, word):
        names = f"SERRIED_NAMES={self.site.cluster.folder}"
        command = [SERRIED, "run", "--hosts", places, "env", names, self.program, what, word]
        self.jobs.append(self.site.cluster.start(host, command))

    def all_end_well(self):
        said = [(*job.communicate(timeout=PATIENCE), job.returncode) for job in self.jobs]
        assert all(status == 0 and not re.search("serried:", text) for _, text, status in said), said


@pytest.mark.parametrize("servers, clients", [("n1", "n2"), ("n1:2,n2:2", "n3,n4"), ("n1,n2", "n2:2,n1:2"), ("n1:2,n2", "n3:2")])
def test_jobs_on_several_hosts_connect(site, built, servers, clients):
    jobs = Jobs(site, built["apart"])
    jobs.start("n1", servers, "server", "port")
    jobs.start(clients[:2], clients, "client", "port")
    jobs.all_end_well()


def test_they_find_each_other_by_a_name_in_a_folder(site, built):
    jobs = Jobs(site, built["apart"])
    jobs.start("n3", "n3,n4", "finder", "a service")
    jobs.start("n1", "n1,n2", "publisher", "a service")
    jobs.all_end_well()


def test_many_jobs_become_one_communicator(site, built):
    jobs = Jobs(site, built["apart"])
    jobs.start("n1", "n1,n2", "hub", "port")
    for host, places in (("n2", "n2:2"), ("n3", "n3,n4"), ("n4", "n4,n1")):
        jobs.start(host, places, "spoke", "port")
    jobs.all_end_well()


@pytest.mark.parametrize("what", ["spawn", "generations", "multiple", "many", "wrong"])
def test_a_job_on_several_hosts_starts_others(site, built, what):
    said = site.run("--hosts", "n1:2,n2", built["family"], what)
    assert said.returncode == 0 and "serried:" not in said.stderr, said
