"""What children of forks.py do."""

import numpy


def square(number):
    return number * number


def total(array):
    return int(array.sum(dtype="i8"))


def pattern(rank, generation):
    """The byte that an array of a rank is full of."""
    return numpy.uint8((rank * 67 + generation) % 251 + 1)
