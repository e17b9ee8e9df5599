"""What tests of this folder share: golden texts, and the launcher of support/launching.py.

A golden text is what a person reads when something goes wrong, with what differs from run to run made the same
(processes, hosts, folders, times). `GOLDEN=write` in front of the test writes the files anew; then read the difference
before you commit it.
"""

import os
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import PEERS, ROOT, STAGE, compile_c  # noqa: E402

SCREEN = 24
HOST = pathlib.Path("/proc/sys/kernel/hostname").read_text().strip()


def plain(text, folder):
    """The text without what differs from run to run."""
    for path, name in ((folder, "FOLDER"), (STAGE, "STAGE"), (PEERS.resolve(), "PEERS"), (PEERS, "PEERS"), (ROOT, "ROOT")):
        text = text.replace(str(path), name)
    changes = [
        (r"process \d+", "process PID"),
        (rf"\bon {re.escape(HOST)}\b", "on HOST"),
        (r"\d+\.\d+ s\b", "N s"),
        (r"\b\d{6,} bytes", "N bytes"),
        (r"python3(\.\d+)?", "python"),
        (r"\d+(\.\d+)? (bytes|[KMGT]iB)( of it)? are free", "N are free"),
        (r"\(ulimit -n\), up to \S+", "(ulimit -n), up to N"),
    ]
    for pattern, replacement in changes:
        text = re.sub(pattern, replacement, text)
    return text


@pytest.fixture
def golden(tmp_path):
    """Compares a text with the golden one of this name."""

    def same(name, text, lines=SCREEN):
        text = plain(text, tmp_path)
        assert text.count("\n") <= lines, text
        file = HERE / "texts" / f"{name}.txt"
        if os.environ.get("GOLDEN") == "write":
            file.write_text(text)
        assert file.exists(), f"no golden text {name}; write it with GOLDEN=write"
        assert text == file.read_text()

    return same


@pytest.fixture(scope="session")
def misbehave(tmp_path_factory):
    """A program one rank of which does what its argument says."""
    target = tmp_path_factory.mktemp("misbehave") / "program"
    return compile_c("misbehave.c", target, compiler=str(STAGE / "bin/mpicc"))
