"""Programs that load the cores."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def busy_loops(count):
    """Programs that compute on any core and never sleep."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
