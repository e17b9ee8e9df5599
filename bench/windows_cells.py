"""Random cells of operations on windows, for sweep.py; sweep_epochs.h does what they say."""

import math
from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20
LARGEST = {2: MIB, 4: 512 * KIB, 8: 128 * KIB}
ONE_ELEMENT = "fetch_and_op fetch compare_and_swap".split()
WITH_REQUESTS = "rput rget raccumulate rget_accumulate".split()
# All of these may change one place at once.
ATOMIC = "accumulate replace get_accumulate get_no_op fetch_and_op fetch compare_and_swap raccumulate rget_accumulate".split()
PLAIN = "put get rput rget replace get_no_op".split()
OPERATIONS = "put get accumulate replace get_accumulate get_no_op".split() + ONE_ELEMENT + WITH_REQUESTS
WINDOWS = ("create", "static", "allocate", "shared", "dynamic")
TOUCHED = ("not", "byte", "all")
PASSIVE, ACTIVE = ("lock", "lock_shared", "flush", "flush_local"), ("fence", "post")
SPREAD = ("vector", "vector_both", "indexed", "indexed_both")


@dataclass(frozen=True)
class WindowCell:
    """One epoch: so many bytes in so many operations, by every rank."""

    operation: str
    bytes: int
    window: str
    touched: str
    synchronisation: str
    layout: str
    parts: int
    where: str

    def line(self):
        return (f"{self.operation} {self.bytes} {self.window} {self.touched} {self.synchronisation} "
                f"{self.layout} {self.parts} {self.where}\n")


def draw(generator, ranks, operations):
    operation = generator.choice(operations)
    synchronisation = generator.choice(PASSIVE if operation in WITH_REQUESTS else PASSIVE + ACTIVE)
    window, touched = generator.choice(WINDOWS), generator.choice(TOUCHED)
    where = generator.choice(("next", "first")) if operation in ATOMIC and synchronisation != "post" else "next"
    parts = generator.choice((1, 1, 8))
    if operation in ONE_ELEMENT:
        layout = generator.choice(("ints", "doubles"))
        return WindowCell(operation, parts * (4 if layout == "ints" else 8), window, touched, synchronisation, layout, parts, where)
    layout = generator.choice(("bytes", "ints", "doubles") + SPREAD)
    if layout == "bytes" and operation not in PLAIN:
        layout = "doubles"
    length = int(math.exp(generator.uniform(math.log(8), math.log(LARGEST.get(ranks, 64 * KIB)))))
    return WindowCell(operation, length, window, touched, synchronisation, layout, parts, where)
