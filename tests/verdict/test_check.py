"""SERRIED_CHECK=1 names collective calls that do not match, and finds nothing wrong with right ones."""

import pathlib
import re

import pytest

import jobs

SOURCE = pathlib.Path(__file__).with_name("misuse.c")
CASES = re.findall(r"// case (\w+) (\d+):(.*)", SOURCE.read_text())


@pytest.mark.parametrize("name, ranks, words", CASES, ids=[case[0] for case in CASES])
def test_misuse(name, ranks, words, build):
    options = ["-x", "SERRIED_CHECK=1"]
    outcome = jobs.run_job(jobs.job_command("serried", ranks, [build("misuse"), name], options), 120)
    if name == "right":
        assert (outcome.status, outcome.output) == (0, "")
        return
    assert outcome.status not in (0, None), outcome.output
    assert "(SERRIED_CHECK)" in outcome.output, outcome.output
    for part in words.split(";"):
        assert any(way.strip() in outcome.output for way in part.split("|")), outcome.output
