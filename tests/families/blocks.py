# SPDX-License-Identifier: MIT
"""What the families are made of, in double precision: norms, activations, positions, attention.

Written from the papers and from what the published implementations compute, sharing nothing with the engine. Shapes:
x is [n, d]; q, k and v are [n, heads, e]. A trap is a place where an implementation goes wrong without noticing:
`broken("what")` is False, says by being asked that the family has this trap, and is True in the run that falls into
it (make.py --mutate).
"""
import contextlib
import math

import numpy as np

# --- traps ----------------------------------------------------------------------------------------------


class Traps:
    met = {}  # name -> None, in the order in which they were met
    fallen = None


def broken(name):
    Traps.met[name] = None
    return Traps.fallen == name


@contextlib.contextmanager
def falling(name):
    Traps.fallen = name
    try:
        yield
    finally:
        Traps.fallen = None


class Seen:
    """How sharp the attention of a run was: a fixture whose attention is uniform shows no wrong position."""

    scores = []  # the standard deviation of a row's scores


# --- norms and activations ------------------------------------------------------------------------------


def epsilon(value, usual=1e-5):
    return usual if broken(f"eps {usual:g} in place of the file's") else value


def layer_norm(x, weight, bias=None, eps=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight
    return y if bias is None else y + bias


def rms_norm(x, weight, eps):
    if broken("mean subtracted in the RMS norm"):
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


_erf = np.vectorize(math.erf, otypes=[float])


def gelu_erf(x):
    if broken("GELU by tanh in place of erf"):
        return _gelu_tanh(x)
    return _gelu_erf(x)


def gelu_tanh(x):
    if broken("GELU by erf in place of tanh"):
        return _gelu_erf(x)
    return _gelu_tanh(x)


def _gelu_erf(x):
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return np.maximum(x, 0)


def silu(x):
    if broken("GELU in place of SiLU"):
        return _gelu_erf(x)
    return x / (1 + np.exp(-x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


# --- attention ------------------------------------------------------------------------------------------


def heads(x, count):
    """[n, count * e] -> [n, count, e]"""
    return x.reshape(len(x), count, -1)


def causal(n, window=None):
    """True where query i sees key j: j <= i and, with a window of W, i - j < W: W keys, the query's own among them."""
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    seen = distance >= 0
    if window is None or window >= n:
        return seen
    if broken("window not applied"):
        return seen
    return seen & (distance < window + broken("window of W + 1 keys"))


def attention(q, k, v, seen, scale=None, bias=None, cap=None, bias_scaled=False):
    """softmax(cap(q . k * scale) + bias) . v; seen is [queries, keys], bias [heads, queries, keys].
    -> [queries, heads * e]

    Fewer heads of keys than of queries: a head of keys serves a run of neighbouring heads of queries.
    """
    n, count, e = q.shape
    served = count // k.shape[1]
    if 1 < k.shape[1] < count and broken("heads of keys in turn, not in runs"):
        k, v = np.tile(k, (1, served, 1)), np.tile(v, (1, served, 1))
    else:
        k, v = np.repeat(k, served, 1), np.repeat(v, served, 1)
    scale = e**-0.5 if scale is None else scale
    if scale != 1 and broken("scores not scaled"):
        scale = 1
    scores = np.einsum("ihe,jhe->hij", q, k) * scale
    if cap is not None and not broken("scores not capped"):
        scores = np.tanh(scores / cap) * cap
    if bias is not None:
        scores = scores + (bias * scale if bias_scaled else bias)
    scores = np.where(seen[None], scores, -np.inf)
    Seen.scores += [
        float(np.std(row[np.isfinite(row)]))
        for row in scores.reshape(-1, scores.shape[-1])
        if np.isfinite(row).sum() > 3
    ]
    return np.einsum("hij,jhe->ihe", softmax(scores), v).reshape(n, -1)


# --- positions ------------------------------------------------------------------------------------------


def rope_frequencies(width, theta):
    """theta^(-2k / width), k < width / 2 (Su et al. 2021)"""
    return theta ** (-np.arange(0, width, 2) / width)


def rotate(x, positions, frequencies, adjacent=False, factor=1.0):
    """Rotary positions on the first 2 len(frequencies) dimensions of each head; (2k, 2k + 1) or (k, k + half)."""
    if broken("rotary pairs of the other kind"):
        adjacent = not adjacent
    if broken("rotary positions not applied"):
        return x
    half = len(frequencies)
    angle = np.asarray(positions)[:, None, None] * frequencies
    cos, sin = np.cos(angle) * factor, np.sin(angle) * factor
    left = np.arange(half) * 2 if adjacent else np.arange(half)
    right = left + 1 if adjacent else left + half
    y = x.copy()
    y[..., left] = x[..., left] * cos - x[..., right] * sin
    y[..., right] = x[..., right] * cos + x[..., left] * sin
    return y


def alibi_slopes(count, bias_max=8):
    """Press et al. 2022: a geometric series; of a count that is no power of two, the series of the power below, then
    every other member of that of the power above."""
    if count & (count - 1) and broken("plain geometric slopes for any number of heads"):
        return 2.0 ** (-bias_max * np.arange(1, count + 1) / count)
    power = 2 ** int(math.floor(math.log2(count)))
    series = 2.0 ** (-bias_max * np.arange(1, power + 1) / power)
    above = 2.0 ** (-bias_max * np.arange(1, 2 * power + 1) / (2 * power))
    return np.concatenate([series, above[::2][: count - power]])


def alibi(count, n, bias_max=8):
    """-slope * (i - j) -> [heads, n, n]"""
    if broken("no ALiBi"):
        return np.zeros((count, n, n))
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    return -alibi_slopes(count, bias_max)[:, None, None] * distance


def sinusoids(positions, width, base=10000.0, last=False):
    """[sin half, cos half]; frequencies base^(-k / half), or with `last` base^(-k / (half - 1)) (fairseq)."""
    half = width // 2
    divisor = half - 1 if last else half
    if broken("frequencies over half in place of half - 1" if last else "frequencies over half - 1 in place of half"):
        divisor = half if last else half - 1
    angle = np.asarray(positions)[:, None] * base ** (-np.arange(half) / divisor)
    sin, cos = np.sin(angle), np.cos(angle)
    if broken("sines and cosines in turn, not in halves"):
        return np.stack([sin, cos], -1).reshape(len(angle), width)
    return np.concatenate([sin, cos], -1)
