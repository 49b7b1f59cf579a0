# SPDX-License-Identifier: MIT
"""GPT-2, OPT and XGLM: positions are added to the embedding (Radford et al. 2019; Zhang et al. 2022;
Lin et al. 2021)."""
import numpy as np

from blocks import attention, broken, causal, epsilon, gelu_erf, gelu_tanh, heads, relu, sinusoids
from fixture import Fixture, bias, linear, norm, pairs, table

# --- GPT-2 ----------------------------------------------------------------------------------------------


def conv1d(w, name, x):
    """GPT-2 stores its matrices [in, out]."""
    matrix = w[name + ".weight"]
    if matrix.shape[0] == matrix.shape[1] and broken(f"{name}.weight read as [out, in]"):
        matrix = matrix.T
    return x @ matrix + w[name + ".bias"]


def gpt2(c, w, case):
    if "transformer.wte.weight" in w:
        w = w.under("transformer.")
    n, eps = len(case["tokens"]), epsilon(c["layer_norm_epsilon"])
    positions = np.minimum(np.arange(n) + broken("positions from 1"), c["n_positions"] - 1)
    x = w["wte.weight"][case["tokens"]] + w["wpe.weight"][positions]
    for layer in range(c["n_layer"]):
        h = w.under(f"h.{layer}.")
        q, k, v = (
            heads(part, c["n_head"])
            for part in fused(conv1d(h, "attn.c_attn", h.layer_norm("ln_1", x, eps)), c["n_head"])
        )
        x = x + conv1d(h, "attn.c_proj", attention(q, k, v, causal(n)))
        x = x + conv1d(h, "mlp.c_proj", gelu_tanh(conv1d(h, "mlp.c_fc", h.layer_norm("ln_2", x, eps))))
    return w.layer_norm("ln_f", x, eps) @ w["wte.weight"].T


def fused(qkv, count):
    """[n, 3d] -> q, k, v: one after the other"""
    if broken("q, k and v in turn for each head, not one after the other"):
        parts = qkv.reshape(len(qkv), count, 3, -1)
        return (parts[:, :, i].reshape(len(qkv), -1) for i in range(3))
    return np.split(qkv, 3, -1)


def gpt2_tensors(c, prefix="transformer.", masks=False):
    d, ff, t = c["n_embd"], c["n_inner"] or 4 * c["n_embd"], {}
    t[prefix + "wte.weight"], t[prefix + "wpe.weight"] = table(c["vocab_size"], d), table(c["n_positions"], d, 0.4)
    for layer in range(c["n_layer"]):
        h = f"{prefix}h.{layer}."
        for place in "ln_1", "ln_2":
            t[h + place + ".weight"], t[h + place + ".bias"] = norm(d), bias(d)
        for name, inputs, outputs, gain in (
            ("attn.c_attn", d, 3 * d, 1.3),
            ("attn.c_proj", d, d, 1),
            ("mlp.c_fc", d, ff, 1.3),
            ("mlp.c_proj", ff, d, 1.3),
        ):
            t[h + name + ".weight"], t[h + name + ".bias"] = linear((inputs, outputs), gain, inputs), bias(outputs)
        if masks:
            t[h + "attn.bias"] = np.tril(np.ones((1, 1, c["n_ctx"], c["n_ctx"]), np.float32))
    t[prefix + "ln_f.weight"], t[prefix + "ln_f.bias"] = norm(d), bias(d)
    return t


# --- GPT-BigCode ----------------------------------------------------------------------------------------


def gpt_bigcode(c, w, case):
    w = w.under("transformer.")
    n, eps, count = len(case["tokens"]), epsilon(c["layer_norm_epsilon"]), c["n_head"]
    x = w["wte.weight"][case["tokens"]] + w["wpe.weight"][np.arange(n) + broken("positions from 1")]
    for layer in range(c["n_layer"]):
        h = w.under(f"h.{layer}.")
        q, k, v = bigcode_parts(c, h.linear("attn.c_attn", h.layer_norm("ln_1", x, eps)))
        x = x + h.linear("attn.c_proj", attention(heads(q, count), k, v, causal(n)))
        x = x + h.linear("mlp.c_proj", gelu_tanh(h.linear("mlp.c_fc", h.layer_norm("ln_2", x, eps))))
    return w.layer_norm("ln_f", x, eps) @ w["wte.weight"].T


def bigcode_parts(c, qkv):
    """queries [n, d], keys and values by head: one for all queries, or one for each"""
    n, d, count = len(qkv), c["n_embd"], c["n_head"]
    e = d // count
    if c["multi_query"]:
        q, k, v = np.split(qkv, [d, d + e], -1)
        if broken("the value in front of the key"):
            k, v = v, k
        return q, heads(k, 1), heads(v, 1)
    if broken("q, k and v one after the other, not in turn for each head"):
        q, k, v = np.split(qkv, 3, -1)
    else:
        q, k, v = (part.reshape(n, d) for part in np.split(qkv.reshape(n, count, 3 * e), 3, -1))
    return q, heads(k, count), heads(v, count)


def gpt_bigcode_tensors(c):
    d, ff, p = c["n_embd"], c["n_inner"], "transformer."
    fused_rows = d + 2 * d // c["n_head"] if c["multi_query"] else 3 * d
    t = {p + "wte.weight": table(c["vocab_size"], d), p + "wpe.weight": table(c["n_positions"], d, 0.4)}
    for layer in range(c["n_layer"]):
        h = f"{p}h.{layer}."
        t |= pairs(h, ("ln_1", norm(d), bias(d)), ("ln_2", norm(d), bias(d)))
        t |= pairs(h, ("attn.c_attn", linear((fused_rows, d), 1.3), bias(fused_rows)))
        t |= pairs(h, ("attn.c_proj", linear((d, d)), bias(d)))
        t |= pairs(h, ("mlp.c_fc", linear((ff, d), 1.3), bias(ff)), ("mlp.c_proj", linear((d, ff), 1.3), bias(d)))
    return t | pairs(p, ("ln_f", norm(d), bias(d)))


# --- GPT-Neo --------------------------------------------------------------------------------------------


def gpt_neo_kinds(c):
    """[[["global", "local"], 2]] -> global, local, global, local"""
    return [kind for kinds, times in c["attention_types"] for _ in range(times) for kind in kinds]


def gpt_neo(c, w, case):
    w = w.under("transformer.")
    n, eps, count = len(case["tokens"]), epsilon(c["layer_norm_epsilon"]), c["num_heads"]
    x = w["wte.weight"][case["tokens"]] + w["wpe.weight"][np.arange(n)]
    scale = (c["hidden_size"] // count) ** -0.5 if broken("scores scaled by 1/sqrt(e)") else 1
    other = broken("the layers with a window the other way round")
    for layer, kind in enumerate(gpt_neo_kinds(c)):
        h, window = w.under(f"h.{layer}."), c["window_size"] if (kind == "local") != other else None
        a, normed = h.under("attn.attention."), h.layer_norm("ln_1", x, eps)
        q, k, v = (heads(a.linear(f"{name}_proj", normed), count) for name in "qkv")
        x = x + a.linear("out_proj", attention(q, k, v, causal(n, window), scale))
        x = x + h.linear("mlp.c_proj", gelu_tanh(h.linear("mlp.c_fc", h.layer_norm("ln_2", x, eps))))
    return w.layer_norm("ln_f", x, eps) @ w["wte.weight"].T


def gpt_neo_tensors(c, masks=False):
    d, ff, p = c["hidden_size"], c["intermediate_size"] or 4 * c["hidden_size"], "transformer."
    size = c["max_position_embeddings"]
    t = {p + "wte.weight": table(c["vocab_size"], d), p + "wpe.weight": table(size, d, 0.4)}
    for layer, kind in enumerate(gpt_neo_kinds(c)):
        h = f"{p}h.{layer}."
        a = h + "attn.attention."
        t |= pairs(h, ("ln_1", norm(d), bias(d)), ("ln_2", norm(d), bias(d)))
        t |= {f"{a}{name}_proj.weight": linear((d, d), 0.9 if name != "v" else 1) for name in "qkv"}
        t |= pairs(a, ("out_proj", linear((d, d)), bias(d)))
        t |= pairs(h + "mlp.", ("c_fc", linear((ff, d), 1.3), bias(ff)), ("c_proj", linear((d, ff), 1.3), bias(d)))
        if masks:
            seen = np.tril(np.ones((1, 1, size, size), np.uint8))
            t[a + "bias"], t[a + "masked_bias"] = seen, np.array(-1e9, np.float32)
    return t | pairs(p, ("ln_f", norm(d), bias(d)))


NEO_BUFFERS = tuple(f"transformer.h.N.attn.attention.{name}" for name in ("bias", "masked_bias"))

# --- OPT ------------------------------------------------------------------------------------------------


def opt(c, w, case):
    w = w.under("model.decoder.")
    n, offset = len(case["tokens"]), 0 if broken("positions from row 0 in place of 2") else 2
    before = c["do_layer_norm_before"] != broken("norms on the other side of the residual")
    x = w["embed_tokens.weight"][case["tokens"]]
    if "project_in.weight" in w:
        x = w.linear("project_in", x)
    x = x + w["embed_positions.weight"][np.arange(offset, offset + n)]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"layers.{layer}.")
        x = opt_half(
            h,
            "self_attn_layer_norm",
            x,
            before,
            lambda y: bart_attention(h.under("self_attn."), y, c["num_attention_heads"], causal(n)),
        )
        x = opt_half(h, "final_layer_norm", x, before, lambda y: h.linear("fc2", activation(h.linear("fc1", y))))
    if "final_layer_norm.weight" in w:
        x = w.layer_norm("final_layer_norm", x, epsilon(1e-5, 1e-12))
    if "project_out.weight" in w:
        x = w.linear("project_out", x)
    return x @ w["embed_tokens.weight"].T


def activation(x):
    return gelu_erf(x) if broken("GELU in place of ReLU") else relu(x)


def opt_half(h, name, x, before, step):
    if before:
        return x + step(h.layer_norm(name, x, epsilon(1e-5, 1e-12)))
    return h.layer_norm(name, x + step(x), 1e-5)


def bart_attention(w, x, count, seen, memory=None):
    """The attention of fairseq's descendants; memory: what keys and values are made of, where it is not x."""
    memory = x if memory is None else memory
    q, v = w.linear("q_proj", x), w.linear("v_proj", memory)
    k = w.linear(
        "k_proj", memory, trap=False
    )  # its bias adds the same to every score of a row, and softmax takes that out
    return w.linear("out_proj", attention(heads(q, count), heads(k, count), heads(v, count), seen))


def bart_attention_tensors(prefix, d):
    t = {}
    for name, gain in ("q_proj", 1.3), ("k_proj", 1.3), ("v_proj", 1), ("out_proj", 1):
        t[f"{prefix}{name}.weight"], t[f"{prefix}{name}.bias"] = linear((d, d), gain), bias(d)
    return t


def opt_tensors(c):
    d, e, ff = c["hidden_size"], c["word_embed_proj_dim"], c["ffn_dim"]
    p = "model.decoder."
    # Small, as trained tables are: the first norm sees a variance that its eps of 1e-5 still changes.
    t = {
        p + "embed_tokens.weight": table(c["vocab_size"], e, 0.5 if e != d else 0.012),
        p + "embed_positions.weight": table(c["max_position_embeddings"] + 2, d, 0.012 if e == d else 0.5),
    }
    if e != d:
        t[p + "project_in.weight"], t[p + "project_out.weight"] = linear((d, e)), linear((e, d))
    for layer in range(c["num_hidden_layers"]):
        h = f"{p}layers.{layer}."
        t |= bart_attention_tensors(h + "self_attn.", d)
        t |= pairs(h, ("self_attn_layer_norm", norm(d), bias(d)), ("final_layer_norm", norm(d), bias(d)))
        t |= pairs(h, ("fc1", linear((ff, d), 1.3), bias(ff)), ("fc2", linear((d, ff), 1.3), bias(d)))
    if c["do_layer_norm_before"]:
        scale = 30 if e == d else 1  # the tied head is as small as the embedding
        t |= pairs(p, ("final_layer_norm", ((d,), scale, 0.3 * scale), ((d,), 0.0, 0.3 * scale)))
    return t


# --- XGLM -----------------------------------------------------------------------------------------------


def xglm(c, w, case):
    w = w.under("model.")
    n, d = len(case["tokens"]), c["d_model"]
    offset = 0 if broken("positions from 0 in place of 2") else 2
    scale = d**0.5 if c["scale_embedding"] and not broken("embedding not scaled") else 1
    x = w["embed_tokens.weight"][case["tokens"]] * scale + sinusoids(np.arange(offset, offset + n), d, last=True)
    for layer in range(c["num_layers"]):
        h = w.under(f"layers.{layer}.")
        x = x + bart_attention(
            h.under("self_attn."), h.layer_norm("self_attn_layer_norm", x, 1e-5), c["attention_heads"], causal(n)
        )
        x = x + h.linear("fc2", gelu_erf(h.linear("fc1", h.layer_norm("final_layer_norm", x, 1e-5))))
    return w.layer_norm("layer_norm", x, 1e-5) @ w["embed_tokens.weight"].T


def xglm_tensors(c):
    d, ff = c["d_model"], c["ffn_dim"]
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d, 0.3)}
    for layer in range(c["num_layers"]):
        h = f"model.layers.{layer}."
        t |= bart_attention_tensors(h + "self_attn.", d)
        t |= pairs(h, ("self_attn_layer_norm", norm(d), bias(d)), ("final_layer_norm", norm(d), bias(d)))
        t |= pairs(h, ("fc1", linear((ff, d), 1.3), bias(ff)), ("fc2", linear((d, ff), 1.3), bias(d)))
    return t | pairs("model.", ("layer_norm", norm(d), bias(d)))


# --------------------------------------------------------------------------------------------------------


FIXTURES = [
    Fixture("gpt2", gpt2_tensors, gpt2, "F32", long=48),
    Fixture("gpt2-bare", lambda c: gpt2_tensors(c, "", masks=True), gpt2, long=24, unread=("h.N.attn.bias",)),
    Fixture("gpt-bigcode", gpt_bigcode_tensors, gpt_bigcode),
    Fixture("gpt-bigcode-heads", gpt_bigcode_tensors, gpt_bigcode),
    Fixture("gpt-neo", lambda c: gpt_neo_tensors(c, masks=True), gpt_neo, unread=NEO_BUFFERS),
    Fixture("gpt-neo-bin", gpt_neo_tensors, gpt_neo, "F32", bins=1, unread=("lm_head.weight",)),
    Fixture("gpt-neo-shards", gpt_neo_tensors, gpt_neo, "BF16", bins=2),
    Fixture("opt", opt_tensors, opt, long=48),
    Fixture("opt-post-norm", opt_tensors, opt, long=48),
    Fixture("xglm", xglm_tensors, xglm),
]
