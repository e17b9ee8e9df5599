"""`serried info --pairs`: by what means ranks reach each other's memory, and that a setting forces each rung."""

import os
import shutil
import subprocess

import pytest

import jobs

SERRIED = jobs.STAGE / "bin/serried"
# What SERRIED_COPY is, and what then is said of memory in windows and of other memory.
RUNGS = [
    ("", "mapped (direct)", "(cross-memory)"),
    ("direct", "mapped (direct)", "(cross-memory)"),
    ("cross-memory", "not mapped: SERRIED_COPY", "(cross-memory)"),
    ("memory-file", "not mapped: SERRIED_COPY", "(memory-file)"),
    ("cells", "not mapped: SERRIED_COPY", "(cells)"),
]


def pairs(command, copy=""):
    env = {name: value for name, value in os.environ.items() if name != "SERRIED_COPY"}
    outcome = jobs.run_job([*map(str, command)], 120, env=dict(env, SERRIED_COPY=copy) if copy else env)
    assert outcome.ended_well(), outcome.output
    return outcome.output


@pytest.mark.parametrize("copy, windows, other", RUNGS)
def test_each_rung_can_be_forced_and_is_told(copy, windows, other):
    text = pairs([SERRIED, "info", "--pairs", "-n", 3], copy)
    assert "all 6 pairs" in text and f"memory in windows: {windows}" in text and other in text, text


def test_a_limit_on_address_space_means_no_windows_and_both_say_so():
    limited = ["sh", "-c", 'ulimit -v 8000000; exec "$0" "$@"']
    text = pairs([*limited, SERRIED, "info", "--pairs"])
    assert "not mapped: a limit on address space" in text and "(cross-memory)" in text, text
    text = pairs([*limited, SERRIED, "info"])
    assert "ranks cannot map each other's memory: a limit on address space" in text


def test_ranks_in_user_namespaces_of_their_own_still_map_and_pass_descriptors():
    """As rootless containers have it: the kernel refuses cross-memory copies between the ranks."""
    apart = ["unshare", "--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("user namespaces cannot be made here")
    text = pairs([SERRIED, "run", "-n", 2, *apart, SERRIED, "info", "--pairs"])
    assert "memory in windows: mapped (direct)" in text and "(memory-file); no better because" in text, text


def test_ranks_that_pretend_to_be_on_two_nodes_reach_each_other_by_cells_only():
    outcome = jobs.run_job([SERRIED, "info", "--pairs", "-n", "4"], 120, env=dict(os.environ, SERRIED_NODES="2"))
    assert outcome.ended_well(), outcome.output
    assert "  0<-1 1<-0 2<-3 3<-2\n    memory in windows: mapped (direct)" in outcome.output
    far = outcome.output.split("  0<-2 0<-3 1<-2 1<-3 2<-0 2<-1 3<-0 3<-1\n")[1]
    assert "not mapped: SERRIED_NODES" in far and "(cells); no better because SERRIED_NODES" in far
