# SPDX-License-Identifier: MIT
"""ordo.py under signals, wrong arguments and bytes that are no UTF-8:
    faults.py MODEL"""
import copy
import pickle
import signal
import sys

import ordo

model = ordo.Model(sys.argv[1])
prompt = "Once upon a time"


class Interrupted(Exception):
    pass


def interrupts(compute, first, last, rounds=40):
    """Raises in a signal's handler after first ... last seconds; what the handler raised leaves compute()."""
    ran = []

    def handler(*_):
        ran.append(1)
        raise Interrupted

    lost = []  # in a finaliser, whose exceptions Python prints and drops
    sys.unraisablehook = lost.append
    signal.signal(signal.SIGALRM, handler)
    raised = 0
    for i in range(rounds):
        try:
            signal.setitimer(signal.ITIMER_REAL, first + (last - first) * i / rounds)
            compute()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            raised += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.unraisablehook = sys.__unraisablehook__
    assert raised + len(lost) == len(ran) > 0, (compute, raised, len(lost), len(ran))


tokens = model.encode(prompt, start=True)
interrupts(lambda: model.generate(prompt, max_tokens=64, seed=1), 0.0005, 0.02)
interrupts(lambda: model.generate(prompt, max_tokens=64, seed=1, on_text=len), 0.0005, 0.02)
interrupts(lambda: model.session().feed_all(tokens * 20), 0.0005, 0.02)
interrupts(lambda: ordo.Model(sys.argv[1], encoding="none", force_encoding=True, on_warning=len), 0.0005, 0.02)
whole = model.generate(prompt, max_tokens=64, seed=1)
assert whole == model.generate(prompt, max_tokens=64, seed=1) and len(whole) > 100

# Bytes that are no UTF-8 do not lose the text.
wild = dict(max_tokens=200, temperature=1000, top_k=0, top_p=1, min_p=0, seed=1)
pieces = []
text = model.generate(prompt, on_text=lambda piece: pieces.append(piece) is None, **wild)
assert "\ufffd" in text and text == "".join(pieces)


def raises(kind, *calls):
    for call in calls:
        try:
            call()
        except kind:
            continue
        raise AssertionError("expected %s of call %d" % (kind.__name__, calls.index(call)))


session, batch = model.session(), ordo.Batch(model, 1)
for owner in (model, session, batch):
    raises(TypeError, lambda: copy.copy(owner), lambda: copy.deepcopy([owner]), lambda: pickle.dumps({1: owner}))

settings = ordo.Sampling()
beyond = 2**32 + 1
raises(OverflowError, lambda: ordo.Sampling(top_k=beyond), lambda: ordo.Sampling(seed=-1),
       lambda: ordo.Sampling(seed=2**64), lambda: model.sampling(repeat_last_n=beyond),
       lambda: setattr(settings, "top_k", -beyond), lambda: model.generate(prompt, max_tokens=beyond),
       lambda: model.generate(prompt, keep=beyond), lambda: model.session(capacity=beyond),
       lambda: model.session(first_position=beyond), lambda: session.feed([beyond]),
       lambda: session.feed_all([beyond]), lambda: session.rewind(beyond), lambda: model.decode([beyond]),
       lambda: ordo.Batch(model, beyond), lambda: ordo.Batch(model, 1, beyond), lambda: model.fill(prompt, beyond),
       lambda: batch.feed([session], [beyond]), lambda: ordo.Model(sys.argv[1], max_memory=2**64))
raises(TypeError, lambda: model.generate(prompt, temprature=1), lambda: model.sampling(temprature=1),
       lambda: ordo.Sampling(size=1), lambda: ordo.Sampling(top_k=1.5), lambda: session.feed([1.5]))
raises(AttributeError, lambda: setattr(settings, "temprature", 1))
raises(ValueError, lambda: ordo.Model(sys.argv[1] + "\0.txt"), lambda: model.with_encoding("alibi\0"),
       lambda: ordo.Model(sys.argv[1], rope="factor=4\0"), lambda: ordo.weights_file("rope.safetensors\0"),
       lambda: model.generate(prompt, stop=["a\0"]))

# A zero is a character of a text like any other: what follows it counts.
greedy = dict(max_tokens=8, temperature=0)
assert model.generate(prompt + "\0 there", **greedy) != model.generate(prompt, **greedy)
assert model.decode(model.encode("a\0b")) == "a\0b" and len(model.score("a\0b")) == len(model.encode("a\0b"))

# One stop text may come without a list around it.
stop = whole[40:44]
assert model.generate(prompt, max_tokens=64, seed=1, stop=stop) == whole[:whole.index(stop)]
assert model.generate(prompt, max_tokens=64, seed=1, stop=(part for part in [stop])) == whole[:whole.index(stop)]
assert model.reason == "stop_text"
