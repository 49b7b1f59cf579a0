# SPDX-License-Identifier: MIT
"""What sentence-transformers puts behind a model (Reimers and Gurevych 2019): a linear layer on the vector of a text."""
import numpy as np

from blocks import broken


def dense(w, folder, x, activation=None):
    if broken(f"without {folder.removesuffix('/')}"):
        matrix = w[folder + "linear.weight"]
        return np.resize(x, len(matrix))
    y = w.linear(folder + "linear", x)
    return y if activation is None or broken("no activation behind the linear layer") else activation(y)


def vectors_of(case, vector):
    """A row for each token: the text up to it as a vector of length 1."""
    rows = []
    for end in range(1, len(case["tokens"]) + 1):
        x = vector(case["tokens"][:end])
        rows.append(x if broken("not scaled to length 1") else x / np.linalg.norm(x))
    return np.array(rows)
