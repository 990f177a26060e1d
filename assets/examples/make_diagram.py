#!/usr/bin/env python3
"""Makes fig2a.npz, the example of *Phase diagram*: Fig. 2a on a coarse grid, computed by Valleyscope.

    valleyscope sweep fig2a --grid 24x25 --replicates 10 --lrs 7 --measured --out FOLDER
    pip install numpy
    ./make_diagram.py FOLDER/phase.npz fig2a.npz

The file holds the arrays from which `phase.npz` is read, compressed. So that it is small, its numbers have 15 bits after
the leading one, about four and a half digits.
"""
import io
import sys
import zipfile

import numpy as np

READ = ["spec", "program", "mean", "min_loss_mean", "depth_mean", "std", "min_loss_std", "depth_std", "gap", "gap_se",
        "gap_freedom", "replicates", "diverged", "shares"]
BITS = 15


def rounded(values):
    """Rounds the mantissas of float64 to BITS bits, to even; infinities and NaN stay."""
    cut = np.uint64(52 - BITS)
    bits = values.view(np.uint64)
    half = (np.uint64(1) << (cut - np.uint64(1))) - np.uint64(1) + ((bits >> cut) & np.uint64(1))
    return np.where(np.isfinite(values), ((bits + half) >> cut << cut).view(np.float64), values)


def main():
    source, target = sys.argv[1:]
    arrays = np.load(source)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in READ:
            array = arrays[name]
            content = io.BytesIO()
            np.lib.format.write_array(content, rounded(array) if array.dtype == np.float64 else array, (1, 0))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED, 9)


main()
