# SPDX-License-Identifier: MIT
"""The parts of ordo.py that engine/examples/generate.py leaves out:
    use.py MODEL PROMPT, which writes the greedy continuation of 48 tokens"""
import math
import sys

import ordo

model = ordo.Model(sys.argv[1])
prompt = sys.argv[2]
tokens = model.encode(prompt, start=True)
assert tokens[0] == model.start_of_text and tokens[1:] == model.encode(prompt)

# Each score is the log-softmax of the logits before its token.
session = model.session(cache="f32")
rows = session.feed_all(tokens)
scores = model.score(prompt)
assert [token for token, _ in scores] == tokens[1:]
for row, (token, log_probability) in zip(rows, scores):
    most = max(row)
    exact = row[token] - most - math.log(math.fsum(math.exp(x - most) for x in row))
    assert abs(exact - log_probability) < 1e-4, (exact, log_probability)

# Each type of a cache rounds in its own way.
kept = {tuple(model.session(cache=kind).feed(tokens)) for kind in ordo.CACHES}
assert len(kept) == len(ordo.CACHES) == 4

# A batch continues sessions as feed() does.
batch, other = ordo.Batch(model, 2), model.session()
other.feed(tokens[:-1])
session.rewind(len(tokens) - 1)
logits = batch.feed([session, other], [tokens[-1]] * 2)
assert len(session) == len(tokens) and max(abs(a - b) for a, b in zip(logits[0], rows[-1])) < 1e-3
assert logits[0] == logits[1]

assert model.encoding.startswith("rope:") and model.with_encoding("alibi").encoding.startswith("alibi")
scaled = ordo.Model(sys.argv[1], rope="scaling=linear,factor=4")
assert "scaling=linear,factor=4" in scaled.encoding
warnings = []
ordo.Model(sys.argv[1], encoding="none", force_encoding=True, on_warning=warnings.append)
assert "running with 'none'" in warnings[0], warnings
assert abs(math.fsum(x * x for x in model.embed(prompt)) - 1) < 1e-5
assert model.sampling(seed=7).seed == 7
for wrong in (lambda: model.fill(prompt), lambda: ordo.Model("absent"), lambda: model.with_encoding("ropes")):
    try:
        wrong()
        raise AssertionError("expected an error")
    except ordo.Error as error:
        assert error.status in (2, 5) and str(error), error


def fails(_):
    raise KeyError("through C")


try:
    model.generate(prompt, on_text=fails)
    raise AssertionError("expected a KeyError")
except KeyError:
    pass
pieces = []
assert model.generate(prompt, on_text=lambda text: pieces.append(text) or False) == pieces[0]
assert model.reason == "callback"
print(model.generate(prompt, max_tokens=48, temperature=0))
