# SPDX-License-Identifier: MIT
"""Relatives of BERT: ELECTRA (Clark et al. 2020) and ALBERT (Lan et al. 2019), whose embedding has a width of its own,
and DeBERTa 2 and 3 (He et al. 2021), whose scores also depend on vectors of distances.
"""
import numpy as np

from blocks import Seen, attention, broken, epsilon, gelu_erf, gelu_tanh, heads, softmax
from encoders import bert_positions, masked_cases, trunk, trunk_tensors, visible
from fixture import Fixture, bias, linear, norm, pairs, table

# --- ELECTRA --------------------------------------------------------------------------------------------


def electra_trunk(c, w, case):
    return trunk(c, w.under("electra."), case, bert_positions(c, case))


def electra(c, w, case):
    """The generator. Its head ends as wide as the embedding."""
    p = w.under("generator_predictions.")
    x = p.layer_norm("LayerNorm", gelu_erf(p.linear("dense", electra_trunk(c, w, case))), c["layer_norm_eps"])
    return x @ w["electra.embeddings.word_embeddings.weight"].T + w["generator_lm_head.bias"]


def electra_tensors(c):
    d, e = c["hidden_size"], c["embedding_size"]
    t = trunk_tensors(c, "electra.") | pairs("electra.", ("embeddings_project", linear((d, e), 1.5), bias(d)))
    t |= pairs("generator_predictions.", ("dense", linear((e, d), 2), bias(e)), ("LayerNorm", norm(e), bias(e)))
    return t | {"generator_lm_head.bias": bias(c["vocab_size"])}


KINDS = "weight", "bias"


def fixture(name, tensors, forward, hidden, unread=()):
    cases = masked_cases(name, 0, name != "deberta-v3")
    return Fixture(name, tensors, forward, cases=cases, greedy=0, hidden=hidden, unread=unread)


FIXTURES = [
    fixture("electra", electra_tensors, electra, electra_trunk),
    fixture("electra-wide", electra_tensors, electra, electra_trunk),
]
