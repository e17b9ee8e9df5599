"""Numbers as people read them."""


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def value_text(value, decimals=None):
    """Three figures, or as many decimals as asked for; a dash for what is not known."""
    if value is None:
        return "-"
    if decimals is not None:
        return f"{value:.{decimals}f}"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
