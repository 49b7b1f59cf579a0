# SPDX-License-Identifier: MIT
"""Gemma 1 (Gemma Team 2024): Llama with a scaled embedding, and 1 + weight in its norms. Gemma 2 and 3 (2024, 2025):
norms on both sides of each part, windows in some layers, capped scores or normed q and k."""
import numpy as np

from dense import dense, vectors_of
from blocks import attention, broken, causal, epsilon, gelu_tanh, heads, rms_norm, rotate
from fixture import Fixture, linear, norm, table
from rotary import gated, gated_tensors, rope, sizes


def gemma_norm(x, weight, eps):
    """The weight lies in the file with 1 taken off."""
    return rms_norm(x, weight if broken("1 not added to norms' weights") else 1 + weight, eps)


def local_layer(c, layer):
    """Gemma 2: every other layer, the first among them; Gemma 3: all but every n-th."""
    if broken("the layers with a window the other way round"):
        return not local_layer_of(c, layer)
    return local_layer_of(c, layer)


def local_layer_of(c, layer):
    if "layer_types" in c:
        return c["layer_types"][layer] == "sliding_attention"
    if "sliding_window_pattern" in c:
        return (layer + 1) % c["sliding_window_pattern"] != 0
    return layer % 2 == 0


def rope_of(c, local, e, n):
    """Gemma 3: a theta of its own, and no scaling, in layers with a window"""
    if "rope_parameters" in c:
        return rope(c, e, n, c["rope_parameters"]["sliding_attention" if local else "full_attention"])
    if "rope_local_base_freq" in c and local:
        if broken("one theta for all layers"):
            return rope(c, e, n)
        return rope({"rope_theta": c["rope_local_base_freq"]}, e, n)
    return rope(c, e, n)


def both_ways(c):
    """EmbeddingGemma: tokens see later ones."""
    return c.get("use_bidirectional_attention", False) and not broken("a causal mask")


def two_sided(c, n, local):
    """In a layer with a window, half of it on each side."""
    if not local or broken("no windows"):
        return np.ones((n, n), bool)
    side = c["sliding_window"] // 2
    side += broken("a window of one token more on each side") - broken("a window of one token less on each side")
    side += side * broken("a window that is whole on each side")
    return np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) <= side


def gemma_attention(c, h, x, layer, eps):
    n, (count, shared, e), local = len(x), sizes(c), local_layer(c, layer)
    q, k, v = (
        heads(h.linear(f"{name}_proj", x), number) for name, number in (("q", count), ("k", shared), ("v", shared))
    )
    if "q_norm.weight" in h:
        q, k = gemma_norm(q, h["q_norm.weight"], eps), gemma_norm(k, h["k_norm.weight"], eps)
    frequencies, factor = rope_of(c, local, e, n)
    q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
    scale = (
        e if broken("scale 1/sqrt(e) in place of 1/sqrt(query_pre_attn_scalar)") else c["query_pre_attn_scalar"]
    ) ** -0.5
    seen = two_sided(c, n, local) if both_ways(c) else causal(n, c["sliding_window"] if local else None)
    return h.linear("o_proj", attention(q, k, v, seen, scale, cap=c.get("attn_logit_softcapping")))


def gemma1(c, w, case):
    """Gated by GELU in its form by tanh, whatever the first files call it."""
    eps, n, (count, shared, e) = epsilon(c["rms_norm_eps"], 1e-6), len(case["tokens"]), sizes(c)
    rows = w["model.embed_tokens.weight"]
    x = rows[case["tokens"]] * (1 if broken("embedding not scaled") else c["hidden_size"] ** 0.5)
    frequencies, factor = rope(c, e, n)
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        a, y = h.under("self_attn."), gemma_norm(x, h["input_layernorm.weight"], eps)
        q, k, v = (
            heads(a.linear(f"{name}_proj", y), number) for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
        x = x + a.linear("o_proj", attention(q, k, v, causal(n), e**-0.5))
        y = gemma_norm(x, h["post_attention_layernorm.weight"], eps)
        x = x + gated(h.under("mlp."), y, activation=gelu_tanh)
    return gemma_norm(x, w["model.norm.weight"], eps) @ rows.T


def gemma(c, w, case):
    logits, cap = gemma_trunk(c, w, case) @ w["model.embed_tokens.weight"].T, c.get("final_logit_softcapping")
    if cap is None or broken("logits not capped"):
        return logits
    return np.tanh(logits / cap) * cap


def gemma_trunk(c, w, case):
    eps = epsilon(c["rms_norm_eps"], 1e-6)
    rows = w["model.embed_tokens.weight"]
    x = rows[case["tokens"]] * (1 if broken("embedding not scaled") else c["hidden_size"] ** 0.5)
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        y = gemma_attention(c, h.under("self_attn."), gemma_norm(x, h["input_layernorm.weight"], eps), layer, eps)
        x = x + gemma_norm(y, h["post_attention_layernorm.weight"], eps)
        y = gated(h.under("mlp."), gemma_norm(x, h["pre_feedforward_layernorm.weight"], eps), activation=gelu_tanh)
        x = x + gemma_norm(y, h["post_feedforward_layernorm.weight"], eps)
    return gemma_norm(x, w["model.norm.weight"], eps)


# --- EmbeddingGemma: the module Dense of sentence-transformers ------------------------------------------


def base_names(arrays):
    """The names of a file that the class without a head has written."""
    return {name.removeprefix("model."): made for name, made in arrays.items()}


def embedding_gemma_trunk(c, w, case):
    outer = type(w)({f"model.{name}": array for name, array in w.arrays.items()})
    states = gemma_trunk(c, outer, case)
    w.read.update(name.removeprefix("model.") for name in outer.read)
    return states


def embedding_gemma(c, w, case):
    """A row for each token: the vector of the text up to it. The mean of the states, through two matrices, at length 1.
    """
    return vectors_of(case, lambda text: embedding_gemma_vector(c, w, text))


def embedding_gemma_vector(c, w, text):
    x = embedding_gemma_trunk(c, w, {"tokens": text})
    x = x[0] if broken("the first state in place of the mean") else x.mean(0)
    for folder in ("2_Dense/", "3_Dense/"):
        x = dense(w, folder, x)
    return x


def embedding_gemma_tensors(c):
    d, wide, narrow = c["hidden_size"], 72, 28
    t = base_names(gemma_tensors(c))
    return t | {"2_Dense/linear.weight": linear((wide, d), 1.5), "3_Dense/linear.weight": linear((narrow, wide))}


def gemma_tensors(c):
    d, ff, (count, shared, e) = c["hidden_size"], c["intermediate_size"], sizes(c)
    t = {"model.embed_tokens.weight": table(c["vocab_size"], d), "model.norm.weight": norm(d, 0)}
    sharp = 1.3 if c["model_type"] == "gemma3_text" else 1.8
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name, shape, gain in (
            ("q", (count * e, d), sharp),
            ("k", (shared * e, d), sharp),
            ("v", (shared * e, d), 1),
            ("o", (d, count * e), 1),
        ):
            t[f"{h}self_attn.{name}_proj.weight"] = linear(shape, gain)
        if c["model_type"] == "gemma3_text":
            t |= {h + "self_attn.q_norm.weight": norm(e, 0.3), h + "self_attn.k_norm.weight": norm(e, 0.3)}
        t |= gated_tensors(h + "mlp.", d, ff)
        sandwich = ("pre_feedforward_layernorm", "post_feedforward_layernorm") if c["model_type"] != "gemma" else ()
        for place in ("input_layernorm", "post_attention_layernorm", *sandwich):
            t[f"{h}{place}.weight"] = norm(d, 0)
    return t


FIXTURES = [
    Fixture("gemma", gemma_tensors, gemma1, "BF16"),
    Fixture("gemma2", gemma_tensors, gemma, "BF16"),
    # The same model with its keys as they were and as they are: the same logits.
    Fixture("gemma3", gemma_tensors, gemma, "BF16"),
    Fixture("gemma3-rope-parameters", gemma_tensors, gemma, "BF16", seed="gemma3"),
    Fixture(
        "embedding-gemma",
        embedding_gemma_tensors,
        embedding_gemma,
        "BF16",
        greedy=0,
        hidden=embedding_gemma_trunk,
        fine=5e-5,
    ),
]
