# SPDX-License-Identifier: MIT
"""BLOOM and MPT: no positions but a bias on the scores that grows with the distance, ALiBi (Press et al. 2022)."""
import numpy as np

from blocks import alibi, attention, broken, causal, epsilon, gelu_erf, gelu_tanh, heads
from fixture import Fixture, bias, linear, norm, pairs, table, usual_cases

# --- BLOOM ----------------------------------------------------------------------------------------------------------------------


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
        x = (normed if after_norm else x) + h.linear("mlp.dense_4h_to_h", gelu_tanh(h.linear("mlp.dense_h_to_4h", normed)))
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


BLOOM_ = {
    "apply_residual_connection_post_layernorm": False, "architectures": ["BloomForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
    "eos_token_id": 2, "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 0.02, "model_type": "bloom", "n_layer": 2,
    "pad_token_id": 3, "pretraining_tp": 1, "slow_but_exact": False, "unk_token_id": 0, "use_cache": True, "vocab_size": 64,
}  # fmt: skip
# As bigscience's own files have it: n_embed, num_attention_heads, names without a prefix. Twelve heads: no power of two.
BLOOM = BLOOM_ | {"n_embed": 48, "num_attention_heads": 12, "attention_softmax_in_fp32": True, "bias_dropout_fusion": True, "masked_softmax_fusion": True, "n_inner": None, "offset_alibi": 100, "skip_bias_add": True, "skip_bias_add_qkv": False, "seq_length": 64}  # fmt: skip
# As transformers saves it today, and six heads.
BLOOM_SAVED = BLOOM_ | {"hidden_size": 36, "n_head": 6, "torch_dtype": "float16"}

# --- MPT ------------------------------------------------------------------------------------------------------------------------


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
        x = x + h.linear("attn.out_proj", attention(q, k, v, causal(n), scale, alibi(count, n, bias_max), bias_scaled=scaled))
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


# As MPT-7B's file: no eps, the key of a table of positions that ALiBi leaves out, no clipping.
MPT = {
    "architectures": ["MPTForCausalLM"],
    "attn_config": {
        "alibi": True, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention",
        "attn_uses_sequence_id": False, "clip_qkv": None, "prefix_lm": False, "qk_ln": False, "softmax_scale": None,
    },
    "d_model": 32, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4, "init_device": "cpu", "learned_pos_emb": True,
    "logit_scale": None, "max_seq_len": 64, "model_type": "mpt", "n_heads": 4, "n_layers": 2, "no_bias": True,
    "norm_type": "low_precision_layernorm", "resid_pdrop": 0, "torch_dtype": "bfloat16", "use_cache": False, "verbose": 0, "vocab_size": 64,
}  # fmt: skip
# Every key of its attention set, as transformers saves it (which leaves out what is false or nothing).
MPT_CLIP = {key: value for key, value in MPT.items() if key not in ("attn_config", "init_device", "norm_type", "verbose")} | {
    "attn_config": {"alibi": True, "alibi_bias_max": 6, "clip_qkv": 1.5, "softmax_scale": 0.7, "model_type": ""},
    "n_heads": 6, "d_model": 36, "layer_norm_epsilon": 0.02, "architectures": ["MptForCausalLM"],
}  # fmt: skip

FIXTURES = [
    Fixture("bloom", BLOOM, bloom_tensors(BLOOM), bloom, "F16", usual_cases("bloom", 64)),
    Fixture("bloom-prefixed", BLOOM_SAVED, bloom_tensors(BLOOM_SAVED, "transformer."), bloom, "F16", usual_cases("bloom-prefixed", 64)),
    Fixture("mpt", MPT, mpt_tensors(MPT), mpt, "BF16", usual_cases("mpt", 64)),
    Fixture("mpt-clip", MPT_CLIP, mpt_tensors(MPT_CLIP), mpt, "BF16", usual_cases("mpt-clip", 64)),
]
