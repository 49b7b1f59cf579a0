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


# --- DeBERTa --------------------------------------------------------------------------------------------


def distances(c, n):
    """[n, n]: i - j, or its bucket: as it is up to half of the buckets, then logarithmically up to the furthest."""
    d = np.arange(n)[:, None] - np.arange(n)[None, :]
    furthest = c["max_relative_positions"] if c["max_relative_positions"] > 0 else c["max_position_embeddings"]
    if c.get("position_buckets", -1) < 1 or broken("no buckets of distances"):
        return d, furthest if c.get("position_buckets", -1) < 1 else c["position_buckets"]
    half = c["position_buckets"] // 2
    far = np.log(np.maximum(np.abs(d), half) / half) / np.log((furthest - 1) / half) * (half - 1)
    far = half + np.ceil(far - 1e-9).astype(int)
    return np.where(np.abs(d) <= half, d, np.sign(d) * far), c["position_buckets"]


def disentangled(c, a, x, table, seen):
    """softmax of (q_i k_j + q_i K[r(i, j)] + k_j Q[r(i, j)]) / sqrt(e terms), with K and Q of the table's rows."""
    n, count, terms = len(x), c["num_attention_heads"], c["pos_att_type"]
    r, span = distances(c, n)
    rows = np.clip(r + span, 0, 2 * span - 1)
    q, k, v = (heads(a.linear(f"{name}_proj", x), count) for name in ("query", "key", "value"))
    own = "" if c.get("share_att_key") else "pos_"
    scores, parts = np.einsum("ihe,jhe->hij", q, k), 1
    if "c2p" in terms:
        to = heads(a.linear(own + "key_proj", table, trap=not own), count)  # softmax takes its own bias out
        scores = scores + np.einsum("ihe,ijhe->hij", q, to[rows])
        parts += 1
    if "p2c" in terms:
        back = np.clip(-r + span, 0, 2 * span - 1) if broken("p2c by the distance from the key") else rows
        of = heads(a.linear(own + "query_proj", table), count)
        scores = scores + np.einsum("jhe,ijhe->hij", k, of[back])
        parts += 1
    if broken("terms not counted in the scale"):
        parts = 1
    scores = np.where(seen[None], scores / (q.shape[-1] * parts) ** 0.5, -np.inf)
    Seen.scores += [float(np.std(row[np.isfinite(row)])) for row in scores.reshape(-1, n)]
    return np.einsum("hij,jhe->ihe", softmax(scores), v).reshape(n, -1)


def deberta_trunk(c, outer, case):
    w, eps, seen = outer.under("deberta."), epsilon(c["layer_norm_eps"], 1e-7), visible(case)
    e, table = w.under("embeddings."), w["encoder.rel_embeddings.weight"]
    x = e["word_embeddings.weight"][case["tokens"]]
    if c["position_biased_input"]:
        x = x + e["position_embeddings.weight"][bert_positions(c, case)]
    if c["type_vocab_size"]:
        x = x + e["token_type_embeddings.weight"][np.array(case.get("segments", [0] * len(x)))]
    x = e.layer_norm("LayerNorm", x, eps)
    if c["norm_rel_ebd"] == "layer_norm" and not broken("the table not normalised"):
        table = w.layer_norm("encoder.LayerNorm", table, eps)
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"encoder.layer.{layer}.")
        mixed = disentangled(c, h.under("attention.self."), x, table, seen)
        x = h.layer_norm("attention.output.LayerNorm", x + h.linear("attention.output.dense", mixed), eps)
        inner = gelu_erf(h.linear("intermediate.dense", x))
        x = h.layer_norm("output.LayerNorm", x + h.linear("output.dense", inner), eps)
    return x


def deberta(c, w, case):
    old = c.get("legacy", True)
    p = w.under("cls.predictions." if old else "lm_predictions.lm_head.")
    inner = "transform." if old else ""
    x = p.layer_norm(
        inner + "LayerNorm", gelu_erf(p.linear(inner + "dense", deberta_trunk(c, w, case))), c["layer_norm_eps"]
    )
    return x @ w["deberta.embeddings.word_embeddings.weight"].T + p["bias"]


def deberta_tensors(c):
    """With the table of positions even if it is not in use, as published files have it."""
    d, names = c["hidden_size"], {"query": "query_proj", "key": "key_proj", "value": "value_proj"}
    t = {}
    for name, made in trunk_tensors(c | {"type_vocab_size": c["type_vocab_size"] or 1}, "deberta.").items():
        part = name.split(".")[-2]
        if "token_type" not in name or c["type_vocab_size"]:
            t[name.replace(f".{part}.", f".{names.get(part, part)}.")] = made
    rows = c["position_buckets"] if c.get("position_buckets", -1) > 0 else c["max_relative_positions"]
    t["deberta.encoder.rel_embeddings.weight"] = table(2 * rows, d)
    if c["norm_rel_ebd"] == "layer_norm":
        t |= pairs("deberta.encoder.", ("LayerNorm", norm(d), bias(d)))
    for layer in range(c["num_hidden_layers"]):
        for name, term in ("pos_key_proj", "c2p"), ("pos_query_proj", "p2c"):
            if not c.get("share_att_key") and term in c["pos_att_type"]:
                t |= pairs(f"deberta.encoder.layer.{layer}.attention.self.", (name, linear((d, d), 1.3), bias(d)))
    p = "cls.predictions.transform." if c.get("legacy", True) else "lm_predictions.lm_head."
    t |= pairs(p, ("dense", linear((d, d), 2), bias(d)), ("LayerNorm", norm(d), bias(d)))
    return t | {p.replace("transform.", "") + "bias": bias(c["vocab_size"])}


KINDS = "weight", "bias"


def fixture(name, tensors, forward, hidden, unread=()):
    cases = masked_cases(name, 0, name != "deberta-v3")
    return Fixture(name, tensors, forward, cases=cases, greedy=0, hidden=hidden, unread=unread)


FIXTURES = [
    fixture(
        "deberta-v3", deberta_tensors, deberta, deberta_trunk, ("deberta.embeddings.position_embeddings.weight",)
    ),
    fixture("deberta-v2", deberta_tensors, deberta, deberta_trunk),
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
