# SPDX-License-Identifier: MIT
"""BLOOM and MPT: no positions but a bias on the scores that grows with the distance, ALiBi (Press et al. 2022)."""
import numpy as np

from blocks import alibi, attention, broken, causal, epsilon, gelu_erf, gelu_tanh, heads
from fixture import Fixture, bias, linear, norm, pairs, table

# --- BLOOM ----------------------------------------------------------------------------------------------


def split_by_head(qkv, count):
    """[n, 3d], q, k and v of the first head, then those of the second ... -> three of [n, heads, e]"""
    if broken("q, k and v one after the other, not in turn for each head"):
        return [heads(part, count) for part in np.split(qkv, 3, -1)]
    parts = qkv.reshape(len(qkv), count, 3, -1)
    return [parts[:, :, i] for i in range(3)]


def bloom(c, w, case):
    if "transformer.ln_f.weight" in w:
        w = w.under("transformer.")
    n, eps = len(case["tokens"]), epsilon(c["layer_norm_epsilon"])
    count = c.get("n_head") or c["num_attention_heads"]
    x = w["word_embeddings.weight"][case["tokens"]]
    if not broken("no norm after the embedding"):
        x = w.layer_norm("word_embeddings_layernorm", x, eps)
    for layer in range(c["n_layer"]):
        h = w.under(f"h.{layer}.")
        normed = h.layer_norm("input_layernorm", x, eps)
        q, k, v = split_by_head(h.linear("self_attention.query_key_value", normed), count)
        mixed = attention(q, k, v, causal(n), bias=alibi(count, n), bias_scaled=broken("ALiBi scaled with the scores"))
        after_norm = c["apply_residual_connection_post_layernorm"]
        x = (normed if after_norm else x) + h.linear("self_attention.dense", mixed)
        normed = h.layer_norm("post_attention_layernorm", x, eps)
        x = (normed if after_norm else x) + h.linear(
            "mlp.dense_4h_to_h", gelu_tanh(h.linear("mlp.dense_h_to_4h", normed))
        )
    return w.layer_norm("ln_f", x, eps) @ w["word_embeddings.weight"].T


def bloom_tensors(c, prefix=""):
    d = c.get("hidden_size") or c["n_embed"]
    t = {prefix + "word_embeddings.weight": table(c["vocab_size"], d)}
    t |= pairs(prefix, ("word_embeddings_layernorm", norm(d), bias(d)), ("ln_f", norm(d), bias(d)))
    for layer in range(c["n_layer"]):
        t |= pairs(
            f"{prefix}h.{layer}.",
            ("input_layernorm", norm(d), bias(d)),
            ("self_attention.query_key_value", linear((3 * d, d), 1.5), bias(3 * d)),
            ("self_attention.dense", linear((d, d), 0.7), bias(d)),
            ("post_attention_layernorm", norm(d), bias(d)),
            ("mlp.dense_h_to_4h", linear((4 * d, d), 1.3), bias(4 * d)),
            ("mlp.dense_4h_to_h", linear((d, 4 * d), 1.3), bias(d)),
        )
    return t


# --- MPT ------------------------------------------------------------------------------------------------


def mpt(c, w, case):
    w, a = w.under("transformer."), c["attn_config"]
    n, count = len(case["tokens"]), c["n_heads"]
    bias_max = a["alibi_bias_max"]
    if bias_max != 8 and broken("alibi_bias_max 8 in place of the file's"):
        bias_max = 8
    eps = epsilon(c["layer_norm_epsilon"]) if "layer_norm_epsilon" in c else 1e-5
    x = w["wte.weight"][case["tokens"]]
    for layer in range(c["n_layers"]):
        h = w.under(f"blocks.{layer}.")
        qkv = h.linear("attn.Wqkv", h.layer_norm("norm_1", x, eps))
        if a.get("clip_qkv") and not broken("q, k and v not clipped"):
            qkv = np.clip(qkv, -a["clip_qkv"], a["clip_qkv"])
        q, k, v = three(qkv, count)
        scale = None if a.get("softmax_scale") is None or broken("softmax_scale not read") else a["softmax_scale"]
        scaled = broken("ALiBi scaled with the scores")
        x = x + h.linear(
            "attn.out_proj", attention(q, k, v, causal(n), scale, alibi(count, n, bias_max), bias_scaled=scaled)
        )
        x = x + h.linear("ffn.down_proj", gelu_erf(h.linear("ffn.up_proj", h.layer_norm("norm_2", x, eps))))
    return w.layer_norm("norm_f", x, eps) @ w["wte.weight"].T


def three(qkv, count):
    if broken("q, k and v in turn for each head, not one after the other"):
        parts = qkv.reshape(len(qkv), count, 3, -1)
        return [parts[:, :, i] for i in range(3)]
    return [heads(part, count) for part in np.split(qkv, 3, -1)]


def mpt_tensors(c):
    d, t = c["d_model"], {"transformer.wte.weight": table(c["vocab_size"], c["d_model"])}
    for layer in range(c["n_layers"]):
        h = f"transformer.blocks.{layer}."
        t |= {h + "norm_1.weight": norm(d), h + "norm_2.weight": norm(d)}
        t |= {h + "attn.Wqkv.weight": linear((3 * d, d), 1.5), h + "attn.out_proj.weight": linear((d, d), 0.7)}
        wide = c["expansion_ratio"] * d
        t |= {h + "ffn.up_proj.weight": linear((wide, d), 1.3), h + "ffn.down_proj.weight": linear((d, wide), 1.3)}
    return t | {"transformer.norm_f.weight": norm(d)}


FIXTURES = [
    Fixture("bloom", bloom_tensors, bloom),
    Fixture("bloom-prefixed", lambda c: bloom_tensors(c, "transformer."), bloom),
    Fixture("mpt", mpt_tensors, mpt, "BF16"),
    Fixture("mpt-clip", mpt_tensors, mpt, "BF16"),
]
