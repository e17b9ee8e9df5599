"""Rules for what people read: links lead somewhere, files that are named exist, figures stand in one place, sentences
are plain.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"`([\w./-]+\.(?:rs|py|c|h|api|abi|md|sh))`")
CODE = re.compile(r"^```.*?^```", re.M | re.S)
SENTENCE_WORDS = 45
# A sentence that begins so and is no question: the reader learns only at its end what it is about.
FRONTED = re.compile(r"^(Who|Whoever|What|Whatever|Whom|Whose) [^?]*$")
# Not in the tree: the build makes it.
MADE = {"mpi.h", "mpif.h"}


def texts(files):
    """The documents that are staged and installed, and those beside the sources."""
    return {name: text for name, text in files.items() if name.endswith(".md")}


def anchors(text):
    """The anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", text), re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def links(files, _ratchet):
    """Every relative link in a document leads to a file of the project, and to a heading in it."""
    for name, text in texts(files).items():
        for target in LINK.findall(CODE.sub("", text)):
            if re.match(r"\w+:", target):
                continue
            path, _, anchor = target.partition("#")
            place = (ROOT / name).parent / path if path else ROOT / name
            if not place.exists():
                yield f"{name}: no such file: {target}"
            elif anchor and anchor not in anchors(place.read_text()):
                yield f"{name}: no such heading: {target}"


def staged_links(files, _ratchet):
    """No link in a staged document leaves what is staged."""
    for name, text in texts(files).items():
        if not (name.startswith("docs/") or name == "README.md"):
            continue
        for target in LINK.findall(CODE.sub("", text)):
            place = ((ROOT / name).parent / target.partition("#")[0]).resolve()
            is_staged = place.is_relative_to(ROOT / "docs") or place.parent == ROOT
            if not re.match(r"\w+:", target) and not is_staged:
                yield f"{name}: {target} is not staged"


def named_files(files, _ratchet):
    """Every source file that a page of docs/ names exists."""
    places = ["/" + name for name in files]
    for name, text in texts(files).items():
        if not name.startswith("docs/"):
            continue
        for found in sorted(set(NAMED.findall(CODE.sub("", text)))):
            if found not in MADE and not re.search(r"\b(CHAPTER|NAME)\b", found) and not any(place.endswith("/" + found) for place in places):
                yield f"{name} names {found}, which does not exist"


def figures(files, _ratchet):
    """docs/performance.md and the README's table are what bench/report.py writes from bench/record.json."""
    import pages
    import report

    for name, text in pages.pages(report.page_method()).items():
        if files.get(name) != text:
            yield f"{name} is not what bench/report.py writes: run it"


def scale(files, _ratchet):
    """docs/scale.md and its picture are what tests/servers/page.py writes from tests/servers/record.json."""
    sys.path.insert(0, str(ROOT / "tests/servers"))
    import page

    for name, text in page.pages().items():
        if files.get(name) != text:
            yield f"{name} is not what tests/servers/page.py writes: run it"


def sentences(text):
    """The sentences of a document's paragraphs and lists; tables, headings and code are left out."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", CODE.sub("", text)):
        kept = [line for line in paragraph.splitlines() if not re.match(r"\s*(\||#|<!--)|    ", line)]
        words = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", " ".join(line.strip() for line in kept))
        yield from re.split(r"(?<=[.?!])[)*]*\s+(?=[A-Z`*(])", re.sub(r"\]\([^)]*\)", "]", words))


def plain_sentences(files, _ratchet):
    """Sentences of documents begin with what they are about, and have at most 45 words."""
    for name, text in texts(files).items():
        if not name.startswith("docs/") and name != "README.md":
            continue
        for sentence in sentences(text):
            if len(sentence.split()) > SENTENCE_WORDS:
                yield f"{name}: {len(sentence.split())} words: {sentence[:80]}…"
            if FRONTED.match(sentence):
                yield f"{name}: begins with a clause: {sentence[:80]}"


def thresholds(files, _ratchet):
    """Every threshold that bench/micro measures is in the engine, with the value that is measured."""
    sys.path.insert(0, str(ROOT / "bench/micro"))
    import run

    for row in run.thresholds():
        problem = run.missing(row, files)
        if problem:
            yield f"bench/micro/thresholds.toml: {problem}"


RULES = [links, staged_links, named_files, figures, scale, plain_sentences, thresholds]
