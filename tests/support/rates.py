"""Numbers that are shown, against what is true."""

import re


def near(shown, true, what):
    """Within 2 percent of what is true, or of what it is between."""
    least, most = true if isinstance(true, tuple) else (true, true)
    assert 0.98 * least <= shown <= 1.02 * most, f"{what}: {shown} is shown, {least} to {most} is true"


def times(bounds, factor):
    return bounds[0] * factor, bounds[1] * factor


def rounded(shown):
    """What has been rounded to a number like 4.4k lies between these."""
    digits, unit = re.fullmatch(r"([\d.]+)([kMG]?)", shown).groups()
    half = 0.5 * 10 ** -len(digits.partition(".")[2])
    return times((float(digits) - half, float(digits) + half), {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit])
