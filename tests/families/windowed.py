# SPDX-License-Identifier: MIT
"""Phi-3 (Abdin et al. 2024) and StarCoder2 (Lozhkov et al. 2024): Llama's trunk with fused
matrices, or with LayerNorm and biases."""
import numpy as np

from blocks import attention, broken, causal, epsilon, gelu_tanh, heads, rms_norm, rotate, silu
from fixture import Fixture, bias, linear, norm, pairs, table
from rotary import gated, gated_tensors, head, llama_tensors, rope, sizes, window_of

# --- Phi-3, Phi-4-mini ----------------------------------------------------------------------------------


def phi3(c, w, case):
    n, eps, (count, shared, e) = len(case["tokens"]), epsilon(c["rms_norm_eps"]), sizes(c)
    width = int(e * c.get("partial_rotary_factor", 1.0))
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        qkv = h.linear("self_attn.qkv_proj", rms_norm(x, h["input_layernorm.weight"], eps))
        q, k, v = np.split(qkv, [count * e, (count + shared) * e], -1)
        frequencies, factor = rope(c, width, n)
        q, k = (
            rotate(heads(part, number), np.arange(n), frequencies, factor=factor)
            for part, number in ((q, count), (k, shared))
        )
        x = x + h.linear("self_attn.o_proj", attention(q, k, heads(v, shared), causal(n, window_of(c, layer))))
        gate, up = np.split(h.linear("mlp.gate_up_proj", rms_norm(x, h["post_attention_layernorm.weight"], eps)), 2, -1)
        if broken("up before gate"):
            gate, up = up, gate
        x = x + h.linear("mlp.down_proj", silu(gate) * up)
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps))


def phi3_tensors(c):
    d, ff, (count, shared, e) = c["hidden_size"], c["intermediate_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d), "model.norm.weight": norm(d)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        t |= {
            h + "self_attn.qkv_proj.weight": linear(((count + 2 * shared) * e, d), 1.3),
            h + "self_attn.o_proj.weight": linear((d, count * e)),
        }
        t |= {h + "mlp.gate_up_proj.weight": linear((2 * ff, d), 1.3), h + "mlp.down_proj.weight": linear((d, ff), 1.3)}
        t |= {h + "input_layernorm.weight": norm(d), h + "post_attention_layernorm.weight": norm(d)}
    if not c["tie_word_embeddings"]:
        t["lm_head.weight"] = linear((c["vocab_size"], d), 3)
    return t


# --- StarCoder2 -----------------------------------------------------------------------------------------


def starcoder2(c, w, case):
    n, eps, (count, shared, e) = len(case["tokens"]), epsilon(c["norm_epsilon"]), sizes(c)
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        normed = h.layer_norm("input_layernorm", x, eps)
        q, k, v = (
            heads(h.linear(f"self_attn.{name}_proj", normed), number)
            for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        frequencies, factor = rope(c, e, n)
        q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
        x = x + h.linear("self_attn.o_proj", attention(q, k, v, causal(n, window_of(c, layer))))
        x = x + h.linear(
            "mlp.c_proj", gelu_tanh(h.linear("mlp.c_fc", h.layer_norm("post_attention_layernorm", x, eps)))
        )
    return w.layer_norm("model.norm", x, eps) @ w["model.embed_tokens.weight"].T


def starcoder2_tensors(c):
    d, ff, (count, shared, e) = c["hidden_size"], c["intermediate_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name, rows, inputs, gain in (
            ("q", count * e, d, 1.3),
            ("k", shared * e, d, 1.3),
            ("v", shared * e, d, 1),
            ("o", d, count * e, 1),
        ):
            t |= pairs(h + "self_attn.", (name + "_proj", linear((rows, inputs), gain), bias(rows)))
        t |= pairs(h + "mlp.", ("c_fc", linear((ff, d), 1.3), bias(ff)), ("c_proj", linear((d, ff), 1.3), bias(d)))
        t |= pairs(h, ("input_layernorm", norm(d), bias(d)), ("post_attention_layernorm", norm(d), bias(d)))
    return t | pairs("model.", ("norm", norm(d), bias(d)))


# --- StableLM -------------------------------------------------------------------------------------------


def stablelm(c, w, case):
    n, eps, (count, shared, e) = len(case["tokens"]), epsilon(c["layer_norm_eps"]), sizes(c)
    width = e if broken("rotary positions on whole heads") else int(e * c["partial_rotary_factor"])
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        normed = h.layer_norm("input_layernorm", x, eps)
        q, k, v = (
            heads(h.linear(f"self_attn.{name}_proj", normed, trap=name != "k"), number)
            for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        frequencies, factor = rope(c, width, n)
        q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
        mixed = h.linear("self_attn.o_proj", attention(q, k, v, causal(n)))
        if c["use_parallel_residual"] != broken("use_parallel_residual the other way round"):
            x = x + mixed + gated(h.under("mlp."), normed)
        else:
            x = x + mixed
            behind = "post_attention_layernorm" if not c["use_parallel_residual"] else "input_layernorm"
            x = x + gated(h.under("mlp."), h.layer_norm(behind, x, eps))
    return head(c, w, w.layer_norm("model.norm", x, eps))


def stablelm_tensors(c):
    d, (count, shared, e) = c["hidden_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d)} | pairs("model.", ("norm", norm(d), bias(d)))
    norms = ["input_layernorm"] + ["post_attention_layernorm"] * (not c["use_parallel_residual"])
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name in norms:
            t |= pairs(h, (name, norm(d), bias(d)))
        for name, rows, gain in ("q", count * e, 1.3), ("k", shared * e, 1.3), ("v", shared * e, 1):
            t[f"{h}self_attn.{name}_proj.weight"] = linear((rows, d), gain)
            if c["use_qkv_bias"]:
                t[f"{h}self_attn.{name}_proj.bias"] = bias(rows, 0.5)
        t[h + "self_attn.o_proj.weight"] = linear((d, count * e))
        t |= gated_tensors(h + "mlp.", d, c["intermediate_size"])
    return t | {"lm_head.weight": linear((c["vocab_size"], d), 3)}


# --- ERNIE 4.5, EXAONE 4 --------------------------------------------------------------------------------


def projected(c, h, x):
    """Queries, keys and values of each head."""
    count, shared, _ = sizes(c)
    parts = ("q", count), ("k", shared), ("v", shared)
    return (heads(h.linear(f"self_attn.{name}_proj", x, trap=name != "k"), number) for name, number in parts)


def ernie4_5(c, w, case):
    """Llama with biases by use_bias, and rotary positions on adjacent pairs."""
    n, eps, e = len(case["tokens"]), epsilon(c["rms_norm_eps"]), sizes(c)[2]
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        q, k, v = projected(c, h, rms_norm(x, h["input_layernorm.weight"], eps))
        frequencies, factor = rope(c, e, n)
        q, k = (rotate(part, np.arange(n), frequencies, adjacent=True, factor=factor) for part in (q, k))
        x = x + h.linear("self_attn.o_proj", attention(q, k, v, causal(n)))
        x = x + gated(h.under("mlp."), rms_norm(x, h["post_attention_layernorm.weight"], eps))
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps))


def ernie4_5_tensors(c):
    d, ff, (count, shared, e) = c["hidden_size"], c["intermediate_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d), "model.norm.weight": norm(d)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        t |= pairs(
            h,
            ("self_attn.q_proj", linear((count * e, d), 1.3), bias(count * e)),
            ("self_attn.k_proj", linear((shared * e, d), 1.3), bias(shared * e)),
            ("self_attn.v_proj", linear((shared * e, d)), bias(shared * e)),
            ("self_attn.o_proj", linear((d, count * e)), bias(d)),
            ("mlp.gate_proj", linear((ff, d), 1.3), bias(ff)),
            ("mlp.up_proj", linear((ff, d)), bias(ff)),
            ("mlp.down_proj", linear((d, ff), 1.5), bias(d)),
        )
        t |= {h + "input_layernorm.weight": norm(d), h + "post_attention_layernorm.weight": norm(d)}
    return t


def exaone4(c, w, case):
    """Norms after the branches, and of each head's q and k; no rotary positions where there is no window."""
    n, eps, e = len(case["tokens"]), epsilon(c["rms_norm_eps"]), sizes(c)[2]
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        slides = c["layer_types"][layer] == "sliding_attention"
        q, k, v = projected(c, h, x)
        q, k = (rms_norm(part, h[f"self_attn.{name}_norm.weight"], eps) for part, name in ((q, "q"), (k, "k")))
        if slides or broken("rotary positions in every layer"):
            frequencies, factor = rope(c, e, n)
            q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
        seen = causal(n, c["sliding_window"] if slides else None)
        mixed = h.linear("self_attn.o_proj", attention(q, k, v, seen))
        x = x + rms_norm(mixed, h["post_attention_layernorm.weight"], eps)
        x = x + rms_norm(gated(h.under("mlp."), x), h["post_feedforward_layernorm.weight"], eps)
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps))


def exaone4_tensors(c):
    made = llama_tensors(c, qk_norm=True)
    return {name.replace("input_layernorm", "post_feedforward_layernorm"): shape for name, shape in made.items()}


FIXTURES = [
    Fixture("ernie4_5", ernie4_5_tensors, ernie4_5, "BF16"),
    Fixture("exaone4", exaone4_tensors, exaone4, "BF16"),
    Fixture("stablelm", stablelm_tensors, stablelm, "BF16"),
    Fixture("stablelm-parallel", stablelm_tensors, stablelm, "BF16"),
    Fixture("phi3", phi3_tensors, phi3, "BF16"),
    Fixture("phi3-longrope", phi3_tensors, phi3, "BF16"),
    Fixture("phi4-mini", phi3_tensors, phi3, "BF16"),
    Fixture("starcoder2", starcoder2_tensors, starcoder2, "BF16"),
]
