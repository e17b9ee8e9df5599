"""Jobs that are slow but alive get no verdict in a minute, and end well. All run beside each other: most of them sleep."""

import concurrent.futures
import pathlib
import re

import pytest

import jobs

HERE = pathlib.Path(__file__).parent
CASES = [
    (file, *case)
    for file in ("slow", "slow_pending", "slow_unseen")
    for case in re.findall(r"// case (\w+) (\d+)", (HERE / f"{file}.c").read_text())
]
SECONDS = 60


@pytest.fixture(scope="module")
def outcomes(build):
    programs = {file: build(file) for file, _, _ in CASES}
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        running = {
            name: pool.submit(
                jobs.run_job, jobs.job_command("serried", ranks, [programs[file], name, SECONDS]), SECONDS + 180
            )
            for file, name, ranks in CASES
        }
        return {name: future.result() for name, future in running.items()}


@pytest.mark.parametrize("name", [name for _, name, _ in CASES])
def test_slow_but_alive(name, outcomes):
    assert (outcomes[name].status, outcomes[name].output) == (0, "")


def test_there_are_enough_cases():
    assert len(CASES) >= 25
