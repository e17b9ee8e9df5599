"""Numbers that are shown, against what is true."""


def near(shown, true, what):
    """Within 2 percent of what is true, or of what it is between."""
    least, most = true if isinstance(true, tuple) else (true, true)
    assert 0.98 * least <= shown <= 1.02 * most, f"{what}: {shown} is shown, {least} to {most} is true"


def times(bounds, factor):
    return bounds[0] * factor, bounds[1] * factor
