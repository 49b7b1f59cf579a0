# SPDX-License-Identifier: MIT
"""A file's tensors by name, as a family reads them."""
import re

import numpy as np

from blocks import broken, layer_norm


def pattern(name):
    return re.sub(r"\.\d+(?=\.)", ".N", name)


class Weights:
    """Gives tensors under a prefix, notes which were read, and makes a trap of each vector: that it is left out."""

    def __init__(self, arrays, prefix="", read=None):
        self.arrays, self.prefix = arrays, prefix
        self.read = set() if read is None else read

    def under(self, prefix):
        return Weights(self.arrays, self.prefix + prefix, self.read)

    def __contains__(self, name):
        return self.prefix + name in self.arrays

    def __getitem__(self, name):
        name = self.prefix + name
        self.read.add(name)
        array = self.arrays[name]
        if array.ndim == 1 and broken(f"without {pattern(name)}"):
            return np.full_like(array, round(array.mean()))  # a bias of 0; a norm's weight of 1, or 0 where 1 is added
        return array

    def linear(self, name, x, trap=True):
        """x [n, in] by a matrix [out, in], with its bias where it has one; trap: leaving that out must show"""
        y = x @ self[name + ".weight"].T
        if name + ".bias" not in self:
            return y
        return y + (self[name + ".bias"] if trap else self.quietly(name + ".bias"))

    def quietly(self, name):
        self.read.add(self.prefix + name)
        return self.arrays[self.prefix + name]

    def layer_norm(self, name, x, eps):
        return layer_norm(x, self[name + ".weight"], self[name + ".bias"] if name + ".bias" in self else None, eps)
