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


# --- ALBERT ---------------------------------------------------------------------------------------------


def albert_trunk(c, outer, case):
    w, eps = outer.under("albert."), epsilon(c["layer_norm_eps"], 1e-12)
    count, seen = c["num_attention_heads"], visible(case)
    e, segments = w.under("embeddings."), np.array(case.get("segments", [0] * len(case["tokens"])))
    x = e["word_embeddings.weight"][case["tokens"]] + e["position_embeddings.weight"][bert_positions(c, case)]
    x = e.layer_norm("LayerNorm", x + e["token_type_embeddings.weight"][segments], eps)
    x = w.linear("encoder.embedding_hidden_mapping_in", x)
    for layer in range(1 if broken("one layer in place of all") else c["num_hidden_layers"]):
        for inner in range(c["inner_group_num"]):
            h = w.under(f"encoder.albert_layer_groups.0.albert_layers.{inner}.")
            a = h.under("attention.")
            q, v = heads(a.linear("query", x), count), heads(a.linear("value", x), count)
            k = heads(a.linear("key", x, trap=False), count)  # softmax takes its bias out
            x = a.layer_norm("LayerNorm", x + a.linear("dense", attention(q, k, v, seen)), eps)
            x = h.layer_norm("full_layer_layer_norm", x + h.linear("ffn_output", gelu_tanh(h.linear("ffn", x))), eps)
    return x


def albert(c, w, case):
    p = w.under("predictions.")
    x = p.layer_norm("LayerNorm", gelu_tanh(p.linear("dense", albert_trunk(c, w, case))), c["layer_norm_eps"])
    return x @ w["albert.embeddings.word_embeddings.weight"].T + p["bias"]


def albert_tensors(c):
    """With the pooler and the head of the order of sentences."""
    d, e, ff = c["hidden_size"], c["embedding_size"], c["intermediate_size"]
    t = {
        f"albert.embeddings.{name}_embeddings.weight": table(c[rows], e)
        for name, rows in (
            ("word", "vocab_size"),
            ("position", "max_position_embeddings"),
            ("token_type", "type_vocab_size"),
        )
    }
    t |= pairs("albert.embeddings.", ("LayerNorm", norm(e), bias(e)))
    t |= pairs("albert.encoder.", ("embedding_hidden_mapping_in", linear((d, e), 1.5), bias(d)))
    for inner in range(c["inner_group_num"]):
        t |= pairs(
            f"albert.encoder.albert_layer_groups.0.albert_layers.{inner}.",
            ("attention.query", linear((d, d), 1.3), bias(d)),
            ("attention.key", linear((d, d), 1.3), bias(d)),
            ("attention.value", linear((d, d)), bias(d)),
            ("attention.dense", linear((d, d)), bias(d)),
            ("attention.LayerNorm", norm(d), bias(d)),
            ("ffn", linear((ff, d), 1.3), bias(ff)),
            ("ffn_output", linear((d, ff), 1.3), bias(d)),
            ("full_layer_layer_norm", norm(d), bias(d)),
        )
    t |= pairs("", ("albert.pooler", linear((d, d)), bias(d)), ("sop_classifier.classifier", linear((2, d)), bias(2)))
    t |= pairs("predictions.", ("dense", linear((e, d), 2), bias(e)), ("LayerNorm", norm(e), bias(e)))
    return t | {"predictions.bias": bias(c["vocab_size"])}


KINDS = "weight", "bias"


def fixture(name, tensors, forward, hidden, unread=()):
    cases = masked_cases(name, 0, name != "deberta-v3")
    return Fixture(name, tensors, forward, cases=cases, greedy=0, hidden=hidden, unread=unread)


FIXTURES = [
    fixture("electra", electra_tensors, electra, electra_trunk),
    fixture("electra-wide", electra_tensors, electra, electra_trunk),
    fixture(
        "albert",
        albert_tensors,
        albert,
        albert_trunk,
        tuple(f"{each}.{kind}" for each in ("albert.pooler", "sop_classifier.classifier") for kind in KINDS),
    ),
]
