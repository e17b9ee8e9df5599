"""Rules for how the parts of the tests run beside each other (tests/run.py, tests/support/parts.py)."""

import contextlib
import io
import pathlib
import runpy
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from parts import ALONE, COMPILER, CORES, Part, leave_out, to_start, without  # noqa: E402

# Cores of parts under way, those of the next one, and whether it may start.
CASES = [
    ([], ALONE, True),
    ([COMPILER], ALONE, False),
    ([ALONE], COMPILER, False),
    ([1, 1], COMPILER, True),
    ([COMPILER], COMPILER, False),
    ([COMPILER], CORES, True),
    ([CORES], COMPILER, True),
    ([CORES], 0.1, False),
    ([0.1], CORES, False),
    ([1.1, COMPILER], 1.1, True),
    ([1.1], 1.2, False),
]


class Begun:
    def __init__(self, cores):
        self.part = made(cores)


def made(cores, name="", after=(), is_needed=False):
    return Part(name, "", [], 1, cores, after, is_needed)


def cores_are_shared(files, ratchet):
    """Parts share the cores as they need them, and a part that wants all is not overtaken."""
    for busy, cores, may in CASES:
        next_one = made(cores, "next")
        if (to_start([next_one], [Begun(one) for one in busy]) is next_one) != may:
            yield f"beside {busy} a part of {cores} cores {'does not start' if may else 'starts'}"
    small, large, waits = made(1, "small"), made(CORES, "large"), made(1, "waits", ("small",))
    if to_start([large, small], [Begun(1)]):
        yield "a small part overtakes one that wants all cores"
    if to_start([waits, small], []) is not small:
        yield "a part starts before the one that it needs, or none does"


def parts_come_after_what_they_need(files, ratchet):
    """A part of the tests stands after the parts whose results it needs."""
    seen = set()
    for part in runpy.run_path(str(TESTS / "run.py"))["PARTS"]:
        if missing := set(part.after) - seen:
            yield f"{part.name} stands before {', '.join(sorted(missing))}"
        seen.add(part.name)


def what_is_left_out_is_told(files, ratchet):
    """Parts for which there is no time count as skipped, each with a line."""
    waiting, told = [made(1, "first"), made(1, "second")], io.StringIO()
    with contextlib.redirect_stdout(told):
        counts = leave_out(list(waiting), waiting, "the time is up")
    if waiting or counts != [(0, 0, 1)] * 2 or not all(f"LEFT   {name}" in told.getvalue() for name in ("first", "second")):
        yield f"two parts that are left out count as {counts} and are told as {told.getvalue()!r}"


def what_cannot_be_is_not_begun(files, ratchet):
    """Parts that need what another makes do not begin when that has failed; all others do."""
    waiting = [made(1, "with", ("tree",)), made(1, "alone"), made(1, "also with", ("tree", "other"))]
    for name, is_needed, failures, left in (
        ("other", False, ["wrong"], 3),
        ("tree", True, [], 3),
        ("tree", True, ["wrong"], 1),
    ):
        ended = Begun(1)
        ended.part, ended.failures = made(1, name, (), is_needed), failures
        with contextlib.redirect_stdout(io.StringIO()):
            counts = without(ended, waiting)
        if len(waiting) != left or len(counts) != (2 if left == 1 else 0):
            yield f"after {name} with {failures}: {[part.name for part in waiting]} wait"


RULES = [what_cannot_be_is_not_begun, cores_are_shared, parts_come_after_what_they_need, what_is_left_out_is_told]
