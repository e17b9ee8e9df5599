"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from launching import *  # noqa: E402, F403
