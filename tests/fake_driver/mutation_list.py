"""The mistakes that tests of device memory have to find: `mutations.toml`."""

import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def load():
    return tomllib.loads((HERE / "mutations.toml").read_text())["mutation"]


def why_not(mutation, root=ROOT):
    """Why a mutation cannot be made in the sources as they are; nothing if it can."""
    number = (root / mutation["file"]).read_text().count(mutation["text"])
    return "" if number == 1 else f"its text is {number} times in {mutation['file']}, and should be there once"
