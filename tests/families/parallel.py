# SPDX-License-Identifier: MIT
"""Attention and feed-forward part side by side: GPT-NeoX (Black et al. 2022), GPT-J (Wang & Komatsuzaki
2021), Phi (Li et al. 2023), Falcon (Almazrouei et al. 2023), Cohere and Cohere2; and those of their
variants that put one behind the other.
"""
import numpy as np

from alibi import split_by_head
from blocks import (
    alibi,
    attention,
    broken,
    causal,
    epsilon,
    gelu_erf,
    gelu_tanh,
    heads,
    layer_norm,
    rotate,
    rope_frequencies,
)
from fixture import Fixture, bias, linear, norm, pairs, table
from rotary import gated, gated_tensors, rope, sizes


def turned(q, k, c, width, adjacent=False):
    """q and k rotated over their first `width` dimensions"""
    frequencies, factor = rope(c, width, len(q))
    return (rotate(part, np.arange(len(part)), frequencies, adjacent, factor) for part in (q, k))


def rotary_width(e, fraction):
    return e if broken("rotary positions on whole heads") else int(e * fraction)


# --- GPT-NeoX, Pythia -----------------------------------------------------------------------------------


def gpt_neox(c, outer, case):
    w = outer.under("gpt_neox.")
    n, eps, count = len(case["tokens"]), epsilon(c["layer_norm_eps"]), c["num_attention_heads"]
    width = rotary_width(c["hidden_size"] // count, c["rotary_pct"])
    positions = {"rope_theta": c["rotary_emb_base"]}
    x = w["embed_in.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"layers.{layer}.")
        q, k, v = split_by_head(h.linear("attention.query_key_value", h.layer_norm("input_layernorm", x, eps)), count)
        q, k = turned(q, k, positions, width)
        mixed = h.linear("attention.dense", attention(q, k, v, causal(n)))
        side = c["use_parallel_residual"] != broken("use_parallel_residual the other way round")
        normed = h.layer_norm("post_attention_layernorm", x if side else x + mixed, eps)
        x = x + mixed + h.linear("mlp.dense_4h_to_h", gelu_erf(h.linear("mlp.dense_h_to_4h", normed)))
    return outer.linear("embed_out", w.layer_norm("final_layer_norm", x, eps))


def gpt_neox_tensors(c, buffers=False):
    d, ff, t = (
        c["hidden_size"],
        c["intermediate_size"],
        {"gpt_neox.embed_in.weight": table(c["vocab_size"], c["hidden_size"])},
    )
    for layer in range(c["num_hidden_layers"]):
        h = f"gpt_neox.layers.{layer}."
        t |= pairs(h, ("input_layernorm", norm(d), bias(d)), ("post_attention_layernorm", norm(d), bias(d)))
        t |= pairs(
            h,
            ("attention.query_key_value", linear((3 * d, d), 1.3), bias(3 * d)),
            ("attention.dense", linear((d, d)), bias(d)),
        )
        t |= pairs(
            h,
            ("mlp.dense_h_to_4h", linear((ff, d), 1.3), bias(ff)),
            ("mlp.dense_4h_to_h", linear((d, ff), 1.3), bias(d)),
        )
        if buffers:
            size = c["max_position_embeddings"]
            t[h + "attention.bias"] = np.tril(np.ones((1, 1, size, size), np.uint8))
            t[h + "attention.masked_bias"] = np.array(-1e9, np.float32)
            t[h + "attention.rotary_emb.inv_freq"] = rope_frequencies(
                int(d // c["num_attention_heads"] * c["rotary_pct"]), c["rotary_emb_base"]
            ).astype(np.float32)
    t |= pairs("gpt_neox.", ("final_layer_norm", norm(d), bias(d)))
    return t | {"embed_out.weight": linear((c["vocab_size"], d), 3)}


NEOX_BUFFERS = (
    "gpt_neox.layers.N.attention.bias",
    "gpt_neox.layers.N.attention.masked_bias",
    "gpt_neox.layers.N.attention.rotary_emb.inv_freq",
)

# --- GPT-J ----------------------------------------------------------------------------------------------


def gptj(c, w, case):
    n, eps, count = len(case["tokens"]), epsilon(c["layer_norm_epsilon"]), c["n_head"]
    width = c["n_embd"] // count if broken("rotary positions on whole heads") else c["rotary_dim"]
    x = w["transformer.wte.weight"][case["tokens"]]
    for layer in range(c["n_layer"]):
        h = w.under(f"transformer.h.{layer}.")
        normed = h.layer_norm("ln_1", x, eps)
        q, k, v = (heads(h.linear(f"attn.{name}_proj", normed), count) for name in "qkv")
        q, k = turned(q, k, {"rope_theta": 10000}, width, adjacent=True)
        mixed = h.linear("attn.out_proj", attention(q, k, v, causal(n)))
        if broken("feed-forward part behind the attention"):
            normed = h.layer_norm("ln_1", x + mixed, eps)
        x = x + mixed + h.linear("mlp.fc_out", gelu_tanh(h.linear("mlp.fc_in", normed)))
    return w.linear("lm_head", w.layer_norm("transformer.ln_f", x, eps))


def gptj_tensors(c):
    d, ff, t = (
        c["n_embd"],
        c["n_inner"] or 4 * c["n_embd"],
        {"transformer.wte.weight": table(c["vocab_size"], c["n_embd"])},
    )
    for layer in range(c["n_layer"]):
        h = f"transformer.h.{layer}."
        t |= pairs(
            h,
            ("ln_1", norm(d), bias(d)),
            ("mlp.fc_in", linear((ff, d), 1.3), bias(ff)),
            ("mlp.fc_out", linear((d, ff), 1.3), bias(d)),
        )
        for name, gain in ("q", 1.3), ("k", 1.3), ("v", 1), ("out", 1):
            t[f"{h}attn.{name}_proj.weight"] = linear((d, d), gain)
    t |= pairs("transformer.", ("ln_f", norm(d), bias(d)))
    return t | pairs("", ("lm_head", linear((c["vocab_size"], d), 3), bias(c["vocab_size"], 1.0)))


# --- Phi 1, 1.5 and 2 -----------------------------------------------------------------------------------


def phi(c, w, case):
    n, eps, (count, shared, e) = len(case["tokens"]), epsilon(c["layer_norm_eps"]), sizes(c)
    width = rotary_width(e, c["partial_rotary_factor"])
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        normed = h.layer_norm("input_layernorm", x, eps)
        q, k, v = (
            heads(h.linear(f"self_attn.{name}_proj", normed), number)
            for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        q, k = turned(q, k, c, width)
        mixed = h.linear("self_attn.dense", attention(q, k, v, causal(n)))
        if broken("feed-forward part behind the attention"):
            normed = h.layer_norm("input_layernorm", x + mixed, eps)
        x = x + mixed + h.linear("mlp.fc2", gelu_tanh(h.linear("mlp.fc1", normed)))
    return w.linear("lm_head", w.layer_norm("model.final_layernorm", x, eps))


def phi_tensors(c):
    d, ff, t = (
        c["hidden_size"],
        c["intermediate_size"],
        {"model.embed_tokens.weight": table(c["vocab_size"], c["hidden_size"])},
    )
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        t |= pairs(
            h,
            ("input_layernorm", norm(d), bias(d)),
            ("mlp.fc1", linear((ff, d), 1.3), bias(ff)),
            ("mlp.fc2", linear((d, ff), 1.3), bias(d)),
        )
        for name, gain in ("q_proj", 1.3), ("k_proj", 1.3), ("v_proj", 1), ("dense", 1):
            t |= pairs(h + "self_attn.", (name, linear((d, d), gain), bias(d)))
    t |= pairs("model.", ("final_layernorm", norm(d), bias(d)))
    return t | pairs("", ("lm_head", linear((c["vocab_size"], d), 3), bias(c["vocab_size"], 1.0)))


# --- Falcon ---------------------------------------------------------------------------------------------


def falcon_split(c, qkv):
    """The three ways in which query_key_value lies -> q, k, v [n, heads, e]"""
    count, e = c["num_attention_heads"], c["hidden_size"] // c["num_attention_heads"]
    if c["new_decoder_architecture"] and not broken("all queries first, not a group's queries, its key, its value"):
        groups = qkv.reshape(len(qkv), c["num_kv_heads"], -1, e)
        return groups[:, :, :-2].reshape(len(qkv), count, e), groups[:, :, -2], groups[:, :, -1]
    if c["new_decoder_architecture"] or c["multi_query"]:
        shared = c["num_kv_heads"] if c["new_decoder_architecture"] else 1
        q, k, v = np.split(qkv, [count * e, (count + shared) * e], -1)
        return heads(q, count), heads(k, shared), heads(v, shared)
    return split_by_head(qkv, count)


def falcon(c, w, case):
    n, eps, count = len(case["tokens"]), epsilon(c["layer_norm_epsilon"]), c["num_attention_heads"]
    e, t = c["hidden_size"] // count, w.under("transformer.")
    slopes = alibi(count, n) if c["alibi"] else None
    x = t["word_embeddings.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = t.under(f"h.{layer}.")
        normed = beside = h.layer_norm("ln_attn" if c["new_decoder_architecture"] else "input_layernorm", x, eps)
        q, k, v = falcon_split(c, h.linear("self_attention.query_key_value", normed))
        if not c["alibi"]:
            q, k = turned(q, k, {"rope_theta": c.get("rope_theta", 10000.0)}, e)
        scaled = c["alibi"] and not broken("ALiBi not scaled with the scores")
        mixed = h.linear("self_attention.dense", attention(q, k, v, causal(n), bias=slopes, bias_scaled=scaled))
        if c["new_decoder_architecture"]:
            beside = h.layer_norm("ln_mlp", x, eps)
        elif not c["parallel_attn"]:
            beside = h.layer_norm("post_attention_layernorm", x + mixed, eps)
        x = x + mixed + h.linear("mlp.dense_4h_to_h", gelu_erf(h.linear("mlp.dense_h_to_4h", beside)))
    return t.layer_norm("ln_f", x, eps) @ t["word_embeddings.weight"].T


def falcon_tensors(c):
    d, count = c["hidden_size"], c["num_attention_heads"]
    e = d // count
    shared = c["num_kv_heads"] if c["new_decoder_architecture"] else 1 if c["multi_query"] else count
    norms = (
        ["ln_attn", "ln_mlp"]
        if c["new_decoder_architecture"]
        else ["input_layernorm"] + ["post_attention_layernorm"] * (not c["parallel_attn"])
    )
    t = {"transformer.word_embeddings.weight": table(c["vocab_size"], d)} | pairs(
        "transformer.", ("ln_f", norm(d), bias(d))
    )
    for layer in range(c["num_hidden_layers"]):
        h = f"transformer.h.{layer}."
        for name in norms:
            t |= pairs(h, (name, norm(d), bias(d)))
        for name, outputs, inputs, gain in (
            ("self_attention.query_key_value", (count + 2 * shared) * e, d, 1.3),
            ("self_attention.dense", d, d, 1),
            ("mlp.dense_h_to_4h", 4 * d, d, 1.3),
            ("mlp.dense_4h_to_h", d, 4 * d, 1.3),
        ):
            t[f"{h}{name}.weight"] = linear((outputs, inputs), gain)
            if c["bias"]:
                t[f"{h}{name}.bias"] = bias(outputs)
    return t


# --- Cohere: Command R, Aya 23; Cohere2: Command R7B -----------------------------------------------------


def cohere(c, w, case, local=None):
    """local: of Cohere2, whether a layer has rotary positions and a window, or neither."""
    n, eps, (count, shared, e) = len(case["tokens"]), epsilon(c["layer_norm_eps"]), sizes(c)
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        normed = layer_norm(x, h["input_layernorm.weight"], eps=eps)
        q, k, v = (
            heads(h.linear(f"self_attn.{name}_proj", normed), number)
            for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        if local is None or local(layer) or broken("rotary positions in every layer"):
            q, k = turned(q, k, c, e, adjacent=True)
        window = None
        if local is not None and (local(layer) or broken("window in every layer")):
            window = c["sliding_window"]
        mixed = h.linear("self_attn.o_proj", attention(q, k, v, causal(n, window)))
        if broken("feed-forward part behind the attention"):
            normed = layer_norm(x + mixed, h["input_layernorm.weight"], eps=eps)
        x = x + mixed + gated(h.under("mlp."), normed)
    logits = layer_norm(x, w["model.norm.weight"], eps=eps) @ w["model.embed_tokens.weight"].T
    return logits * (1 if broken("logit_scale left out") else c["logit_scale"])


def cohere2(c, w, case):
    return cohere(c, w, case, lambda layer: (layer + 1) % c["sliding_window_pattern"] != 0)


def cohere_tensors(c):
    d, ff, (count, shared, e) = c["hidden_size"], c["intermediate_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d, 2.0), "model.norm.weight": norm(d)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name, shape, gain in (
            ("q", (count * e, d), 1.3),
            ("k", (shared * e, d), 1.3),
            ("v", (shared * e, d), 1),
            ("o", (d, count * e), 1),
        ):
            t[f"{h}self_attn.{name}_proj.weight"] = linear(shape, gain)
            if c["attention_bias"]:
                t[f"{h}self_attn.{name}_proj.bias"] = bias(shape[0], 0.5)
        t |= gated_tensors(h + "mlp.", d, ff) | {h + "input_layernorm.weight": norm(d)}
    return t


FIXTURES = [
    Fixture("gpt-neox", lambda c: gpt_neox_tensors(c, True), gpt_neox, unread=NEOX_BUFFERS),
    Fixture("gpt-neox-sequential", gpt_neox_tensors, gpt_neox),
    Fixture("gptj", gptj_tensors, gptj),
    Fixture("phi", phi_tensors, phi),
    Fixture(
        "falcon",
        lambda c: falcon_tensors(c) | {"lm_head.weight": "transformer.word_embeddings.weight"},
        falcon,
        "BF16",
        unread=("lm_head.weight",),
    ),
    Fixture("falcon-new", falcon_tensors, falcon, "BF16"),
    Fixture("falcon-alibi", falcon_tensors, falcon, "BF16"),
    Fixture("cohere", cohere_tensors, cohere),
    Fixture("cohere2", cohere_tensors, cohere2, "BF16"),
]
