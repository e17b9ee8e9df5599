"""`serried top` in a terminal: driven as a person would, its screen read by a terminal emulator."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pyte
import pytest

from launching import PATIENCE, SERRIED
from rates import rounded


class Terminal:
    """`serried top` on a pseudo-terminal, and what stands on the screen."""

    def __init__(self, environment, *arguments, columns=80, lines=24):
        self.raw = b""
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        ours, theirs = pty.openpty()
        self.resize(columns, lines, theirs)
        self.before = termios.tcgetattr(theirs)
        self.process = os.fork()
        if self.process == 0:
            os.close(ours)
            os.login_tty(theirs)
            os.execve(SERRIED, ["serried", "top", *map(str, arguments)], environment)
        self.ours, self.theirs = ours, theirs

    def resize(self, columns, lines, terminal=None):
        fcntl.ioctl(self.theirs if terminal is None else terminal, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if select.select([self.ours], [], [], 0.02)[0]:
                try:
                    data = os.read(self.ours, 65536)
                except OSError:
                    return
                self.raw += data
                self.stream.feed(data)

    def text(self):
        return "\n".join(self.screen.display)

    def wait_for(self, pattern):
        """Reads until the screen shows it."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text()):
            assert time.monotonic() < deadline, f"no {pattern!r} on the screen:\n{self.text()}"
            self.read(0.1)
        return self.text()

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        """Its exit status; the terminal must be as it was."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.read(0.05)
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.process = None
                break
            assert time.monotonic() < deadline, "it does not end"
        self.read(0.1)
        after = termios.tcgetattr(self.theirs)
        os.close(self.ours)
        os.close(self.theirs)
        assert after == self.before
        assert self.raw.count(b"\x1b[?1049h") == self.raw.count(b"\x1b[?1049l") == 1
        assert self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def terminal(launcher):
    begun = []

    def begin(*arguments, **options):
        environment = {**launcher.environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        environment.update(options.pop("environment", {}))
        begun.append(Terminal(environment, *arguments, **options))
        return begun[-1]

    yield begin
    for seen in begun:
        if seen.process:  # the test has failed
            os.kill(seen.process, signal.SIGKILL)
            os.waitpid(seen.process, 0)


# Messages per second, and what rank 0 sends to rank 3.
PICTURE = r"per second: (\S+) messages[\s\S]*\n *0 +·· +\d\S* +·· +(\d\S*)"


def lately(job, end, shown, ranks, amount):
    """What is shown is true of a second in the last three: the picture does not tell of which."""
    truth = []
    for tenth in range(20):
        steps = [job.steps(rank, end - 1 - tenth / 10, end - tenth / 10) for rank in ranks]
        truth += [sum(amount(rank) * bound[way] for rank, bound in zip(ranks, steps)) for way in (0, 1)]
    assert shown[1] >= 0.98 * min(truth) and shown[0] <= 1.02 * max(truth), (shown, min(truth), max(truth))


def test_80_by_24_shows_ranks_rates_and_traffic_of_8_ranks(start, terminal):
    job = start(8)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid)
    seen.wait_for(PICTURE)
    seen.read(3)
    text, read = seen.wait_for(PICTURE), time.time()
    lines = text.splitlines()
    assert "serried top" in lines[0] and "8 ranks" in lines[0]
    table = [line for line in lines if re.match(r" {4}[0-7] \S", line)]
    assert [int(line[:5]) for line in table] == list(range(8)), text
    matrix = lines[next(i for i, line in enumerate(lines) if line.startswith("traffic")) + 2:]
    assert matrix[7].startswith("7"), text
    seen.press("q")
    assert seen.end() == 0
    job.end()
    messages, size = re.search(PICTURE, text).groups()
    lately(job, read, rounded(messages), range(8), lambda rank: rank + 2)
    lately(job, read, rounded(size), [0], lambda _: 20000)


def test_keys_change_views_sort_and_help(start, terminal):
    job = start(4)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid, "--interval", 0.2)
    seen.wait_for(r"COMP +WAIT")
    seen.press("\t")
    seen.wait_for(r"INLINE +CELLS")
    seen.press("3")
    seen.wait_for(r"PROCESS +SEGMENT[\s\S]*64 MiB")
    seen.press("4")
    seen.wait_for(r"rows send to columns, bytes/s")
    seen.press("1r")
    seen.wait_for(r"DOING.*\n +3 [\s\S]*\n +0 ")
    # Rank is the first column, messages the last but one: two to the left.
    seen.press("r\x1b[D\x1b[D\x1b[D")
    seen.wait_for(r"DOING.*\n +3 [\s\S]*\n +0 ")
    seen.press("t")
    seen.wait_for(r"in all: +[\d.]+k? messages")
    seen.press("?")
    seen.wait_for("any key goes back")
    seen.press("x ")
    seen.wait_for("On hold")
    seen.press(" \x03")
    assert seen.end() == 0
    job.end()


def test_it_follows_the_size_of_the_window(start, terminal):
    job = start(8)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid, "--interval", 0.3)
    seen.wait_for("rows send to columns")
    for columns, lines in [(120, 40), (50, 10), (20, 4), (80, 24)]:
        seen.read(0.1)
        drawn = len(seen.raw)
        seen.resize(columns, lines)
        os.kill(seen.process, signal.SIGWINCH)
        seen.read(0.7)
        deadline = time.monotonic() + PATIENCE
        while len(seen.raw) == drawn or not seen.screen.display[0].startswith("serried top"[:columns - 16]):
            assert time.monotonic() < deadline, seen.text()
            seen.read(0.1)
    seen.wait_for("rows send to columns")
    seen.press("q")
    assert seen.end() == 0
    job.end()


def test_without_colour_and_without_unicode_nothing_is_missing(start, terminal):
    job = start(4)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid, environment={"NO_COLOR": "1", "LC_ALL": "C"})
    seen.wait_for(r"per second: [\d.]+k? messages")
    seen.wait_for("@ is")
    assert all(byte < 128 for byte in seen.raw)
    assert not re.search(rb"\x1b\[[0-9;]*\b(3[0-7]|38|4[0-7]|48|9[0-7])[;m]", seen.raw)
    seen.press("q")
    assert seen.end() == 0
    job.end()


def test_the_end_of_the_job_is_survived_and_its_totals_stay(start, terminal):
    job = start(4)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid)
    seen.wait_for("DOING")
    job.end()
    text = seen.wait_for("The job has ended")
    assert "finalized" in text and "in all:" in text
    seen.press("q")
    assert seen.end() == 0


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_restores_the_terminal(start, terminal, sign):
    job = start(2)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid)
    seen.wait_for("DOING")
    os.kill(seen.process, sign)
    assert seen.end() == 128 + sign
    job.end()


def test_it_ends_with_its_terminal(start, terminal):
    job = start(2)
    job.wait_until_it_flows()
    seen = terminal(job.process.pid)
    seen.wait_for("DOING")
    os.close(seen.ours)
    os.close(seen.theirs)
    process, seen.process = seen.process, None
    deadline = time.monotonic() + PATIENCE
    while not os.waitpid(process, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            pytest.fail("it goes on without a terminal")
        time.sleep(0.05)
    job.end()
