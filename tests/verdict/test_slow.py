"""Jobs that are slow but alive get no verdict in a minute, and end well. All run beside each other: most of them sleep."""

import concurrent.futures
import pathlib
import re

import pytest

import jobs

SOURCE = pathlib.Path(__file__).with_name("slow.c")
CASES = re.findall(r"// case (\w+) (\d+)", SOURCE.read_text())
SECONDS = 60


@pytest.fixture(scope="module")
def outcomes(build):
    program = build("slow")
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        running = {
            name: pool.submit(jobs.run_job, jobs.job_command("serried", ranks, [program, name, SECONDS]), SECONDS + 60)
            for name, ranks in CASES
        }
        return {name: future.result() for name, future in running.items()}


@pytest.mark.parametrize("name", [name for name, _ in CASES])
def test_slow_but_alive(name, outcomes):
    assert (outcomes[name].status, outcomes[name].output) == (0, "")


def test_there_are_enough_cases():
    assert len(CASES) >= 25
