# SPDX-License-Identifier: MIT
"""Mixtral, Qwen2-MoE and Qwen3-MoE: a token goes through the few experts that it scores highest
(Jiang et al. 2024; Qwen Team)."""
import numpy as np

from blocks import Traps, broken, sigmoid, softmax
from fixture import Fixture, linear
from rotary import gated, gated_tensors, llama, llama_tensors

CLOSE = 0.002  # two experts' scores may not lie nearer to each other where one is taken and the other not


def routed(w, x, router, expert, most, normalised):
    """x [n, d] -> the sum of `most` experts' answers for each token, by their shares of a softmax over all"""
    scores = w.linear(router, x)
    shares, y = softmax(scores), np.zeros_like(x)
    for i, share in enumerate(shares):
        order = np.argsort(-share)
        settled = scores[i, order[most - 1]] - scores[i, order[most]] > CLOSE
        assert settled or Traps.fallen, "experts too close to each other: take another seed"
        chosen = order[: most - broken("one expert fewer")]
        total = share[chosen].sum() if normalised != broken("norm_topk_prob the other way round") else 1
        for j in chosen:
            y[i] += expert(j, x[i : i + 1])[0] * share[j] / total
    return y


def mixtral_experts(c, w, x):
    def expert(j, row):
        return gated(w.under(f"experts.{j}."), row, "w1", "w3", "w2")

    return routed(w, x, "gate", expert, c["num_experts_per_tok"], True)


def mixtral(c, w, case):
    """Llama's trunk; the experts stand under block_sparse_moe in the place of mlp."""
    return llama(c, w, case, mixtral_experts, "block_sparse_moe.")


def qwen_experts(c, w, x):
    if "gate.weight" not in w:
        return gated(w, x)  # a layer of mlp_only_layers
    y = routed(
        w, x, "gate", lambda j, row: gated(w.under(f"experts.{j}."), row), c["num_experts_per_tok"], c["norm_topk_prob"]
    )
    if "shared_expert_gate.weight" not in w or broken("no shared expert"):
        return y
    gate = 1 if broken("shared expert not gated") else sigmoid(w.linear("shared_expert_gate", x))
    return y + gate * gated(w.under("shared_expert."), x)


def qwen_moe(c, w, case):
    return llama(c, w, case, qwen_experts)


def mixtral_tensors(c):
    d, ff = c["hidden_size"], c["intermediate_size"]

    def experts(prefix, layer):
        prefix = prefix.replace("mlp.", "block_sparse_moe.")
        t = {prefix + "gate.weight": linear((c["num_local_experts"], d), 1.5)}
        for j in range(c["num_local_experts"]):
            t |= gated_tensors(f"{prefix}experts.{j}.", d, ff, "w1", "w3", "w2")
        return t

    return llama_tensors(c, feed_forward=experts)


def qwen_tensors(c):
    d, ff = c["hidden_size"], c["moe_intermediate_size"]

    def experts(prefix, layer):
        if layer in c["mlp_only_layers"]:
            return gated_tensors(prefix, d, c["intermediate_size"])
        t = {prefix + "gate.weight": linear((c["num_experts"], d), 1.5)}
        for j in range(c["num_experts"]):
            t |= gated_tensors(f"{prefix}experts.{j}.", d, ff)
        if "shared_expert_intermediate_size" in c:
            t |= gated_tensors(prefix + "shared_expert.", d, c["shared_expert_intermediate_size"])
            t[prefix + "shared_expert_gate.weight"] = linear((1, d))
        return t

    old = c["model_type"] == "qwen2_moe"
    return llama_tensors(c, qkv_bias=old, qk_norm=not old, feed_forward=experts)


FIXTURES = [
    Fixture("mixtral", mixtral_tensors, mixtral, "BF16", seed="mixtral 2"),
    Fixture("qwen2-moe", qwen_tensors, qwen_moe, "BF16"),
    Fixture("qwen3-moe", qwen_tensors, qwen_moe, "BF16", seed="qwen3-moe 2"),
    Fixture("qwen3-moe-plain", qwen_tensors, qwen_moe, "BF16", seed="qwen3-moe-plain 2"),
]
