# SPDX-License-Identifier: MIT
"""Loads a model and lets it continue a text, token by token, so that the logits are at hand:
    python3 generate.py MODEL PROMPT
ordo.py comes with `make install`; it needs no other package."""
import sys

import ordo

if len(sys.argv) != 3:
    sys.exit(__doc__)
try:
    model = ordo.Model(sys.argv[1])
    session = model.session()
    logits = session.feed(model.encode(sys.argv[2], start=True))
    written = []
    while len(written) < 48:
        token = max(range(model.vocab_size), key=logits.__getitem__)
        if token == model.end_of_text:
            break
        written.append(token)
        logits = session.feed([token])
    print(model.decode(written))
except ordo.Error as error:
    print(error, file=sys.stderr)
    sys.exit(error.status)
