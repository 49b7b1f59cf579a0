# SPDX-License-Identifier: MIT
"""BERT, RoBERTa and DistilBERT with the head that predicts a masked token (Devlin et al. 2018; Liu et al. 2019;
Sanh et al. 2019).
"""
import numpy as np

from blocks import attention, broken, epsilon, gelu_erf, heads, layer_norm
from dense import dense, vectors_of
from fixture import Fixture, bias, linear, norm, pairs, table, tokens


def norm_of(w, name, x, eps):
    """Google's files call a norm's weight gamma and its bias beta."""
    if name + ".gamma" in w:
        return layer_norm(x, w[name + ".gamma"], w[name + ".beta"], eps)
    return w.layer_norm(name, x, eps)


def visible(case):
    """[queries, keys]: every token sees every other that is no padding."""
    n = len(case["tokens"])
    hidden = np.array(case.get("padding", [0] * n), bool)
    if hidden.any() and broken("padding not hidden"):
        hidden[:] = False
    return np.broadcast_to(~hidden, (n, n))


def bert_positions(c, case):
    return np.minimum(np.arange(len(case["tokens"])) + broken("positions from 1"), c["max_position_embeddings"] - 1)


def roberta_positions(c, case):
    """From the padding token's id + 1 on, and counting what is no padding alone."""
    pad = c["pad_token_id"]
    real = np.array(case["tokens"]) != pad
    if broken("positions from 0"):
        return np.cumsum(real) - 1
    if broken("padding counted in positions"):
        return np.arange(len(real)) + 1 + pad
    return np.cumsum(real) * real + pad


def trunk(c, w, case, positions):
    eps, count, seen = epsilon(c["layer_norm_eps"], 1e-12), c["num_attention_heads"], visible(case)
    segments = np.array(case.get("segments", [0] * len(case["tokens"])))
    if segments.any() and broken("segments all 0"):
        segments = segments * 0
    e = w.under("embeddings.")
    x = e["word_embeddings.weight"][case["tokens"]] + e["position_embeddings.weight"][positions]
    if not broken("no row of the segment added"):
        x = x + e["token_type_embeddings.weight"][segments]
    x = norm_of(e, "LayerNorm", x, eps)
    if "embeddings_project.weight" in w:
        x = w.linear("embeddings_project", x)
    for layer in range(c["num_hidden_layers"]):
        h = w.under(f"encoder.layer.{layer}.")
        a = h.under("attention.self.")
        q, v = heads(a.linear("query", x), count), heads(a.linear("value", x), count)
        k = heads(a.linear("key", x, trap=False), count)  # softmax takes its bias out
        x = norm_of(
            h, "attention.output.LayerNorm", x + h.linear("attention.output.dense", attention(q, k, v, seen)), eps
        )
        x = norm_of(
            h, "output.LayerNorm", x + h.linear("output.dense", gelu_erf(h.linear("intermediate.dense", x))), eps
        )
    return x


def bert_trunk(c, w, case):
    return trunk(c, w.under("bert."), case, bert_positions(c, case))


def bert(c, w, case):
    x = bert_trunk(c, w, case)
    p = w.under("cls.predictions.")
    if not broken("no transformation before the head"):
        x = norm_of(p, "transform.LayerNorm", gelu_erf(p.linear("transform.dense", x)), c["layer_norm_eps"])
    return x @ w["bert.embeddings.word_embeddings.weight"].T + p["bias"]


def roberta_trunk(c, w, case):
    return trunk(c, w.under("roberta."), case, roberta_positions(c, case))


def roberta(c, w, case):
    x = roberta_trunk(c, w, case)
    p = w.under("lm_head.")
    if not broken("no transformation before the head"):
        x = norm_of(p, "layer_norm", gelu_erf(p.linear("dense", x)), c["layer_norm_eps"])
    return x @ w["roberta.embeddings.word_embeddings.weight"].T + p["bias"]


def distilbert_trunk(c, outer, case):
    """As BERT without segments. The eps is no key of the configuration."""
    w, count, eps, seen = outer.under("distilbert."), c["n_heads"], 1e-12, visible(case)
    e = w.under("embeddings.")
    x = e["word_embeddings.weight"][case["tokens"]] + e["position_embeddings.weight"][bert_positions(c, case)]
    x = e.layer_norm("LayerNorm", x, eps)
    for layer in range(c["n_layers"]):
        h = w.under(f"transformer.layer.{layer}.")
        a = h.under("attention.")
        q, v = heads(a.linear("q_lin", x), count), heads(a.linear("v_lin", x), count)
        k = heads(a.linear("k_lin", x, trap=False), count)
        x = h.layer_norm("sa_layer_norm", x + a.linear("out_lin", attention(q, k, v, seen)), eps)
        x = h.layer_norm("output_layer_norm", x + h.linear("ffn.lin2", gelu_erf(h.linear("ffn.lin1", x))), eps)
    return x


def distilbert(c, w, case):
    x = distilbert_trunk(c, w, case)
    if not broken("no transformation before the head"):
        x = w.layer_norm("vocab_layer_norm", gelu_erf(w.linear("vocab_transform", x)), 1e-12)
    return x @ w["distilbert.embeddings.word_embeddings.weight"].T + w["vocab_projector.bias"]


def trunk_tensors(c, prefix, weight="weight", bias_="bias"):
    d, ff = c["hidden_size"], c["intermediate_size"]
    width = c.get("embedding_size", d)

    def normed(name, d=d):
        return {f"{name}.LayerNorm.{weight}": norm(d), f"{name}.LayerNorm.{bias_}": bias(d)}

    e = prefix + "embeddings"
    t = {
        e + ".word_embeddings.weight": table(c["vocab_size"], width),
        e + ".position_embeddings.weight": table(c["max_position_embeddings"], width),
    }
    t |= {e + ".token_type_embeddings.weight": table(c["type_vocab_size"], width)} | normed(e, width)
    for layer in range(c["num_hidden_layers"]):
        h = f"{prefix}encoder.layer.{layer}."
        t |= pairs(
            h,
            ("attention.self.query", linear((d, d), 1.3), bias(d)),
            ("attention.self.key", linear((d, d), 1.3), bias(d)),
            ("attention.self.value", linear((d, d)), bias(d)),
            ("attention.output.dense", linear((d, d)), bias(d)),
            ("intermediate.dense", linear((ff, d), 1.3), bias(ff)),
            ("output.dense", linear((d, ff), 1.3), bias(d)),
        )
        t |= normed(h + "attention.output") | normed(h + "output")
    return t


def bert_tensors(c, weight="weight", bias_="bias"):
    d, p = c["hidden_size"], "cls.predictions."
    t = trunk_tensors(c, "bert.", weight, bias_) | pairs(p + "transform.", ("dense", linear((d, d), 2), bias(d)))
    return t | {
        f"{p}transform.LayerNorm.{weight}": norm(d),
        f"{p}transform.LayerNorm.{bias_}": bias(d),
        p + "bias": bias(c["vocab_size"]),
    }


def bert_gamma_tensors(c):
    """As Google's checkpoints were first converted: with the pooler and the head of the next sentence."""
    d = c["hidden_size"]
    t = bert_tensors(c, "gamma", "beta") | pairs("bert.", ("pooler.dense", linear((d, d)), bias(d)))
    return t | pairs("cls.", ("seq_relationship", linear((2, d)), bias(2)))


def roberta_tensors(c):
    d = c["hidden_size"]
    t = trunk_tensors(c, "roberta.") | pairs(
        "lm_head.", ("dense", linear((d, d), 2), bias(d)), ("layer_norm", norm(d), bias(d))
    )
    return t | {"lm_head.bias": bias(c["vocab_size"])}


def distilbert_tensors(c):
    """The head's matrix is there and repeats the embedding, as in files of PyTorch's."""
    d, ff, e = c["dim"], c["hidden_dim"], "distilbert.embeddings."
    words = e + "word_embeddings.weight"
    t = {
        words: table(c["vocab_size"], d),
        e + "position_embeddings.weight": table(c["max_position_embeddings"], d),
    }
    t |= pairs(e, ("LayerNorm", norm(d), bias(d)))
    for layer in range(c["n_layers"]):
        t |= pairs(
            f"distilbert.transformer.layer.{layer}.",
            ("attention.q_lin", linear((d, d), 1.3), bias(d)),
            ("attention.k_lin", linear((d, d), 1.3), bias(d)),
            ("attention.v_lin", linear((d, d)), bias(d)),
            ("attention.out_lin", linear((d, d)), bias(d)),
            ("sa_layer_norm", norm(d), bias(d)),
            ("ffn.lin1", linear((ff, d), 1.3), bias(ff)),
            ("ffn.lin2", linear((d, ff), 1.3), bias(d)),
            ("output_layer_norm", norm(d), bias(d)),
        )
    t |= pairs("vocab_", ("transform", linear((d, d), 2), bias(d)), ("layer_norm", norm(d), bias(d)))
    return t | {"vocab_projector.bias": bias(c["vocab_size"]), "vocab_projector.weight": words}


def masked_cases(key, pad, segments):
    """All positions; a text as long as the table, in two segments where there are two; padding behind, and in front."""
    short, long, padded = (
        tokens(f"{key}/{name}", count, 64) for name, count in (("short", 9), ("long", 48), ("padded", 11))
    )
    cases = [{"tokens": short}, {"tokens": long, "last": 3}]
    if segments:
        cases[1]["segments"] = [0] * 21 + [1] * 27
    cases.append({"tokens": padded + [pad] * 5, "padding": [0] * 11 + [1] * 5})
    return cases + [{"tokens": [pad] * 4 + padded, "padding": [1] * 4 + [0] * 11}]


POSITION_IDS = {"bert.embeddings.position_ids": np.arange(48, dtype=np.int64)[None]}
HEADS = tuple(f"{name}.{kind}" for name in ("bert.pooler.dense", "cls.seq_relationship") for kind in ("weight", "bias"))

# --- LaBSE (Feng et al. 2020): BERT without a head, the first state, a linear layer with tanh ----------------


def labse_trunk(c, w, case):
    return trunk(c, w, case, bert_positions(c, case))


def labse(c, w, case):
    def vector(text):
        x = labse_trunk(c, w, {"tokens": text})
        x = x.mean(0) if broken("the mean in place of the first state") else x[0]
        return dense(w, "2_Dense/", x, np.tanh)

    return vectors_of(case, vector)


def labse_tensors(c):
    d = c["hidden_size"]
    t = {name.removeprefix("bert."): made for name, made in bert_tensors(c).items() if name.startswith("bert.")}
    return t | pairs("2_Dense/", ("linear", linear((24, d), 2), bias(24)))


FIXTURES = [
    Fixture("labse", labse_tensors, labse, greedy=0, hidden=labse_trunk, fine=5e-5),
    Fixture(
        "bert",
        lambda c: bert_tensors(c) | POSITION_IDS,
        bert,
        cases=masked_cases("bert", 0, True),
        greedy=0,
        hidden=bert_trunk,
        unread=tuple(POSITION_IDS),
    ),
    Fixture(
        "bert-gamma",
        bert_gamma_tensors,
        bert,
        cases=masked_cases("bert-gamma", 0, True),
        greedy=0,
        hidden=bert_trunk,
        unread=HEADS,
    ),
    Fixture(
        "roberta", roberta_tensors, roberta, cases=masked_cases("roberta", 1, False), greedy=0, hidden=roberta_trunk
    ),
    Fixture(
        "distilbert",
        distilbert_tensors,
        distilbert,
        cases=masked_cases("distilbert", 0, False),
        greedy=0,
        hidden=distilbert_trunk,
        unread=("vocab_projector.weight",),
    ),
]
