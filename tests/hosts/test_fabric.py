"""Jobs on several hosts over libfabric, by its provider for IP: as over the wire."""

import re

import pytest
from conftest import SERRIED, need_libfabric
from test_programs import compiled

FABRIC = ["-genv", "SERRIED_TRANSPORT", "fabric"]


@pytest.fixture(scope="module", autouse=True)
def libfabric():
    need_libfabric()


@pytest.fixture(scope="module")
def built(four):
    """Programs where all hosts see them."""
    sources = {"misbehave": "tests/launcher/misbehave.c"}
    sources |= {name: f"tests/c/{name}.c" for name in ("exchange", "large_collectives", "flood", "many_to_one")}
    return {name: compiled(source, four.folder / f"fabric-{name}") for name, source in sources.items()}


def test_ranks_reach_each_other_by_the_provider(site):
    said = site.run(*FABRIC, "--hosts", "n1,n2", SERRIED, "info", "--pairs")
    assert said.returncode == 0 and re.search(r"reached over libfabric's provider (net|tcp)", said.stdout), said


def test_a_provider_that_is_not_there_is_named(site):
    said = site.run("-genv", "SERRIED_TRANSPORT", "fabric:cxi", "--hosts", "n1,n2", SERRIED, "info", "--pairs")
    assert said.returncode != 0 and "libfabric offers no provider cxi" in said.stderr, said


@pytest.mark.parametrize("program", ["exchange", "large_collectives", "flood", "many_to_one"])
@pytest.mark.parametrize("places", ["n1:2,n2:2", "n1,n2,n3,n4"])
def test_programs_are_right(site, built, program, places):
    said = site.run(*FABRIC, "--hosts", places, built[program])
    assert said.returncode == 0, said


@pytest.mark.parametrize("what, status, words", [
    ("crash", 139, r"rank 1 \(process \d+ on n2, fabric-misbehave\) was killed by signal 11"),
    ("leave", 1, r"rank 1 \(process \d+ on n2, fabric-misbehave\) exited with status 0 without MPI_Finalize"),
])
def test_the_end_of_a_rank_is_told(site, built, what, status, words):
    said = site.run(*FABRIC, "--hosts", "n1,n2,n3", built["misbehave"], what)
    assert said.returncode == status and re.search(words, said.stderr), said
