"""Every hang in hangs*.c and hangs.py gets its verdict in less than 5 s, with the right ranks, calls and lines.

What the verdict has to say stands there, beside the calls. All jobs run beside each other: they sleep.
"""

import concurrent.futures
import pathlib
import re
import subprocess

import pytest

import jobs

HERE = pathlib.Path(__file__).parent
AT_ONCE = 12


class Hang:
    """A case: its file, its ranks, what the first line says, and who is stuck where."""

    def __init__(self, file, name, ranks, words):
        self.file, self.name, self.ranks, self.words, self.stuck = file, name, int(ranks), split(words), {}

    def key(self):
        return f"{self.name}-{self.file}"


def split(words):
    return [part for part in re.split(r"(?:^| )[;](?: |$)", words.strip()) if part]


def read_cases(file):
    cases = []
    for number, line in enumerate((HERE / file).read_text().splitlines(), 1):
        if head := re.match(r"(?://|#) case (\w+) (\d+): (.*)", line):
            cases.append(Hang(file, *head.groups()))
        if stuck := re.search(r"(?://|#) stuck ([\d ]+): (.*)", line):
            for rank in map(int, stuck[1].split()):
                cases[-1].stuck.setdefault(rank, []).append((number, split(stuck[2])))
    return cases


FILES = ("hangs.c", "hangs_pending.c", "hangs_windows.c", "hangs_armci.c", "hangs_shmem.c", "hangs.py")
CASES = [case for file in FILES for case in read_cases(file)]


def first_line(outcome):
    return next((line for line in outcome.output.splitlines() if line.startswith("serried: ")), "")


def is_in_time(outcome, case):
    """A verdict, and less than 5 s from the hang to it, as it tells itself."""
    told_after = max((float(since) for since in re.findall(r", since (\d+\.\d) s", outcome.output)), default=0)
    return all(words in first_line(outcome) for words in case.words) and told_after < 5


def run(build, case, seconds=6):
    options = ["--on-deadlock=abort"]
    if "naps" in case.name:
        # It is told after half a minute, and would be ended only a minute later.
        options = ["--timeout", 60 + seconds]
    elif "loop" in case.name or case.name == "part_of_the_ranks":
        options = ["--timeout", seconds]
    file = HERE / case.file
    command = [build(file.stem)] if file.suffix == ".c" else [jobs.PYTHON, file]
    return jobs.run_job(jobs.job_command("serried", case.ranks, [*command, case.name], map(str, options)), 120)


@pytest.fixture(scope="module")
def outcomes(build):
    """All jobs, some at once; loops by themselves, for they take a core each."""
    for file in FILES:
        if file.endswith(".c"):
            build(file.removesuffix(".c"))
    loops = [case for case in CASES if "loop" in case.name]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {case.key(): pool.submit(run, build, case) for case in CASES if case not in loops}
        results = {name: future.result() for name, future in running.items()}
    return results | {case.key(): run(build, case) for case in loops}


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


@pytest.mark.parametrize("case", CASES, ids=Hang.key)
def test_hang(case, outcomes, build):
    outcome = outcomes[case.key()]
    for seconds in (10, 20, 40):
        if is_in_time(outcome, case):
            break
        # Beside others or on a busy machine it may be late; it must be able to be in time.
        outcome = run(build, case, seconds)
    assert is_in_time(outcome, case), outcome.output
    for rank, places in case.stuck.items():
        said = part_of(outcome.output, rank)
        assert said, f"nothing of rank {rank}: {outcome.output}"
        for line, parts in places:
            assert f"{case.file}:{line}" in said, outcome.output
            for part in parts:
                assert part in said, outcome.output
    assert outcome.status == (123 if "--on-deadlock=abort)" in outcome.output else 124), outcome.output


def test_there_are_enough_cases():
    assert len(CASES) >= 25 and all(case.stuck for case in CASES)


def test_ranks_that_nap_in_namespaces_of_processes_get_their_verdict():
    """Their numbers mean other processes here, or none: what is looked at are the ranks themselves."""
    apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    case = next(case for case in CASES if case.name == "naps_between_tests")
    program = [*apart, jobs.PYTHON, HERE / case.file, case.name]
    outcome = jobs.run_job(jobs.job_command("serried", case.ranks, program, ["--timeout", "80"]), 120)
    assert all(words in first_line(outcome) for words in case.words), outcome.output
    assert "naps_between_tests" in outcome.output, "source lines are found in the ranks' own files"
