"""`--max-slowdown` and `--stats`: what sleeping costs is told, and stays within its bound."""

import re

import pytest

from launching import STAGE, compile_c


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    return compile_c("uneven.c", tmp_path_factory.mktemp("uneven") / "uneven", compiler=str(STAGE / "bin/mpicc"))


def statistics_of(launcher, *arguments):
    """What `--stats` says of all ranks: seconds of the job, and each column by its name."""
    said = launcher.run("-n", 2, "--stats", *arguments)
    assert said.returncode == 0, said.stderr
    lines = said.stderr.splitlines()
    seconds = float(re.match(r"serried: 2 ranks, ([\d.]+) s", lines[0])[1])
    names, values = lines[1].split(), next(line for line in lines if line.split()[0] == "all").split()
    told = dict(zip(names, values))
    return seconds, {name: float(told[name].rstrip("s")) for name in ("waiting", "sleeps", "rung", "late", "CPU")}


@pytest.mark.parametrize("percent", [1, 5, 20])
@pytest.mark.parametrize("turn", [40, 150, 1000])
def test_ranks_are_late_for_no_longer_than_the_bound_says(launcher, uneven, percent, turn):
    """Waits that end just when a rank has begun to sleep; those that are worth a sleep; and what lies between."""
    seconds, told = statistics_of(launcher, "--max-slowdown", percent, uneven, 1, turn)
    # Beside what the bound allows: the last time of being late in each second, however long that was.
    assert told["late"] <= seconds * percent / 100 + 0.02, told


def test_with_no_slowdown_allowed_no_rank_sleeps(launcher, uneven):
    _, told = statistics_of(launcher, "--max-slowdown", 0, uneven, 0.5, 1000)
    assert told["sleeps"] == told["rung"] == told["late"] == 0


def test_long_waits_are_slept_through_within_a_bound(launcher, uneven):
    """Turns of 20 ms: a rank that waits takes hardly any CPU time, so both take that of one."""
    seconds, told = statistics_of(launcher, "--max-slowdown", 5, uneven, 1, 20_000)
    assert told["rung"] > 10
    assert told["CPU"] < 1.3 * seconds, told


def test_statistics_tell_cpu_time_and_energy_or_that_there_is_none(launcher, uneven):
    said = launcher.run("-n", 2, "--stats", uneven, 0.3, 100).stderr
    assert re.search(r"energy: ([\d.]+ J|not measurable here)", said)


@pytest.mark.parametrize("value", ["-1", "101", "much"])
def test_a_bound_that_is_no_percentage_is_refused(launcher, value):
    said = launcher.run("-n", 2, "--max-slowdown", value, "true")
    assert said.returncode != 0 and value in said.stderr and "percent" in said.stderr
