"""Every hang in hangs.c gets its verdict in less than 5 s, with the right ranks, calls and lines.

What the verdict has to say stands in hangs.c, beside the calls. All jobs run beside each other: they sleep.
"""

import concurrent.futures
import pathlib
import re
import time

import pytest

import jobs

SOURCE = pathlib.Path(__file__).with_name("hangs.c")
AT_ONCE = 12


class Hang:
    """A case of hangs.c: its ranks, what the first line says, and who is stuck where."""

    def __init__(self, name, ranks, words):
        self.name, self.ranks, self.words, self.stuck = name, int(ranks), split(words), {}


def split(words):
    return [part for part in re.split(r"(?:^| )[;](?: |$)", words.strip()) if part]


def read_cases():
    cases = []
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if head := re.match(r"// case (\w+) (\d+): (.*)", line):
            cases.append(Hang(*head.groups()))
        if stuck := re.search(r"// stuck ([\d ]+): (.*)", line):
            for rank in map(int, stuck[1].split()):
                cases[-1].stuck.setdefault(rank, []).append((number, split(stuck[2])))
    return cases


CASES = read_cases()


def run(program, case):
    began = time.monotonic()
    command = jobs.job_command("serried", case.ranks, [program, case.name], ["--on-deadlock=abort"])
    if "loop" in case.name or case.name == "part_of_the_ranks":
        command = jobs.job_command("serried", case.ranks, [program, case.name], ["--timeout", "6"])
    outcome = jobs.run_job(command, 30)
    return outcome, time.monotonic() - began


@pytest.fixture(scope="module")
def outcomes(build):
    """All jobs, some at once; loops by themselves, for they take a core each."""
    program = build("hangs")
    loops = [case for case in CASES if "loop" in case.name]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {case.name: pool.submit(run, program, case) for case in CASES if case not in loops}
        results = {name: future.result() for name, future in running.items()}
    return results | {case.name: run(program, case) for case in loops}


def part_of(output, rank):
    """What the verdict says of a rank."""
    lines, inside = [], False
    for line in output.splitlines():
        if line.startswith("  rank "):
            inside = line.startswith(f"  rank {rank} (")
        elif not line.startswith("    "):
            inside = False
        if inside:
            lines.append(line)
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hang(case, outcomes):
    outcome, seconds = outcomes[case.name]
    first = next((line for line in outcome.output.splitlines() if line.startswith("serried: ")), "")
    for words in case.words:
        assert words in first, outcome.output
    waited = [float(since) for since in re.findall(r", since (\d+\.\d) s", outcome.output)]
    assert all(since < 5 for since in waited), outcome.output
    for rank, places in case.stuck.items():
        said = part_of(outcome.output, rank)
        assert said, f"nothing of rank {rank}: {outcome.output}"
        for line, parts in places:
            assert f"hangs.c:{line}" in said, outcome.output
            for part in parts:
                assert part in said, outcome.output
    if "--timeout" not in outcome.output and outcome.status is not None:
        assert outcome.status == 123, outcome.output


def test_there_are_enough_cases():
    assert len(CASES) >= 25 and all(case.stuck for case in CASES)
