# SPDX-License-Identifier: MIT
"""Llama and those that descend from it: rotary positions, RMS norms, gated feed-forward parts (Touvron et al. 2023).

Here: Llama 1 to 3, SmolLM, SmolLM3, Mistral, Qwen2 and Qwen3, with every way of scaling rotary positions.
"""
import math

import numpy as np

from blocks import (
    attention,
    broken,
    causal,
    epsilon,
    heads,
    layer_norm,
    relu,
    rms_norm,
    rope_frequencies,
    rotate,
    silu,
)
from fixture import Fixture, bias, linear, norm, table

# --- rotary frequencies by the configuration ------------------------------------------------------------


def rope(c, width, length, parameters=None):
    """-> frequencies [width / 2], what cosines and sines are multiplied by. length: of the whole text."""
    p = (
        parameters
        or c.get("rope_parameters")
        or {"rope_theta": c.get("rope_theta", 10000.0), **(c.get("rope_scaling") or {})}
    )
    theta, kind = p["rope_theta"], p.get("rope_type", p.get("type", "default"))
    if theta != 10000 and broken("theta 10000 in place of the file's"):
        theta = 10000.0
    plain = rope_frequencies(width, theta)
    if kind == "default" or broken("rotary scaling not applied"):
        return plain, 1.0
    return SCALINGS[kind](c, p, plain, theta, length)


def linear_scaling(c, p, plain, theta, length):
    """Chen et al. 2023: every position divided"""
    return plain / p["factor"], 1.0


def dynamic_scaling(c, p, plain, theta, length):
    """NTK-aware, by the length of the text once that is more than the model was trained for"""
    width = 2 * len(plain)
    if p.get("alpha"):
        return rope_frequencies(width, theta * p["alpha"] ** (width / (width - 2))), 1.0
    s, trained = p["factor"], c["max_position_embeddings"]
    if length <= trained:
        return plain, 1.0
    grown = s * length / trained - (s - 1)
    if broken("factor alone in place of the length"):
        grown = s
    return rope_frequencies(width, theta * grown ** (width / (width - 2))), 1.0


def yarn_scaling(c, p, plain, theta, length):
    """Peng et al. 2023: fast pairs as they are, slow ones divided, a ramp between; cosines and sines scaled"""
    s, trained, half = p["factor"], p["original_max_position_embeddings"], len(plain)
    fast, slow = p.get("beta_fast", 32), p.get("beta_slow", 1)
    if (fast, slow) != (32, 1) and broken("betas 32 and 1 in place of the file's"):
        fast, slow = 32, 1

    def pair_that_turns(times):
        return 2 * half * math.log(trained / (times * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(pair_that_turns(fast)), 0), min(math.ceil(pair_that_turns(slow)), 2 * half - 1)
    if broken("ramp's ends not rounded"):
        low, high = max(pair_that_turns(fast), 0), pair_that_turns(slow)
    divided = np.clip((np.arange(half) - low) / max(high - low, 0.001), 0, 1)
    factor = p.get("attention_factor", 0.1 * math.log(s) + 1)
    if broken("attention factor left out"):
        factor = 1.0
    if broken("attention factor on queries alone"):
        factor = factor**0.5
    return plain * (1 - divided) + plain / s * divided, factor


def llama3_scaling(c, p, plain, theta, length):
    wavelength, trained = 2 * math.pi / plain, p["original_max_position_embeddings"]
    low, high = p["low_freq_factor"], p["high_freq_factor"]
    smooth = np.clip((trained / wavelength - low) / (high - low), 0, 1)
    if broken("no blend between kept and divided pairs"):
        smooth = np.round(smooth)
    return (1 - smooth) * plain / p["factor"] + smooth * plain, 1.0


def longrope_scaling(c, p, plain, theta, length):
    """Ding et al. 2024: a divisor for each pair, one list for texts up to the trained length, one beyond"""
    trained = c.get("original_max_position_embeddings") or p["original_max_position_embeddings"]
    long = length > trained
    if broken("the other list of factors"):
        long = not long
    s = c["max_position_embeddings"] / trained
    factor = 1.0 if broken("attention factor left out") else math.sqrt(1 + math.log(s) / math.log(trained))
    return plain / np.array(p["long_factor" if long else "short_factor"]), factor


SCALINGS = {
    "linear": linear_scaling,
    "dynamic": dynamic_scaling,
    "yarn": yarn_scaling,
    "llama3": llama3_scaling,
    "longrope": longrope_scaling,
    "su": longrope_scaling,
}

# --- the trunk ------------------------------------------------------------------------------------------


def sizes(c):
    """-> heads, heads of keys, width of a head"""
    count = c["num_attention_heads"]
    return count, c.get("num_key_value_heads") or count, c.get("head_dim") or c["hidden_size"] // count


def self_attention(c, w, x, layer, eps):
    n, (count, shared, width) = len(x), sizes(c)
    q, k, v = (
        heads(w.linear("q_proj", x), count),
        heads(w.linear("k_proj", x), shared),
        heads(w.linear("v_proj", x), shared),
    )
    if "q_norm.weight" in w and not broken("QK norms after the rotation"):
        q, k = rms_norm(q, w["q_norm.weight"], eps), rms_norm(k, w["k_norm.weight"], eps)
    if rotated(c, layer):
        frequencies, factor = rope(c, width, n)
        q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
    if "q_norm.weight" in w and broken("QK norms after the rotation"):
        q, k = rms_norm(q, w["q_norm.weight"], eps), rms_norm(k, w["k_norm.weight"], eps)
    if "query_layernorm.weight" in w:
        q, k = rms_norm(q, w["query_layernorm.weight"], eps), rms_norm(k, w["key_layernorm.weight"], eps)
        if broken("QK norms before the rotation"):
            q, k = norms_first(c, w, x, eps)
    return w.linear("o_proj", attention(q, k, v, causal(n, window_of(c, layer))))


def norms_first(c, w, x, eps):
    n, (count, shared, width) = len(x), sizes(c)
    q, k = heads(w.linear("q_proj", x), count), heads(w.linear("k_proj", x), shared)
    q, k = rms_norm(q, w["query_layernorm.weight"], eps), rms_norm(k, w["key_layernorm.weight"], eps)
    frequencies, factor = rope(c, width, n)
    return [rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k)]


def rotated(c, layer):
    if "no_rope_layers" not in c or broken("rotary positions in every layer"):
        return True
    one_is_rope = not broken("no_rope_layers the other way round")
    return bool(c["no_rope_layers"][layer]) == one_is_rope


def window_of(c, layer):
    if not c.get("sliding_window"):
        return None
    if c.get("use_sliding_window") is False and not broken("window in spite of use_sliding_window"):
        return None
    return c["sliding_window"]


def gated(w, x, gate="gate_proj", up="up_proj", down="down_proj", activation=silu):
    if broken("gate and up exchanged"):
        gate, up = up, gate
    return w.linear(down, activation(w.linear(gate, x)) * w.linear(up, x))


def head(c, w, x):
    if c.get("tie_word_embeddings"):
        return x @ w["model.embed_tokens.weight"].T
    return w.linear("lm_head", x)


def llama(c, w, case, feed_forward=lambda c, w, x: gated(w, x), place="mlp."):
    eps = epsilon(c["rms_norm_eps"], 1e-6)
    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        x = x + self_attention(c, h.under("self_attn."), rms_norm(x, h["input_layernorm.weight"], eps), layer, eps)
        x = x + feed_forward(c, h.under(place), rms_norm(x, h["post_attention_layernorm.weight"], eps))
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps))


def gated_tensors(prefix, d, ff, gate="gate_proj", up="up_proj", down="down_proj"):
    return {
        f"{prefix}{gate}.weight": linear((ff, d), 1.3),
        f"{prefix}{up}.weight": linear((ff, d)),
        f"{prefix}{down}.weight": linear((d, ff), 1.5),
    }


def llama_tensors(c, qkv_bias=False, qk_norm=False, feed_forward=None):
    d, ff, t = c["hidden_size"], c["intermediate_size"], {}
    feed_forward = feed_forward or (lambda prefix, layer: gated_tensors(prefix, d, ff))
    count, shared, width = sizes(c)
    t["model.embed_tokens.weight"] = table(c["vocab_size"], d)
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name, rows, gain in ("q_proj", count, 1.3), ("k_proj", shared, 1.3), ("v_proj", shared, 1):
            t[f"{h}self_attn.{name}.weight"] = linear((rows * width, d), gain)
            if qkv_bias:
                t[f"{h}self_attn.{name}.bias"] = bias(rows * width, 0.5)
        t[h + "self_attn.o_proj.weight"] = linear((d, count * width))
        if qk_norm:
            t[h + "self_attn.q_norm.weight"], t[h + "self_attn.k_norm.weight"] = norm(width, 1.3), norm(width, 1.3)
        t |= feed_forward(h + "mlp.", layer)
        t[h + "input_layernorm.weight"], t[h + "post_attention_layernorm.weight"] = norm(d), norm(d)
    t["model.norm.weight"] = norm(d)
    if not c.get("tie_word_embeddings"):
        t["lm_head.weight"] = linear((c["vocab_size"], d), 3)
    return t


def llama1_tensors(c):
    frequencies = rope_frequencies(8, 10000.0).astype(np.float32)
    return llama_tensors(c) | {
        f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": frequencies for layer in range(c["num_hidden_layers"])
    }


# --- Granite --------------------------------------------------------------------------------------------


def granite(c, w, case):
    """Llama with a factor on the embedding, on the scores, on what each branch adds, and a divisor of the logits."""
    eps, n, (count, shared, e) = epsilon(c["rms_norm_eps"], 1e-6), len(case["tokens"]), sizes(c)

    def factor(key, without=1):
        return without if broken(f"{key} left out") else c[key]

    x = w["model.embed_tokens.weight"][case["tokens"]] * factor("embedding_multiplier")
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        a, normed = h.under("self_attn."), rms_norm(x, h["input_layernorm.weight"], eps)
        q, k, v = (
            heads(a.linear(f"{name}_proj", normed), number)
            for name, number in (("q", count), ("k", shared), ("v", shared))
        )
        frequencies, gain = rope(c, e, n)
        q, k = (rotate(part, np.arange(n), frequencies, factor=gain) for part in (q, k))
        mixed = attention(q, k, v, causal(n), factor("attention_multiplier", e**-0.5))
        x = x + a.linear("o_proj", mixed) * factor("residual_multiplier")
        normed = rms_norm(x, h["post_attention_layernorm.weight"], eps)
        x = x + gated(h.under("mlp."), normed) * factor("residual_multiplier")
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps)) / factor("logits_scaling")


# --- MiniCPM --------------------------------------------------------------------------------------------


def minicpm(c, w, case):
    """Llama with a factor on the embedding and on what each branch adds, and a divisor of the head's input."""
    eps, residual = epsilon(c["rms_norm_eps"], 1e-6), c["scale_depth"] / math.sqrt(c["num_hidden_layers"])
    if broken("scale_depth not divided by the root of the layers"):
        residual = c["scale_depth"]
    x = w["model.embed_tokens.weight"][case["tokens"]] * (1 if broken("scale_emb left out") else c["scale_emb"])
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        normed = rms_norm(x, h["input_layernorm.weight"], eps)
        x = x + self_attention(c, h.under("self_attn."), normed, layer, eps) * residual
        x = x + gated(h.under("mlp."), rms_norm(x, h["post_attention_layernorm.weight"], eps)) * residual
    width = 1 if broken("the head's input not divided") else c["hidden_size"] / c["dim_model_base"]
    return rms_norm(x, w["model.norm.weight"], eps) / width @ w["model.embed_tokens.weight"].T


# --- AFM, Nemotron --------------------------------------------------------------------------------------


def arcee(c, w, case):
    """Llama with down(relu(up x)^2). Nemotron: LayerNorm with 1 + weight, rope on the first half of each head."""
    n, (count, shared, e) = len(case["tokens"]), sizes(c)
    eps = epsilon(c["norm_eps"] if "norm_eps" in c else c["rms_norm_eps"])
    share = c.get("partial_rotary_factor", 1)
    width = e if share == 1 or broken("rotary positions on whole heads") else int(e * share)

    def normed(h, name, y):
        if "norm_eps" not in c:
            return rms_norm(y, h[name + ".weight"], eps)
        one = 0 if broken("one not added to the weight of a norm") else 1
        return layer_norm(y, one + h[name + ".weight"], h[name + ".bias"], eps)

    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        y = normed(h, "input_layernorm", x)
        parts = ("q", count), ("k", shared), ("v", shared)
        q, k, v = (heads(h.linear(f"self_attn.{name}_proj", y), number) for name, number in parts)
        frequencies, factor = rope(c, width, n)
        q, k = (rotate(part, np.arange(n), frequencies, factor=factor) for part in (q, k))
        x = x + h.linear("self_attn.o_proj", attention(q, k, v, causal(n)))
        up = relu(h.linear("mlp.up_proj", normed(h, "post_attention_layernorm", x)))
        x = x + h.linear("mlp.down_proj", up if broken("ReLU not squared") else up**2)
    return head(c, w, normed(w, "model.norm", x))


def arcee_tensors(c):
    d, made = c["hidden_size"], llama_tensors(c)
    made = {name: shape for name, shape in made.items() if "gate_proj" not in name}
    if "norm_eps" in c:
        for name in [name for name in made if "norm" in name]:
            made |= {name: norm(d, 0), name.replace("weight", "bias"): bias(d)}
    return made


# --- OLMo 2, OLMo 3 -------------------------------------------------------------------------------------


def olmo2(c, w, case):
    """Norms after each branch and none before; one RMS norm of all queries, one of all keys, before the rotation. OLMo 3
    has a window in some layers, and no scaling of rope in these."""
    eps, n, (count, shared, e) = epsilon(c["rms_norm_eps"]), len(case["tokens"]), sizes(c)

    def together(x, weight, number):
        if broken("queries and keys normalised head by head"):
            return rms_norm(heads(x, number), heads(weight[None], number), eps)
        return heads(rms_norm(x, weight, eps), number)

    def branch(x, f, weight):
        return f(rms_norm(x, weight, eps)) if broken("norms before the branches") else rms_norm(f(x), weight, eps)

    def attend(a, slides):
        def f(x):
            q = together(a.linear("q_proj", x), a["q_norm.weight"], count)
            k = together(a.linear("k_proj", x), a["k_norm.weight"], shared)
            scaled = not slides or broken("rope scaled in the layers with a window")
            frequencies, gain = rope(c if scaled else {"rope_theta": c["rope_theta"]}, e, n)
            q, k = (rotate(part, np.arange(n), frequencies, factor=gain) for part in (q, k))
            seen = causal(n, c["sliding_window"] if slides else None)
            return a.linear("o_proj", attention(q, k, heads(a.linear("v_proj", x), shared), seen))

        return f

    x = w["model.embed_tokens.weight"][case["tokens"]]
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"model.layers.{layer}.")
        slides = c.get("layer_types", ["full_attention"] * 9)[layer] == "sliding_attention"
        x = x + branch(x, attend(h.under("self_attn."), slides), h["post_attention_layernorm.weight"])
        x = x + branch(x, lambda y, m=h.under("mlp."): gated(m, y), h["post_feedforward_layernorm.weight"])
    return head(c, w, rms_norm(x, w["model.norm.weight"], eps))


def olmo2_tensors(c):
    count, shared, e = sizes(c)
    t = {name.replace("input_layernorm", "post_feedforward_layernorm"): made for name, made in llama_tensors(c).items()}
    for layer in range(c["num_hidden_layers"]):
        a = f"model.layers.{layer}.self_attn."
        t[a + "q_norm.weight"], t[a + "k_norm.weight"] = norm(count * e, 1.3), norm(shared * e, 1.3)
    return t


def hunyuan_tensors(c):
    new = (("q_norm", "query_layernorm"), ("k_norm", "key_layernorm"))
    made = llama_tensors(c, qk_norm=True)
    return {name.replace(*new["k_norm" in name]): shape for name, shape in made.items()}


FIXTURES = [
    Fixture("hunyuan", hunyuan_tensors, llama, "BF16"),
    Fixture("olmo2", olmo2_tensors, olmo2, "BF16"),
    Fixture("olmo3", olmo2_tensors, olmo2, "BF16"),
    Fixture("arcee", arcee_tensors, arcee, "BF16"),
    Fixture("nemotron", arcee_tensors, arcee, "BF16"),
    Fixture("granite", llama_tensors, granite, "BF16"),
    Fixture("minicpm", lambda c: llama_tensors(c | {"tie_word_embeddings": True}), minicpm, "BF16"),
    Fixture("llama", llama_tensors, llama, "BF16"),
    Fixture("llama1", llama1_tensors, llama, unread=("model.layers.N.self_attn.rotary_emb.inv_freq",)),
    Fixture("smollm", llama_tensors, llama, "BF16"),
    # The same model with its keys as they were and as they are: the same logits.
    Fixture("llama3", llama_tensors, llama, "BF16"),
    Fixture("llama3-rope-parameters", llama_tensors, llama, "BF16", seed="llama3"),
    Fixture("llama-linear", llama_tensors, llama, "BF16"),
    # The second case is longer than the model was trained for, the first is not, even with what follows it.
    Fixture("llama-dynamic", llama_tensors, llama, "BF16", greedy=8),
    Fixture("llama-yarn", llama_tensors, llama, "BF16"),
    Fixture("smollm3", llama_tensors, llama, "BF16"),
    Fixture("mistral", llama_tensors, llama, "BF16"),
    Fixture("qwen2", lambda c: llama_tensors(c, qkv_bias=True), llama, "BF16"),
    Fixture("qwen2-yarn", lambda c: llama_tensors(c, qkv_bias=True), llama, "BF16"),
    Fixture("qwen3", lambda c: llama_tensors(c, qk_norm=True), llama, "BF16"),
]
