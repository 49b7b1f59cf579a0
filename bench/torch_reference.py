#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same trunks in PyTorch 1.13, to compare with: speed of training, and loss at equal tokens.

  torch_reference.py --throughput [--gated]   the trunk of bench_training
  torch_reference.py --train FILE             the run that bench_reference_data wrote to FILE
"""
import argparse
import json
import math
import os
import statistics
import struct
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class RmsNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, cos, sin):  # adjacent pairs (Su et al. 2021); x [batch, heads, length, d_head]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        d, self.s = s["d_model"], s
        norm = (lambda: RmsNorm(d, s["norm_eps"])) if s["gated"] else (lambda: nn.LayerNorm(d, s["norm_eps"]))
        self.attention_norm, self.feed_forward_norm = norm(), norm()
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.ff_in = nn.Linear(d, (2 if s["gated"] else 1) * s["d_ff"], bias=False)
        self.ff_out = nn.Linear(s["d_ff"], d, bias=False)

    def forward(self, x, mask, angles):
        batch, length, d = x.shape
        heads = self.qkv(self.attention_norm(x)).view(batch, length, 3, self.s["n_heads"], -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if angles is not None:
            q, k = rotate(q, *angles), rotate(k, *angles)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, d))
        h = self.ff_in(self.feed_forward_norm(x))
        if self.s["gated"]:
            gate, up = h.chunk(2, -1)
            h = F.silu(gate) * up
        else:
            h = F.gelu(h, approximate="tanh")
        return x + self.ff_out(h)


class Trunk(nn.Module):
    def __init__(self, s, rope_theta=None):
        super().__init__()
        self.embedding = nn.Embedding(s["vocab_size"], s["d_model"])
        self.blocks = nn.ModuleList(Block(s) for _ in range(s["n_layers"]))
        self.norm = RmsNorm(s["d_model"], s["norm_eps"]) if s["gated"] else nn.LayerNorm(s["d_model"], s["norm_eps"])
        self.mask = torch.full((s["context"], s["context"]), -math.inf).triu(1)
        self.angles = None
        if rope_theta:
            e = s["d_model"] // s["n_heads"]
            angle = torch.outer(torch.arange(s["context"]), rope_theta ** (-torch.arange(0, e, 2).double() / e))
            self.angles = angle.cos().float(), angle.sin().float()

    def loss(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.mask, self.angles)
        return F.cross_entropy((self.norm(x) @ self.embedding.weight.T).flatten(0, 1), targets.flatten())


def optimizer_of(model, weight_decay):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)


def step(model, optimizer, windows, lr, clip):
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    loss = model.loss(windows[:, :-1], windows[:, 1:])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def throughput(args):
    s = dict(vocab_size=4096, context=256, n_layers=6, d_model=192, n_heads=6, d_ff=512 if args.gated else 768,
             gated=args.gated, norm_eps=1e-5)
    model, seconds = Trunk(s), []
    optimizer = optimizer_of(model, 0.1)
    windows = torch.randint(s["vocab_size"], (args.batch, s["context"] + 1))
    for _ in range(args.steps + 1):
        start = time.perf_counter()
        step(model, optimizer, windows, 1e-3, 1.0)
        seconds.append(time.perf_counter() - start)
    rates = [args.batch * s["context"] / t for t in seconds[1:]]  # the first step warms up
    print(f"tokens_per_second {statistics.median(rates):.1f} [{min(rates):.1f}..{max(rates):.1f}]")


def read_safetensors(path):
    data = np.memmap(path, dtype=np.uint8, mode="r")
    begin = 8 + struct.unpack("<Q", data[:8].tobytes())[0]
    header, tensors = json.loads(data[8:begin].tobytes()), {}
    metadata = header.pop("__metadata__")
    for name, t in header.items():
        first, last = t["data_offsets"]
        values = np.frombuffer(data[begin + first : begin + last].tobytes(), np.float32)
        tensors[name] = torch.from_numpy(values.copy()).reshape(t["shape"])
    return metadata, tensors


def load(model, tensors):
    """Copies the initial weights, each exactly once."""
    own = dict(model.named_parameters())
    names = {"embedding.weight": "embedding.weight", "norm.weight": "final_norm.weight"}
    parts = {"attention_norm": "attention_norm", "qkv": "attention.qkv", "out": "attention.out",
             "feed_forward_norm": "feed_forward_norm", "ff_in": "feed_forward.in", "ff_out": "feed_forward.out"}
    for i in range(len(model.blocks)):
        names |= {f"blocks.{i}.{a}.weight": f"layers.{i}.{b}.weight" for a, b in parts.items()}
    assert set(names) == set(own) and set(names.values()) == set(tensors), "not a trunk of this script"
    with torch.no_grad():
        for name, stored in names.items():
            own[name].copy_(tensors[stored])


def train(args):
    metadata, tensors = read_safetensors(args.train)
    s, batch = json.loads(metadata["blueprint"]), int(metadata["batch"])
    peak, least, warmup, decay, clip = (float(metadata[k]) for k in ("lr", "min_lr", "warmup", "weight_decay", "clip"))
    encoding = metadata["encoding"]
    assert encoding.startswith("rope:theta=10000,pairing=adjacent"), encoding
    windows, held_out = (tensors.pop(f"windows.{k}").long() for k in ("train", "heldout"))
    model = Trunk(s, rope_theta=10000.0)
    load(model, tensors)
    optimizer, steps = optimizer_of(model, decay), len(windows) // batch
    rise, losses = max(1, int(warmup * steps)), []
    for i in range(steps):
        if i < rise:
            lr = peak * (i + 1) / rise
        else:
            cosine = 0.5 * (1 + math.cos(math.pi * (i - rise) / max(1, steps - rise)))
            lr = peak * (least + (1 - least) * cosine)
        losses.append(step(model, optimizer, windows[i * batch : (i + 1) * batch], lr, clip))
        if i < 3 or (i + 1) % 50 == 0:
            print(f"step {i + 1}/{steps} loss {losses[-1]:.5f}", file=sys.stderr)
    with torch.no_grad():
        total = sum(model.loss(w[:, :-1], w[:, 1:]).item() * len(w) for w in held_out.split(batch))
    print(f"train_loss {statistics.mean(losses[-50:]):.5f}\nheldout_loss {total / len(held_out):.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--gated", action="store_true", help="RMSNorm and SwiGLU")
    parser.add_argument("--train", metavar="FILE")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if args.throughput == bool(args.train):
        parser.error("expected either --throughput or --train")
    torch.set_num_threads(args.threads)
    throughput(args) if args.throughput else train(args)
    with open("/proc/self/maps") as maps:
        blas = {line.split()[-1] for line in maps if "blas" in line}
    print("torch", torch.__version__, args.threads, "threads,", ", ".join(sorted(blas)), file=sys.stderr)


main()
