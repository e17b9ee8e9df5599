"""Rules for how the parts of the tests run beside each other (tests/run.py, tests/support/parts.py)."""

import contextlib
import io
import pathlib
import runpy
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from parts import ALONE, COMPILER, CORES, Part, leave_out, to_start  # noqa: E402

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


def made(cores, name="", after=()):
    return Part(name, "", [], 1, cores, after)


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
        counts = leave_out(waiting)
    if waiting or counts != [(0, 0, 1)] * 2 or not all(f"LEFT   {name}" in told.getvalue() for name in ("first", "second")):
        yield f"two parts that are left out count as {counts} and are told as {told.getvalue()!r}"


RULES = [cores_are_shared, parts_come_after_what_they_need, what_is_left_out_is_told]
