"""Sealed connections (`SERRIED_TRANSPORT=wire:sealed`): nobody on the way can read what ranks tell each other."""

import os
import subprocess
import sys
import time

import hosts
import pytest
from test_programs import compiled

HERE = hosts.ROOT / "tests/hosts"
SECRET = "the magpie sits in the oak"
SEALED = {**os.environ, "SERRIED_TRANSPORT": "wire:sealed"}


@pytest.fixture(scope="module")
def built(four):
    """The programs, where all hosts see them."""
    sources = {"secret": "tests/hosts/secret.c", "families": "tests/survivors/families.c", "windows_types": "tests/c/windows_types.c"}
    return {name: compiled(source, four.folder / name) for name, source in sources.items()}


def overheard(site, program, environment):
    """What somebody on the cable of n2 says, while a job tells the secret."""
    sniffer = site.cluster.start("n2", [sys.executable, HERE / "sniff.py", SECRET], stdin=subprocess.PIPE)
    assert sniffer.stdout.readline() == "ready\n", sniffer.stderr.read()
    job = site.run("--hosts", "n1,n2,n3", program, env=environment)
    said, errors = sniffer.communicate("", timeout=30)
    assert job.returncode == 0 and job.stdout == "heard\n", job.stdout + job.stderr
    assert errors == ""
    return said.strip()


def test_what_is_sealed_cannot_be_read_on_the_way(site, built):
    assert overheard(site, built["secret"], dict(os.environ)) == "found", "the test would not notice"
    assert overheard(site, built["secret"], SEALED) == "not found"


@pytest.mark.parametrize("what", ["child", "revoke"])
def test_jobs_that_jobs_start_are_sealed_too(site, built, what):
    job = site.run("--hosts", "n1:2,n2:2", "--on-failure=continue", built["families"], "spawn", what, env=SEALED)
    assert job.returncode == 0 and job.stdout.count("well") == 7, job.stdout + job.stderr


def test_servers_of_windows_are_sealed_too(site, built):
    job = site.run("--hosts", "n1:2,n2:1", built["windows_types"], env=SEALED)
    assert job.returncode == 0, job.stdout + job.stderr


@pytest.mark.parametrize("first, second", [("wire:sealed", "wire"), ("wire", "wire:sealed")])
@pytest.mark.parametrize("places, ranks", [("n1,n2", "1"), ("n1:2,n2:2", "2")])
def test_ranks_of_which_some_seal_are_told_so_at_once(site, built, first, second, places, ranks):
    parts = [["-n", ranks, "-env", "SERRIED_TRANSPORT", setting, built["secret"]] for setting in (first, second)]
    began = time.monotonic()
    job = site.run("--hosts", places, *parts[0], ":", *parts[1])
    assert job.returncode != 0 and "the setting SERRIED_TRANSPORT=wire:sealed" in job.stderr, job.stdout + job.stderr
    assert time.monotonic() - began < 10


def test_it_is_told(site):
    said = site.run("--pairs", "--hosts", "n1,n2", command="info", env=SEALED)
    assert said.returncode == 0 and "reached over TCP, sealed" in said.stdout, said.stdout + said.stderr
    assert "IP multicast is not used for broadcasts: " in said.stdout and "sealed" in said.stdout.splitlines()[-1]
