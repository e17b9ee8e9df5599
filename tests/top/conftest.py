"""Jobs with known traffic, and ways to look at them: see traffic.c and support/launching.py."""

import bisect
import json
import pathlib
import signal
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402
from launching import PATIENCE, SERRIED, launcher  # noqa: E402, F401


@pytest.fixture(scope="session")
def traffic(tmp_path_factory):
    """The compiled program."""
    program = tmp_path_factory.mktemp("programs") / "traffic"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([jobs.STAGE / "bin/mpicc", HERE / "traffic.c", "-o", program, *flags], check=True)
    return program


class Job:
    """A job of traffic.c under way, and what it has said of itself."""

    def __init__(self, launcher, program, ranks, seconds, slow=-1):
        self.ranks = ranks
        self.output = launcher.folder / f"output.{time.monotonic_ns()}"
        command = [SERRIED, "run", "-n", ranks, program, seconds, slow]
        if ranks == 0:
            command = [program, seconds]
        with open(self.output, "w") as file:
            self.process = subprocess.Popen(
                list(map(str, command)), env=launcher.environment, stdout=file, stdin=subprocess.DEVNULL)

    def wait_until_it_flows(self):
        deadline = time.monotonic() + PATIENCE
        while self.output.read_text().count("\n") < 200 * max(1, self.ranks) / 8:
            assert time.monotonic() < deadline and self.process.poll() is None, self.output.read_text()[-2000:]
            time.sleep(0.02)
        time.sleep(0.3)

    def account(self):
        """What each rank has said until now: begin and end of a step, messages and bytes."""
        said = {rank: [] for rank in range(max(1, self.ranks))}
        for line in self.output.read_text().splitlines(keepends=True):
            words = line.split()
            if line.endswith("\n") and words[0].isdigit():
                said[int(words[0])].append((float(words[1]), float(words[2]), int(words[3]), int(words[4])))
        return said

    def end(self):
        """Tells it to end if it has not ended, when all have gone on after what was looked at; the results must be right."""
        looked, deadline = time.time(), time.monotonic() + PATIENCE
        while self.process.poll() is None and any(rows[-1][0] < looked for rows in self.account().values()):
            assert time.monotonic() < deadline, "it does not go on"
            time.sleep(0.05)
        self.process.send_signal(signal.SIGUSR1)
        assert self.process.wait(PATIENCE) == 0
        words = next(line for line in self.output.read_text().splitlines() if line.startswith("received")).split()
        assert words[3] == "0" and int(words[1]) > 0
        self.said = self.account()

    def steps(self, rank, begin, end):
        """How many steps' messages the rank has sent in that time, by its own account: at least, at most. They are the
        same but where the time begins or ends while it sends, which takes long where the machine is busy."""
        begun, ended = ([row[column] for row in self.said[rank]] for column in (0, 1))

        def at(when):
            assert ended[0] <= when < begun[-1], "looked at a time when the job was not flowing"
            return bisect.bisect(ended, when), bisect.bisect(begun, when)

        (least_before, most_before), (least, most) = at(begin), at(end)
        return least - most_before, most - least_before

    def flows(self, rank):
        """(messages, bytes) in a step, by receiver."""
        return {(rank + 1) % self.ranks: (rank + 1, 64 * (rank + 1) ** 2), (rank + 3) % self.ranks: (1, 20000)}


@pytest.fixture
def start(launcher, traffic):  # noqa: F811
    """Starts jobs; they are ended with the test."""
    started = []

    def start_one(ranks=8, seconds=300, slow=-1):
        started.append(Job(launcher, traffic, ranks, seconds, slow))
        return started[-1]

    yield start_one
    for job in started:
        if job.process.poll() is None:
            job.process.terminate()
            job.process.wait(PATIENCE)


@pytest.fixture
def top(launcher):  # noqa: F811
    """Runs `serried top` to its end: status, reports or text, complaints."""

    def run(*arguments, timeout=PATIENCE, **options):
        command = [SERRIED, "top", *map(str, arguments)]
        done = subprocess.run(
            command, env=launcher.environment, capture_output=True, text=True, timeout=timeout, **options)
        reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done.returncode, reports, done.stderr

    return run
