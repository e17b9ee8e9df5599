"""The gate: jobs of all libraries alive at once, one of them let through at a time.

The machine's speed changes from second to second (how far apart its cores are, what else it does), so figures of
two jobs that ran one after the other cannot be compared. Here all libraries run the same program at the same time,
but all ranks of all but one sleep at the gate (gate.h), in read(2) and in no call of MPI. Point by point the
libraries take turns; a turn takes some ten milliseconds. What is compared was measured within a tenth of a second.
A library that takes far longer than that at a point (SLOW_TURN) sits it out after SECONDS_AT_A_SLOW_POINT.
"""

import os
import pathlib
import selectors
import signal
import socket
import subprocess
import tempfile
import time


SLOW_TURN, SECONDS_AT_A_SLOW_POINT = 0.2, 0.5


class JobFailed(Exception):
    """A job ended, or did not come back to the gate in time; the text says which."""


class Job:
    """The ranks of one library's job, as connections to the gate."""

    def __init__(self, library, program, ranks, folder):
        self.library, self.ranks, self.connections = library, ranks, []
        self.unread = {}
        self.point, self.turns = 0, {}  # where it stands in the round, -1 at its end; seconds of its turns so far
        self.selector = selectors.DefaultSelector()
        path = pathlib.Path(folder) / library.name
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(ranks)
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            library.command(program, ranks), env=dict(library.environment, BENCH_GATE=str(path)),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)

    def connect(self, deadline):
        """Waits until every rank has come to the gate for the first time."""
        while len(self.connections) < self.ranks:
            self.listener.settimeout(0.2)
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                self._check(deadline)
                continue
            self.connections.append(connection)
            self.unread[connection] = b""
            self.selector.register(connection, selectors.EVENT_READ)
        return self.gather(deadline)

    def let_through(self, deadline):
        """Lets all ranks go, waits until all are back; gives the figures they told as lists of words."""
        began = time.monotonic()
        turns = self.turns.setdefault(self.point, [])
        enough = sum(turns) > max(SECONDS_AT_A_SLOW_POINT, SLOW_TURN * len(turns))
        for connection in self.connections:
            connection.send(b"s" if enough and self.point >= 0 else b"g")
        figures, round_over = self.gather(deadline)
        if figures:
            turns.append(time.monotonic() - began)
        self.point = -1 if round_over else self.point + 1
        return figures, round_over

    def gather(self, deadline):
        """(figures, whether the round is over), once all ranks are at the gate."""
        waiting, figures, round_over = len(self.connections), [], False
        while waiting:
            events = self.selector.select(0.2)
            if not events:
                self._check(deadline)
            for key, _ in events:
                for words in self._lines(key.fileobj):
                    waiting -= words[0] in ("ready", "round")
                    round_over |= words[0] == "round"
                    if words[0] == "figure":
                        figures.append(words[1:])
        return figures, round_over

    def _lines(self, connection):
        data = connection.recv(65536)
        if not data:
            raise JobFailed("a rank ended too soon")
        *lines, self.unread[connection] = (self.unread[connection] + data).split(b"\n")
        return [line.decode().split() for line in lines]

    def _check(self, deadline):
        if self.process.poll() is not None:
            raise JobFailed(f"ended with status {self.process.returncode}")
        if time.monotonic() > deadline:
            raise JobFailed("took too long")

    def finish(self, timeout):
        """Tells the ranks to end; a job that does not is killed. What it wrote comes back."""
        for connection in self.connections:
            try:
                connection.send(b"q")
            except OSError:
                pass
            connection.close()
        self.listener.close()
        self._end_process(timeout)
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def _end_process(self, timeout):
        for sign, patience in ((None, timeout), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            if sign is not None:
                try:
                    os.killpg(self.process.pid, sign)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(patience)
                return
            except subprocess.TimeoutExpired:
                continue


class Turns:
    """Runs one program with all libraries, in turns. `failed(library, why)` is told of a job that is lost, and
    `lost_at` has the point of each. The gate lies `within` a folder that all ranks see."""

    def __init__(self, libraries, program, ranks, patience, failed, within=None):
        self.patience, self.failed = patience, failed
        self.folder = tempfile.TemporaryDirectory(prefix="bench-gate-", dir=within)
        self.jobs, self.lost_at = [], {}
        for library in libraries:
            job = Job(library, program, ranks, self.folder.name)
            self.jobs.append(job)
            self._try(job, job.connect)

    def _try(self, job, action):
        try:
            return action(time.monotonic() + self.patience)
        except (JobFailed, OSError) as problem:
            self.jobs.remove(job)
            self.lost_at[job.library.name] = max(job.point, 0)
            for connection in job.connections:
                connection.close()
            job.connections = []
            output = job.finish(0)
            self.failed(job.library, str(problem), output)
            return [], True

    def round(self, number):
        """One round over all points. Yields (library, words of a figure); the first in turn changes with the point."""
        over, turn = not self.jobs, number
        while not over:
            order = self.jobs[turn % len(self.jobs):] + self.jobs[: turn % len(self.jobs)]
            over = True
            for job in order:
                figures, job_over = self._try(job, job.let_through)
                over &= job_over
                for words in figures:
                    yield job.library, words
            over |= not self.jobs
            turn += 1

    def finish(self):
        for job in self.jobs:
            job.finish(20)
        self.folder.cleanup()
