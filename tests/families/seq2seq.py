# SPDX-License-Identifier: MIT
"""T5, BART, Marian, mBART and M2M100: an encoder, and a decoder that attends to its output (Raffel et al. 2020;
Junczys-Dowmunt et al. 2018)."""
import math

import numpy as np

from absolute import activation as relu_or_gelu
from absolute import bart_attention, bart_attention_tensors
from blocks import attention, broken, causal, epsilon, gelu_erf, gelu_tanh, heads, relu, rms_norm, silu, sinusoids
from dense import dense, vectors_of
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


# --- sentence-t5 (Ni et al. 2021): the encoder alone, the mean of its states, a matrix --------------------


def sentence_t5_trunk(c, w, case):
    n, encoder = len(case["tokens"]), w.under("encoder.")
    everything, bias_ = np.ones((n, n), bool), t5_bias(c, encoder, n, True)
    return t5_stack(c, encoder, w["shared.weight"][case["tokens"]], c["num_layers"], everything, bias_)


def sentence_t5(c, w, case):
    return vectors_of(case, lambda text: dense(w, "2_Dense/", sentence_t5_trunk(c, w, {"tokens": text}).mean(0)))


def sentence_t5_tensors(c):
    t = {name: made for name, made in t5_tensors(c).items() if not name.startswith("decoder.")}
    return t | {"2_Dense/linear.weight": linear((24, c["d_model"]), 1.5)}


# --- BART and its descendants ---------------------------------------------------------------------------


def bart(c, w, case):
    """BART, and by model_type Marian, mBART and M2M100. Each norm stands behind its half, or before it."""
    kind, n, m, d = c["model_type"], len(case["tokens"]), len(case["encoder"]), c["d_model"]
    learned, before = kind in ("bart", "mbart"), kind in ("mbart", "m2m_100")
    rows = w["model.shared.weight"]
    scale = d**0.5 if c["scale_embedding"] and not broken("embedding not scaled") else 1
    right, wrong = (0, 2) if kind == "marian" else (2, 0)
    first = wrong if broken(f"positions from {wrong} in place of {right}") else right

    def embedded(s, ids):
        at = np.arange(first, first + len(ids))
        x = rows[ids] * scale + (
            s["embed_positions.weight"][at] if learned else sinusoids(at, d, last=kind == "m2m_100")
        )
        return s.layer_norm("layernorm_embedding", x, 1e-5) if learned else x

    def through(stack, x, count, seen, memory=None, memory_seen=None):
        s = w.under(f"model.{stack}.")
        x = embedded(s, x)
        for layer in range(c[f"{stack}_layers"]):
            h = s.under(f"layers.{layer}.")
            x = bart_layer(c, h, before, x, count, seen, memory, memory_seen)
        return s.layer_norm("layer_norm", x, 1e-5) if before else x

    seen = seen_by(case, m)
    memory = through("encoder", case["encoder"], c["encoder_attention_heads"], seen)
    x = through("decoder", case["tokens"], c["decoder_attention_heads"], causal(n), memory, seen_by(case, n))
    added = 0 if kind == "m2m_100" or broken("final_logits_bias left out") else w["final_logits_bias"]
    return x @ rows.T + added


def bart_layer(c, h, before, x, count, seen, memory=None, memory_seen=None):
    before = before != broken("norms behind, not before" if before else "norms before, not behind")
    activation = {"gelu": gelu_erf, "relu": relu_or_gelu, "swish": silu}[c["activation_function"]]

    def half(name, x, f):
        if before:
            return x + f(h.layer_norm(name, x, 1e-5))
        return h.layer_norm(name, x + f(x), 1e-5)

    x = half("self_attn_layer_norm", x, lambda y: bart_attention(h.under("self_attn."), y, count, seen))
    if memory is not None:
        cross = h.under("encoder_attn.")
        x = half("encoder_attn_layer_norm", x, lambda y: bart_attention(cross, y, count, memory_seen, memory))
    return half("final_layer_norm", x, lambda y: h.linear("fc2", activation(h.linear("fc1", y))))


def bart_tensors(c):
    kind, d = c["model_type"], c["d_model"]
    before = kind in ("mbart", "m2m_100")
    t = {"model.shared.weight": table(c["vocab_size"], d, 0.1 if before else 0.3)}
    if kind != "m2m_100":
        t["final_logits_bias"] = ((1, c["vocab_size"]), 0.0, 0.5)
    for stack in "encoder", "decoder":
        s, ff = f"model.{stack}.", c[f"{stack}_ffn_dim"]
        if kind in ("bart", "mbart"):
            t[s + "embed_positions.weight"] = table(c["max_position_embeddings"] + 2, d)
            t |= pairs(s, ("layernorm_embedding", norm(d), bias(d)))
        for layer in range(c[f"{stack}_layers"]):
            h = f"{s}layers.{layer}."
            for part in ["self_attn"] + ["encoder_attn"] * (stack == "decoder"):
                t |= bart_attention_tensors(f"{h}{part}.", d) | pairs(h, (part + "_layer_norm", norm(d), bias(d)))
            t |= pairs(
                h,
                ("fc1", linear((ff, d), 1.3), bias(ff)),
                ("fc2", linear((d, ff), 1.3), bias(d)),
                ("final_layer_norm", norm(d), bias(d)),
            )
        if before:  # the tied head is as small as the embedding, lest each token repeat itself
            t |= pairs(s, ("layer_norm", norm(d, 5.0), bias(d)))
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


def forced_cases(key, source, target):
    """The same between a token in front of the encoder's and one that the decoder has to write first."""
    cases = translation_cases(key, 2, 2, 1)
    for case in cases:
        case["encoder"].insert(0, source)
        case["tokens"].insert(1, target)
    cases[0]["tokens"] = [2, target]
    cases[2]["encoder_padding"].insert(0, 0)
    if key == "mbart":  # its first models begin with the target, and read the source last
        ids = tokens("mbart/first-text", 12, 62)
        cases.append({"encoder": ids[:7] + [2, source], "tokens": [target] + ids[7:]})
    return cases


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
    Fixture("sentence-t5", sentence_t5_tensors, sentence_t5, greedy=0, hidden=sentence_t5_trunk),
    Fixture("marian", bart_tensors, bart, cases=translation_cases("marian", 63, 0, 63)),
    # With numbers of which not every text repeats one token.
    Fixture("bart", bart_tensors, bart, cases=forced_cases("bart", 0, 0), seed="bart/9"),
    # 62 and 63 are languages.
    Fixture("mbart", bart_tensors, bart, cases=forced_cases("mbart", 62, 63), seed="mbart/16"),
    Fixture("m2m-100", bart_tensors, bart, cases=forced_cases("m2m-100", 62, 63), seed="m2m-100/51"),
]
