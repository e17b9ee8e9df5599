#!/usr/bin/env python3
"""Draws one block of a checkpoint or plot file of FLASH-IO (HDF5): the middle layer of each variable that is asked for.

    mpiexec -n 4 flash_io_hdf5 --library hdf5 --keep
    bench/flash-io/picture.py flash_io_hdf5_chk_0000 --block 7 --variables dens pres --output block.png

It needs h5py and matplotlib of PyPI.
"""

import argparse

import h5py
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--block", type=int, default=0)
    parser.add_argument("--variables", nargs="+", default=["dens", "temp", "pres", "f1"])
    parser.add_argument("--output", default="block.png")
    given = parser.parse_args()
    with h5py.File(given.file, "r") as file:
        figure, axes = pyplot.subplots(1, len(given.variables), figsize=(4 * len(given.variables), 4), squeeze=False)
        for place, name in zip(axes[0], given.variables):
            block = file[f"{name:4}"][given.block]
            image = place.imshow(block[len(block) // 2], origin="lower", cmap="viridis")
            place.set_title(f"{name}, block {given.block}")
            figure.colorbar(image, ax=place, shrink=0.8)
    figure.tight_layout()
    figure.savefig(given.output, dpi=90)
    print(f"{given.output}: the middle layer of block {given.block}")


main()
