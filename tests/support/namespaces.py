"""Containers made of namespaces."""

import subprocess

import pytest

# What a container has of its own.
NAMESPACES = {
    "nothing": [],
    "network": ["-n"],
    "system V": ["-i"],
    "mounts and name": ["-m", "-u"],
    "processes": ["-p", "--fork", "--kill-child", "--mount-proc"],
    "user": ["-U", "-r"],
    "all": ["-U", "-r", "-n", "-i", "-u", "-m", "-p", "--fork", "--kill-child", "--mount-proc"],
}


def apart(kind):
    """The words before a program that put it into a container."""
    words = ["unshare", *NAMESPACES[kind]] if NAMESPACES[kind] else []
    if words and subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    return words
