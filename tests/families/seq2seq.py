# SPDX-License-Identifier: MIT
"""T5 and Marian: an encoder, and a decoder that attends to what it makes (Raffel et al. 2020;
Junczys-Dowmunt et al. 2018)."""
import math

import numpy as np

from absolute import bart_attention, bart_attention_tensors
from blocks import attention, broken, causal, epsilon, gelu_tanh, heads, relu, rms_norm, silu, sinusoids
from fixture import Fixture, bias, linear, norm, pairs, table, tokens


def seen_by(case, queries):
    """[queries, keys of the encoder]: all that is no padding"""
    count = len(case["encoder"])
    hidden = np.array(case.get("encoder_padding", [0] * count), bool)
    if hidden.any() and broken("padding of the encoder not hidden"):
        hidden[:] = False
    return np.broadcast_to(~hidden, (queries, count))


# --- T5 -------------------------------------------------------------------------------------------------


def bucket(distance, buckets, furthest, both):
    """distance: key - query. The first half of the buckets exact, the rest logarithmic up to `furthest`."""
    first = 0
    if both:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    return first + min(
        exact + int(math.log(distance / exact) / math.log(furthest / exact) * (buckets - exact)), buckets - 1
    )


def t5_bias(c, w, n, both):
    """[heads, n, n], from the table of the first layer"""
    values = w["block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    buckets, furthest = len(values), c.get("relative_attention_max_distance", 128)
    if furthest != 128 and broken("a furthest distance of 128 in place of the file's"):
        furthest = 128
    if broken(f"buckets of {'a decoder in the encoder' if both else 'an encoder in the decoder'}"):
        both = not both
    rows = [[bucket(j - i, buckets, furthest, both) for j in range(n)] for i in range(n)]
    if broken("no relative bias"):
        values = values * 0
    return values[np.array(rows)].transpose(2, 0, 1)


def t5_attention(c, w, x, seen, bias, memory=None):
    memory = x if memory is None else memory
    q, k, v = (heads(w.linear(name, of), c["num_heads"]) for name, of in (("q", x), ("k", memory), ("v", memory)))
    scale = c["d_kv"] ** -0.5 if broken("scores scaled by 1/sqrt(e)") else 1
    return w.linear("o", attention(q, k, v, seen, scale, bias))


def t5_feed_forward(c, w, x):
    if c.get("feed_forward_proj", "relu") == "relu":
        return w.linear("wo", relu(w.linear("wi", x)))
    gate, up = ("wi_1", "wi_0") if broken("wi_0 and wi_1 exchanged") else ("wi_0", "wi_1")
    return w.linear("wo", gelu_tanh(w.linear(gate, x)) * w.linear(up, x))


def t5_stack(c, w, x, layers, seen, bias, memory=None, memory_seen=None):
    eps = epsilon(c["layer_norm_epsilon"], 1e-6)
    for layer in range(layers):
        h = w.under(f"block.{layer}.layer.")
        if layer and broken("relative bias in the first layer alone"):
            bias = bias * 0
        x = x + t5_attention(c, h.under("0.SelfAttention."), rms_norm(x, h["0.layer_norm.weight"], eps), seen, bias)
        if memory is not None:
            normed = rms_norm(x, h["1.layer_norm.weight"], eps)
            x = x + t5_attention(c, h.under("1.EncDecAttention."), normed, memory_seen, None, memory)
        last = h.under("1." if memory is None else "2.")
        x = x + t5_feed_forward(c, last.under("DenseReluDense."), rms_norm(x, last["layer_norm.weight"], eps))
    return rms_norm(x, w["final_layer_norm.weight"], eps)


def t5(c, w, case):
    table_, n, m = w["shared.weight"], len(case["tokens"]), len(case["encoder"])
    encoder, decoder = w.under("encoder."), w.under("decoder.")
    memory = t5_stack(
        c, encoder, table_[case["encoder"]], c["num_layers"], seen_by(case, m), t5_bias(c, encoder, m, True)
    )
    x = t5_stack(
        c,
        decoder,
        table_[case["tokens"]],
        c.get("num_decoder_layers", c["num_layers"]),
        causal(n),
        t5_bias(c, decoder, n, False),
        memory,
        seen_by(case, n),
    )
    if not c.get("tie_word_embeddings", True):
        return w.linear("lm_head", x)
    return x * (1 if broken("tied head not scaled by 1/sqrt(d)") else c["d_model"] ** -0.5) @ table_.T


def t5_tensors(c):
    d, inner, ff = c["d_model"], c["num_heads"] * c["d_kv"], c["d_ff"]
    gated = c.get("feed_forward_proj", "relu") != "relu"
    t = {"shared.weight": table(c["vocab_size"], d, 3.0)}  # the scaled head would make small logits of a small table
    for stack, layers in ("encoder", c["num_layers"]), ("decoder", c.get("num_decoder_layers", c["num_layers"])):
        for layer in range(layers):
            h, part = f"{stack}.block.{layer}.layer.", 0
            for kind in ["SelfAttention"] + ["EncDecAttention"] * (stack == "decoder"):
                for name, gain in ("q", 0.8), ("k", 0.8), ("v", 1.5):
                    t[f"{h}{part}.{kind}.{name}.weight"] = linear((inner, d), gain)
                t[f"{h}{part}.{kind}.o.weight"] = linear((d, inner), 2)
                t[f"{h}{part}.layer_norm.weight"] = norm(d)
                part += 1
            for name in ("wi_0", "wi_1") if gated else ("wi",):
                t[f"{h}{part}.DenseReluDense.{name}.weight"] = linear((ff, d), 1.3)
            t[f"{h}{part}.DenseReluDense.wo.weight"] = linear((d, ff), 2.5)
            t[f"{h}{part}.layer_norm.weight"] = norm(d)
        t[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = table(
            c["relative_attention_num_buckets"], c["num_heads"], 1.0
        )
        t[f"{stack}.final_layer_norm.weight"] = norm(d)
    if not c.get("tie_word_embeddings", True):
        t["lm_head.weight"] = linear((c["vocab_size"], d), 3)
    return t


# --- Marian ---------------------------------------------------------------------------------------------


def marian(c, w, case):
    n, m, d = len(case["tokens"]), len(case["encoder"]), c["d_model"]
    rows = w["model.shared.weight"]
    scale = d**0.5 if c["scale_embedding"] and not broken("embedding not scaled") else 1
    first = 2 if broken("positions from 2 in place of 0") else 0

    def embedded(ids):
        return rows[ids] * scale + sinusoids(np.arange(first, first + len(ids)), d)

    memory, seen = embedded(case["encoder"]), seen_by(case, m)
    for layer in range(c["encoder_layers"]):
        memory = marian_layer(c, w.under(f"model.encoder.layers.{layer}."), memory, c["encoder_attention_heads"], seen)
    x, seen = embedded(case["tokens"]), seen_by(case, n)
    for layer in range(c["decoder_layers"]):
        x = marian_layer(
            c, w.under(f"model.decoder.layers.{layer}."), x, c["decoder_attention_heads"], causal(n), memory, seen
        )
    added = 0 if broken("final_logits_bias left out") else w["final_logits_bias"]
    return x @ rows.T + added


def marian_layer(c, h, x, count, seen, memory=None, memory_seen=None):
    """norm(x + f(x)) each time"""

    def half(name, x, y):
        if broken("norms before, not behind"):
            return x + h.layer_norm(name, y, 1e-5)
        return h.layer_norm(name, x + y, 1e-5)

    x = half("self_attn_layer_norm", x, bart_attention(h.under("self_attn."), x, count, seen))
    if memory is not None:
        x = half("encoder_attn_layer_norm", x, bart_attention(h.under("encoder_attn."), x, count, memory_seen, memory))
    return half("final_layer_norm", x, h.linear("fc2", silu(h.linear("fc1", x))))


def marian_tensors(c):
    d, t = c["d_model"], {
        "model.shared.weight": table(c["vocab_size"], c["d_model"], 0.3),
        "final_logits_bias": ((1, c["vocab_size"]), 0.0, 0.5),
    }
    for stack, layers, ff in ("encoder", c["encoder_layers"], c["encoder_ffn_dim"]), (
        "decoder",
        c["decoder_layers"],
        c["decoder_ffn_dim"],
    ):
        for layer in range(layers):
            h = f"model.{stack}.layers.{layer}."
            for kind in ["self_attn"] + ["encoder_attn"] * (stack == "decoder"):
                t |= bart_attention_tensors(f"{h}{kind}.", d) | pairs(h, (kind + "_layer_norm", norm(d), bias(d)))
            t |= pairs(
                h,
                ("fc1", linear((ff, d), 1.3), bias(ff)),
                ("fc2", linear((d, ff), 1.3), bias(d)),
                ("final_layer_norm", norm(d), bias(d)),
            )
    return t


def translation_cases(key, start, end, pad):
    """The decoder begins with its start token; the third case has padding behind the encoder's tokens."""

    def some(name, count):
        return tokens(f"{key}/{name}", count, 62)

    padded = some("padded", 9) + [end]
    return [
        {"encoder": some("source", 8) + [end], "tokens": [start] + some("short", 5)},
        {"encoder": some("long source", 39) + [end], "tokens": [start] + some("long", 27), "last": 3},
        {
            "encoder": padded + [pad] * 5,
            "encoder_padding": [0] * 10 + [1] * 5,
            "tokens": [start] + some("of padded", 5),
        },
    ]


# In the first checkpoints: a table for the attention between decoder and encoder, which nothing uses.
T5_UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"

FIXTURES = [
    Fixture(
        "t5",
        lambda c: t5_tensors(c) | {T5_UNUSED: table(32, 4, 1.0)},
        t5,
        cases=translation_cases("t5", 0, 1, 0),
        unread=("decoder.block.N.layer.N.EncDecAttention.relative_attention_bias.weight",),
    ),
    Fixture("t5-gated", t5_tensors, t5, cases=translation_cases("t5-gated", 0, 1, 0)),
    Fixture("t5-flan", t5_tensors, t5, cases=translation_cases("t5-flan", 0, 1, 0)),
    Fixture("marian", marian_tensors, marian, cases=translation_cases("marian", 63, 0, 63)),
]
