# SPDX-License-Identifier: MIT
"""ModernBERT (Warner et al. 2024), MPNet (Song et al. 2020) and Nomic's BERT (Nussbaum et al. 2024)."""
import numpy as np

from blocks import attention, broken, epsilon, gelu_erf, heads, rope_frequencies, rotate, silu
from encoders import masked_cases, roberta_positions, visible
from fixture import Fixture, bias, linear, norm, pairs, table

# --- ModernBERT -----------------------------------------------------------------------------------------


def modernbert_trunk(c, outer, case):
    """Every third layer sees all tokens, the others half of local_attention on each side. No first norm."""
    w, count, eps, n = outer.under("model."), c["num_attention_heads"], epsilon(c["norm_eps"]), len(case["tokens"])
    width, seen = c["hidden_size"] // count, visible(case)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    side = c["local_attention"] // 2
    side += broken("a window of one token more on each side") - broken("a window of one token less on each side")
    x = w.layer_norm("embeddings.norm", w["embeddings.tok_embeddings.weight"][case["tokens"]], eps)
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"layers.{layer}.")
        slides = layer % c["global_attn_every_n_layers"] != 0
        theta = c["local_rope_theta" if slides != broken("the thetas exchanged") else "global_rope_theta"]
        near = seen & (distance <= side) | (distance == 0) if slides and not broken("no windows") else seen
        normed = h.layer_norm("attn_norm", x, eps) if layer > 0 else x
        q, k, v = (heads(part, count) for part in np.split(h.linear("attn.Wqkv", normed), 3, -1))
        q, k = (rotate(part, np.arange(n), rope_frequencies(width, theta)) for part in (q, k))
        x = x + h.linear("attn.Wo", attention(q, k, v, near))
        gate, up = np.split(h.linear("mlp.Wi", h.layer_norm("mlp_norm", x, eps)), 2, -1)
        if broken("up before gate"):
            gate, up = up, gate
        x = x + h.linear("mlp.Wo", gelu_erf(gate) * up)
    return w.layer_norm("final_norm", x, eps)


def modernbert(c, w, case):
    x = modernbert_trunk(c, w, case)
    if not broken("no transformation before the head"):
        x = w.layer_norm("head.norm", gelu_erf(w.linear("head.dense", x)), c["norm_eps"])
    return x @ w["model.embeddings.tok_embeddings.weight"].T + w["decoder.bias"]


def modernbert_tensors(c):
    d, ff = c["hidden_size"], c["intermediate_size"]
    t = {"model.embeddings.tok_embeddings.weight": table(c["vocab_size"], d), "model.embeddings.norm.weight": norm(d)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        t |= {h + "attn.Wqkv.weight": linear((3 * d, d), 1.3), h + "attn.Wo.weight": linear((d, d))}
        t |= {h + "mlp.Wi.weight": linear((2 * ff, d), 1.3), h + "mlp.Wo.weight": linear((d, ff), 1.3)}
        t |= {h + "mlp_norm.weight": norm(d)} | ({h + "attn_norm.weight": norm(d)} if layer > 0 else {})
    t |= {"model.final_norm.weight": norm(d), "head.dense.weight": linear((d, d), 2), "head.norm.weight": norm(d)}
    return t | {"decoder.bias": bias(c["vocab_size"])}


# --- MPNet ----------------------------------------------------------------------------------------------


def distance_bias(weight, n):
    """A head's bias by the bucket of the distance: half of 32 for each direction, half of these exact, the rest by
    the logarithm up to 128."""
    if broken("no distance bias"):
        return np.zeros((weight.shape[1], n, n))
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    if broken("distances the other way round"):
        distance = -distance
    size = np.abs(distance)
    far = 8 + np.floor(np.log(np.maximum(size, 1) / 8) / np.log(128 / 8) * 8 + 1e-9).astype(int)
    bucket = np.where(distance < 0, 16, 0) + np.where(size < 8, size, np.minimum(far, 15))
    return weight[bucket].transpose(2, 0, 1)


def mpnet_trunk(c, outer, case):
    w, count, eps = outer.under("mpnet."), c["num_attention_heads"], epsilon(c["layer_norm_eps"], 1e-12)
    e, seen = w.under("embeddings."), visible(case)
    x = e["word_embeddings.weight"][case["tokens"]] + e["position_embeddings.weight"][roberta_positions(c, case)]
    x = e.layer_norm("LayerNorm", x, eps)
    added = distance_bias(w["encoder.relative_attention_bias.weight"], len(x))
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"encoder.layer.{layer}.")
        a = h.under("attention.attn.")
        q, v = heads(a.linear("q", x), count), heads(a.linear("v", x), count)
        k = heads(a.linear("k", x, trap=False), count)
        x = h.layer_norm("attention.LayerNorm", x + a.linear("o", attention(q, k, v, seen, bias=added)), eps)
        x = h.layer_norm(
            "output.LayerNorm", x + h.linear("output.dense", gelu_erf(h.linear("intermediate.dense", x))), eps
        )
    return x


def mpnet(c, w, case):
    x, p = mpnet_trunk(c, w, case), w.under("lm_head.")
    if not broken("no transformation before the head"):
        x = p.layer_norm("layer_norm", gelu_erf(p.linear("dense", x)), c["layer_norm_eps"])
    return x @ w["mpnet.embeddings.word_embeddings.weight"].T + p["bias"]


def mpnet_tensors(c):
    d, ff, e = c["hidden_size"], c["intermediate_size"], "mpnet.embeddings."
    t = {e + "word_embeddings.weight": table(c["vocab_size"], d)}
    t |= {e + "position_embeddings.weight": table(c["max_position_embeddings"], d)}
    t |= pairs(e, ("LayerNorm", norm(d), bias(d)))
    t |= {"mpnet.encoder.relative_attention_bias.weight": table(32, c["num_attention_heads"], 1.0)}
    for layer in range(c["num_hidden_layers"]):
        t |= pairs(
            f"mpnet.encoder.layer.{layer}.",
            ("attention.attn.q", linear((d, d), 1.3), bias(d)),
            ("attention.attn.k", linear((d, d), 1.3), bias(d)),
            ("attention.attn.v", linear((d, d)), bias(d)),
            ("attention.attn.o", linear((d, d)), bias(d)),
            ("attention.LayerNorm", norm(d), bias(d)),
            ("intermediate.dense", linear((ff, d), 1.3), bias(ff)),
            ("output.dense", linear((d, ff), 1.3), bias(d)),
            ("output.LayerNorm", norm(d), bias(d)),
        )
    t |= pairs("lm_head.", ("dense", linear((d, d), 2), bias(d)), ("layer_norm", norm(d), bias(d)))
    return t | {"lm_head.bias": bias(c["vocab_size"])}


# --- Nomic's BERT ---------------------------------------------------------------------------------------


def nomic_bert_trunk(c, outer, case):
    w = outer.under("bert.")
    count, eps, seen = c["n_head"], epsilon(c["layer_norm_epsilon"], 1e-12), visible(case)
    frequencies, n = rope_frequencies(c["n_embd"] // count, c["rotary_emb_base"]), len(case["tokens"])
    segments = np.array(case.get("segments", [0] * n))
    x = w["embeddings.word_embeddings.weight"][case["tokens"]]
    if not broken("no row of the segment added"):
        x = x + w["embeddings.token_type_embeddings.weight"][segments]
    x = w.layer_norm("emb_ln", x, eps)
    for layer in range(c["n_layer"]):
        h = w.under(f"encoder.layers.{layer}.")
        q, k, v = (heads(part, count) for part in np.split(h.linear("attn.Wqkv", x), 3, -1))
        q, k = (rotate(part, np.arange(n), frequencies) for part in (q, k))
        x = h.layer_norm("norm1", x + h.linear("attn.out_proj", attention(q, k, v, seen)), eps)
        up, gate = h.linear("mlp.fc11", x), h.linear("mlp.fc12", x)
        if broken("gate and up exchanged"):
            up, gate = gate, up
        x = h.layer_norm("norm2", x + h.linear("mlp.fc2", silu(gate) * up), eps)
    return x


def nomic_bert(c, w, case):
    x, p = nomic_bert_trunk(c, w, case), w.under("cls.predictions.transform.")
    if not broken("no transformation before the head"):
        x = p.layer_norm("layer_norm", silu(p.linear("dense", x)), c["layer_norm_epsilon"])
    return x @ w["bert.embeddings.word_embeddings.weight"].T


def nomic_bert_tensors(c):
    d, ff = c["n_embd"], c["n_inner"]
    t = {"bert.embeddings.word_embeddings.weight": table(c["vocab_size"], d)}
    t |= {"bert.embeddings.token_type_embeddings.weight": table(c["type_vocab_size"], d)}
    t |= pairs("bert.", ("emb_ln", norm(d), bias(d)))
    for layer in range(c["n_layer"]):
        h = f"bert.encoder.layers.{layer}."
        t |= {h + "attn.Wqkv.weight": linear((3 * d, d), 1.3), h + "attn.out_proj.weight": linear((d, d))}
        t |= {h + "mlp.fc11.weight": linear((ff, d)), h + "mlp.fc12.weight": linear((ff, d), 1.3)}
        t |= {h + "mlp.fc2.weight": linear((d, ff), 1.5)}
        t |= pairs(h, ("norm1", norm(d), bias(d)), ("norm2", norm(d), bias(d)))
    p = "cls.predictions.transform."
    return t | {p + "dense.weight": linear((d, d), 2)} | pairs(p, ("layer_norm", norm(d), bias(d)))


FIXTURES = [
    Fixture(
        "modernbert",
        modernbert_tensors,
        modernbert,
        "F16",
        cases=masked_cases("modernbert", 0, False),
        greedy=0,
        hidden=modernbert_trunk,
    ),
    Fixture("mpnet", mpnet_tensors, mpnet, cases=masked_cases("mpnet", 1, False), greedy=0, hidden=mpnet_trunk),
    Fixture(
        "nomic-bert",
        nomic_bert_tensors,
        nomic_bert,
        cases=masked_cases("nomic-bert", 0, True),
        greedy=0,
        hidden=nomic_bert_trunk,
    ),
]
