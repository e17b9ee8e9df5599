"""Fixtures and names for the tests of this folder: see support/launching.py."""

import pathlib
import sys

SURVIVORS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SURVIVORS.parent / "support"))
from launching import *  # noqa: E402, F403
from launching import for_each_abi  # noqa: E402

# Programs whose last rank fails.
survivors = for_each_abi(SURVIVORS / "survivors.c")
agreements = for_each_abi(SURVIVORS / "agreements.c")
