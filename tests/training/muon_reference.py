#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the expected values of muon_test.cpp: Muon as Jordan et al. 2024 and Liu et al. 2025 (arXiv 2502.16982)
write it, in double precision with numpy, on matrices that both programs make by the same rule."""
import numpy as np


def matrix(rows, cols, seed):
    """Entry n, in rows, is ((n * 37 + seed * 11) mod 101) / 50 - 1."""
    n = np.arange(rows * cols)
    return (((n * 37 + seed * 11) % 101) / 50 - 1).reshape(rows, cols)


def newton_schulz(g):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (np.linalg.norm(g) + 1e-7)
    if g.shape[0] > g.shape[1]:
        x = x.T
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon(w, gradients, lr, decay, momentum=0.95):
    m = np.zeros_like(w)
    for g in gradients:
        m = momentum * m + (1 - momentum) * g
        update = newton_schulz(momentum * m + (1 - momentum) * g)
        w = w * (1 - lr * decay) - lr * 0.2 * np.sqrt(max(w.shape)) * update
    return w


def show(name, x):
    print(name, ", ".join(f"{v:.6f}" for v in x.ravel()))
    print("  singular values", ", ".join(f"{v:.4f}" for v in np.linalg.svd(x, compute_uv=False)))


show("wide", newton_schulz(matrix(2, 5, 1)))
show("tall", newton_schulz(matrix(4, 3, 2)))
gradients = [matrix(8, 6, 3 + step) for step in range(3)]
w = matrix(8, 6, 9)
show("stepped", muon(w, gradients, 0.01, 0.1))
