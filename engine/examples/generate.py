# SPDX-License-Identifier: MIT
"""Loads a model and lets it continue a text, from Python without any package:
    python3 generate.py LIBORDO.SO MODEL PROMPT
The text is drawn token by token, so that the logits are at hand."""
import ctypes
import sys

I32, SIZE, TEXT = ctypes.c_int32, ctypes.c_size_t, ctypes.c_char_p


def load_library(path):
    ordo = ctypes.CDLL(path)
    if ordo.ordo_abi_version() != 1:
        sys.exit("libordo.so: expected ABI version 1, found %d" % ordo.ordo_abi_version())
    pointers = {"ordo_model_load": [TEXT, ctypes.c_void_p], "ordo_session_new": [ctypes.c_void_p] * 2}
    for name, arguments in pointers.items():
        getattr(ordo, name).restype = ctypes.c_void_p
        getattr(ordo, name).argtypes = arguments
    ordo.ordo_error_text.restype = TEXT
    for name in ("ordo_model_free", "ordo_session_free"):
        getattr(ordo, name).argtypes = [ctypes.c_void_p]
    for name in ("ordo_model_vocab_size", "ordo_model_end_of_text"):
        getattr(ordo, name).argtypes = [ctypes.c_void_p]
    ordo.ordo_encode.restype = ordo.ordo_decode.restype = ctypes.c_ssize_t
    ordo.ordo_encode.argtypes = [ctypes.c_void_p, TEXT, SIZE, I32, ctypes.POINTER(I32), SIZE]
    ordo.ordo_decode.argtypes = [ctypes.c_void_p, ctypes.POINTER(I32), SIZE, TEXT, SIZE]
    ordo.ordo_session_feed.restype = ctypes.POINTER(ctypes.c_float)
    ordo.ordo_session_feed.argtypes = [ctypes.c_void_p, ctypes.POINTER(I32), SIZE]
    return ordo


def main(library, path, prompt):
    ordo = load_library(library)

    def checked(result):
        if not result or result == -1:
            sys.exit(ordo.ordo_error_text().decode())
        return result

    def tokens(ids):
        return (I32 * len(ids))(*ids), len(ids)

    model = checked(ordo.ordo_model_load(path.encode(), None))
    session = checked(ordo.ordo_session_new(model, None))
    text = prompt.encode()
    count = checked(ordo.ordo_encode(model, text, len(text), 0, None, 0))
    ids = (I32 * count)()
    ordo.ordo_encode(model, text, len(text), 0, ids, count)

    end, size = ordo.ordo_model_end_of_text(model), ordo.ordo_model_vocab_size(model)
    written, fed = [], [end] + list(ids)  # documents begin with it
    while len(written) < 48:
        logits = checked(ordo.ordo_session_feed(session, *tokens(fed)))
        fed = [max(range(size), key=logits.__getitem__)]
        if fed[0] == end:
            break
        written += fed
    room = ctypes.create_string_buffer(64 * 1024)
    length = ordo.ordo_decode(model, *tokens(written), room, len(room))
    print(room.raw[:length].decode(errors="ignore"))
    ordo.ordo_session_free(session)
    ordo.ordo_model_free(model)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
