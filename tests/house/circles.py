"""Import circles: files of one crate that name each other in a loop, so that none can be read or moved by itself.

A module and those above or below it in its own branch do not count: `mod.rs` names its children by what it is.
Test modules count as little; they may name whatever they test.
"""

import pathlib
import re

PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+|::\{[^;]*?\}(?=;))+", re.S)
COMMENT = re.compile(r"//[^\n]*")


def module_of(name):
    """(crate, path of the module) of a source file, e.g. ("engine", ("job", "cpus")); None if it is none."""
    crate, found, inner = name.partition("/src/")
    if not found or not name.endswith(".rs"):
        return None
    parts = pathlib.PurePosixPath(inner).with_suffix("").parts
    if any(part.startswith("tests") or part.endswith("_tests") for part in parts):
        return None
    return crate, parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def spread(path):
    """The paths that one path with braces stands for: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    head, opened, rest = path.partition("{")
    if not opened:
        return [tuple(part for part in path.split("::") if part)]
    names, depth, word = [], 0, ""
    for sign in rest.rstrip()[:-1] + ",":
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            names, word = names + [word], ""
        else:
            word += sign
    stem = tuple(part for part in head.split("::") if part)
    return [stem + inner for name in names if name for inner in spread(name)]


def absolute(here, path):
    """A path from the root of its crate."""
    while path and path[0] in ("crate", "self", "super"):
        here = {"crate": (), "self": here, "super": here[:-1]}[path[0]]
        path = path[1:]
    return here + path


def arrows(files):
    """Which file names which, by paths that begin with `crate`, `self` or `super`."""
    modules = {module_of(name): name for name in files if module_of(name)}
    named = {}
    for (crate, here), name in modules.items():
        code = COMMENT.sub("", files[name].split("#[cfg(test)]\nmod tests")[0])
        for found in PATH.findall(code):
            for path in spread(re.sub(r"\bas\s+\w+|\s", "", found)):
                target = absolute(here, path)
                while target and (crate, target) not in modules:
                    target = target[:-1]
                related = target == here[:len(target)] or here == target[:len(here)]
                if (crate, target) in modules and not related:
                    named.setdefault(name, set()).add(modules[crate, target])
    return named


def reached(named, start):
    """All files that one names, straight or through others."""
    found, left = set(), [start]
    while left:
        for name in named.get(left.pop(), set()) - found:
            found.add(name)
            left.append(name)
    return found


def circles(files):
    """Groups of files that all reach each other, sorted."""
    named = arrows(files)
    reach = {name: reached(named, name) for name in named}
    groups = {frozenset(other for other in reach[name] if name in reach.get(other, ())) for name in named}
    return sorted(sorted(group) for group in groups if group)
