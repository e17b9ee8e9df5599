import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import hosts  # noqa: E402


def made(count, **options):
    """A cluster, or a sentence why there is none here."""
    refusal = hosts.why_not() or (hosts.why_no_slurm() if options.get("slurm") else None)
    if refusal:
        pytest.skip(refusal)
    return hosts.Hosts(count, **options)


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
