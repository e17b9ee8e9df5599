"""Running the parts of the tests: side by side where they do not disturb each other, each with a log of its own."""

import contextlib
import os
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

import jobs

CORES = 2  # what the parts are planned for; on a larger machine they have more room
ROOM = 2.2  # what parts that run at once may want: each waits now and then
COMPILER, ALONE = 0, 9  # a part that takes what others leave, and one that nothing may disturb
MODEST = 5  # how nice the first sort is to others: it gets a third of what each of them gets where both want a core
# The second since 1970 after which no part begins, if there is such a limit.
BEGIN_UNTIL = float(os.environ.get("TESTS_BEGIN_UNTIL", "inf"))


@dataclass(frozen=True)
class Part:
    """A command, after how many minutes it is taken for a hang (several times what it takes on a slow
    machine), and what it needs of the machine: how many `cores` of the two that there are it keeps busy, as its line says
    (COMPILER: what others leave; 2: it has none but a compiler beside it), and the parts of which it needs what they
    build (`after`). If one fails that `is_needed`, those after it do not begin."""

    name: str
    shows: str
    command: list
    minutes: int
    cores: float = CORES
    after: tuple = ()
    is_needed: bool = False


def count(output):
    """(passed, failed, skipped) as the output tells it, in the words of cargo, pytest or our own runners."""
    cargo = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE)
    if cargo:
        return tuple(sum(int(row[i]) for row in cargo) for i in range(3))
    for line in reversed(output.splitlines()):
        if re.search(r"\d+ (passed|failed|error)", line):
            words = dict((word.rstrip("s"), int(n)) for n, word in re.findall(r"(\d+) (\w+)", line))
            return words.get("passed", 0), words.get("failed", 0) + words.get("error", 0), words.get("skipped", 0)
    return None


# A line that names a test that has failed, as pytest, cargo and our own runners write it.
FAILURE = re.compile(r"^FAILED|^test .* FAILED$")


def be_modest():
    """What begins here takes what others leave. Linux shares cores between sessions first, so its session says so too."""
    os.nice(MODEST)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text(str(MODEST))


class Running:
    """A part under way."""

    def __init__(self, part):
        self.part, self.began = part, time.monotonic()
        self.log = jobs.BUILD / "test" / f"{part.name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.why, self.busy, self.failures = "", 0, []
        with open(self.log, "w") as log:
            try:
                self.process = subprocess.Popen(
                    part.command,
                    cwd=jobs.ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=be_modest if part.cores == COMPILER else None,
                )
            except OSError as problem:
                self.process, self.why = None, f"cannot start {part.command[0]}: {problem.strerror}"

    def seconds(self):
        return time.monotonic() - self.began

    def has_ended(self):
        if not self.process:
            return True
        process, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if process:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.busy = usage.ru_utime + usage.ru_stime
            self.why = f"exit status {self.process.returncode}" if self.process.returncode else ""
        elif self.seconds() > self.part.minutes * 60:
            self.stop()
            self.why = "time was up"
        return self.process.returncode is not None

    def stop(self):
        if self.process and self.process.returncode is None:
            jobs.stop(self.process)

    def report(self):
        """Prints how it ended; (passed, failed, skipped)."""
        output = self.log.read_text(errors="replace")
        passed, failed, skipped = count(output) or (int(not self.why), 0, 0)
        if self.why and failed == 0:
            failed = 1
        mark = "FAILED" if failed else "ok"
        counts = jobs.closing_line(passed, failed, skipped)
        took = f"{self.seconds():.0f} s, {self.busy / max(self.seconds(), 0.01):.1f} cores"
        print(f"{mark:7}{self.part.name:9} {self.part.shows}: {counts}  [{took}]", flush=True)
        if failed:
            self.show(output.splitlines())
            self.failures = [line for line in output.splitlines() if FAILURE.search(line)] or [self.why]
        return passed, failed, skipped

    def show(self, lines):
        """Why it failed: what the log says of failures, and its end."""
        print(f"  {self.why or 'failures'}; from {self.log.relative_to(jobs.ROOT)}:")
        end = max(len(lines) - 30, 0)
        told = [i for i, line in enumerate(lines[:end]) if re.search(r"FAILED|^FAIL|^E  |panicked|^error", line)]
        near = sorted({j for i in told[:10] for j in range(i, min(i + 6, end))})
        print("".join(f"  | {lines[i]}\n" for i in [*near, *range(end, len(lines))]), flush=True)


def has_room(part, running):
    """Whether a part may run beside those under way: of compilers one, which uses all cores that are free."""
    cores = [other.part.cores for other in running]
    if ALONE in (part.cores, *cores):
        return not running
    if part.cores == COMPILER:
        return COMPILER not in cores
    if CORES in (part.cores, *cores):
        return sum(cores) == 0
    return sum(cores) + part.cores <= ROOM


def to_start(waiting, running):
    """The part to start next: the first that has what it needs and for which there is room. None overtakes a part that
    wants all cores, or small ones would keep it waiting for ever."""
    unmade = {part.name for part in waiting} | {other.part.name for other in running}
    for part in waiting:
        is_ready = not unmade & set(part.after)
        if is_ready and has_room(part, running):
            return part
        if is_ready and part.cores >= CORES:
            return None
    return None


def leave_out(parts, waiting, why):
    """Tells of these parts, which wait, that they do not begin any more: each counts as one that is skipped."""
    for part in parts:
        waiting.remove(part)
        print(f"LEFT   {part.name:9} {part.shows}: not begun, for {why}", flush=True)
    return [(0, 0, 1)] * len(parts)


def without(ended, waiting):
    """Leaves out the parts that cannot do without one that has ended, if that has failed."""
    if not (ended.part.is_needed and ended.failures):
        return []
    return leave_out([part for part in waiting if ended.part.name in part.after], waiting, f"{ended.part.name} has failed")


def run_all(parts):
    """Runs them, as early in their order as there is room; what each has counted."""
    waiting, running, counts, failed, began = list(parts), [], [], [], time.monotonic()
    try:
        while waiting or running:
            if time.time() > BEGIN_UNTIL:
                counts += leave_out(list(waiting), waiting, "the time is up")
            while part := to_start(waiting, running):
                waiting.remove(part)
                running.append(Running(part))
            for ended in [other for other in running if other.has_ended()]:
                running.remove(ended)
                counts.append(ended.report())
                counts += without(ended, waiting)
                failed += [f"{ended.part.name}: {line[:150]}" for line in ended.failures[:10]]
            time.sleep(0.05)
    finally:
        for other in running:
            other.stop()
    # Whoever sees the end of a long log alone sees what to look for.
    print("".join(f"failed in {line}\n" for line in failed), end="")
    print(f"all parts took {time.monotonic() - began:.0f} s", flush=True)
    return counts
