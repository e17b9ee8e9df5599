"""The messages of all wrong calls of tests/c (bad_*.c), in one voice: the same in both ABIs, call by call.

A message is `MPI_ERR_CLASS: words of the class: MPI_Call: what is wrong, and what to do`.
"""

import re

import pytest

from launching import ROOT, compile_c, peer_compiler

HERE = ROOT / "tests/golden"
TABLES = sorted(file.stem for file in (HERE.parent / "c").glob("bad_*.c"))
VOICE = re.compile(r"    MPI_ERR_[A-Z_]+: [^:]+: MPI_\w+: .{10,}")


def messages(launcher, table, whose):
    program = launcher.folder / f"{table}-{whose}"
    compile_c(HERE.parent / f"c/{table}.c", program, "-std=gnu11", "-I", str(HERE.parent / "c"),
              compiler=peer_compiler(whose))
    result = launcher.run("-n", 1, program, env={"SHOW_MESSAGES": "1"})
    assert result.returncode == 0, result.stderr
    # Limits, handles, keys and classes have other numbers in the other ABI.
    text = re.sub(r"\d+(?= is no error class)", "N", result.stdout)
    return re.sub(r"0x[0-9a-f]+|\b\d{3,}\b", "N", text)


@pytest.mark.parametrize("table", TABLES)
def test_wrong_calls_are_told_in_one_voice(launcher, golden, table):
    text = messages(launcher, table, "serried")
    for line in text.splitlines()[1::2]:
        assert VOICE.fullmatch(line) and "internal" not in line, line
    golden(table, text, lines=1000)
    assert text == messages(launcher, table, "mpich")


def test_the_same_is_said_of_the_same(launcher):
    """Whatever the call: arguments that are wrong in the same way are told in the same words."""
    lines = "".join(messages(launcher, table, "serried") for table in TABLES).splitlines()
    said = {}
    for call, message in zip(lines[::2], lines[1::2]):
        words = message.split(": ", 3)[3]
        for about in ("is a null pointer", "null datatype", "not committed", "cannot be negative"):
            if about in words:
                words = words.replace("a count cannot", "it cannot")
                pattern = re.sub(r"argument \w+|\w+\[\d+\]|\d+|-\d+|\bN\b|\([^)]*\)|, but .*", "*", words)
                said.setdefault(about, {}).setdefault(re.sub(r"\s+", " ", pattern).rstrip(" *"), call)
    assert len(said) == 4
    for about, patterns in said.items():
        assert len(patterns) == 1, (about, patterns)
