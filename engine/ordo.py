# SPDX-License-Identifier: MIT
"""Ordo for Python: ordo_c.h through ctypes, without any other package.

    import ordo

    model = ordo.Model(ordo.weights_file("rope.safetensors"))
    print(model.generate("Once upon a time", max_tokens=48, seed=1))
    for token, log_probability in model.score("Once upon a time"):
        print(model.decode([token]), log_probability)

ordo.h explains the functions, the limits and the threads. A function of the library that fails raises ordo.Error. A
number out of range raises OverflowError. Ctrl-C raises KeyboardInterrupt after the chunk or the token in progress. The
library is the file $ORDO_LIBRARY, or libordo.so where this module is installed, or where the system finds it.
"""
import array
import ctypes
import operator
import os
import pathlib

_ABI_VERSION = 1
_float, _double, _i32, _u64 = ctypes.c_float, ctypes.c_double, ctypes.c_int32, ctypes.c_uint64
_size, _ssize, _text, _pointer = ctypes.c_size_t, ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_void_p
_i32s, _floats = ctypes.POINTER(_i32), ctypes.POINTER(_float)
_on_warning = ctypes.CFUNCTYPE(None, _text, _pointer)

SPECIAL, START = 1, 2
POOLINGS = ("mean", "first", "last")
CACHES = ("f32", "f16", "q8_0", "bf16")
REASONS = ("max_tokens", "end_of_text", "stop_text", "full", "callback")


def _within(value, kind=_i32):
    """An integer that a C type can hold. ctypes alone would drop its upper bits."""
    number = operator.index(value)
    if kind(number).value != number:
        raise OverflowError("expected an integer of %d bits, found %d" % (8 * ctypes.sizeof(kind), number))
    return number


class _Structure(ctypes.Structure):
    """A structure of ordo_c.h with its defaults, if it has any; the keywords are fields."""

    def __init__(self, **fields):
        super().__init__()
        ctypes.Structure.__setattr__(self, "size", ctypes.sizeof(type(self)))
        if hasattr(self, "_defaults"):
            getattr(_library, self._defaults)(ctypes.byref(self))
        self._set(fields)

    def _set(self, fields):
        known = [name for name, _ in self._fields_[1:]]
        for name, value in fields.items():
            if name not in known:
                raise TypeError("expected one of %s, found %r" % (", ".join(known), name))
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = dict(self._fields_[1:]).get(name)
        if kind is None:
            raise AttributeError("%s has no field %r" % (type(self).__name__.strip("_"), name))
        super().__setattr__(name, _within(value, kind) if kind in (_i32, _u64, _size) else value)


class _LoadOptions(_Structure):
    _defaults = "ordo_load_options_defaults"
    _fields_ = [("size", _size), ("encoding", _text), ("force_encoding", _i32), ("dtype", _text),
                ("max_memory", _u64), ("rope", _text), ("on_warning", _on_warning), ("user", _pointer)]


class _SessionOptions(_Structure):
    _defaults = "ordo_session_options_defaults"
    _fields_ = [("size", _size), ("capacity", _i32), ("chunk", _i32), ("first_position", _i32), ("half_cache", _i32),
                ("byte_cache", _i32), ("bf16_cache", _i32)]


class Sampling(_Structure):
    """How to sample a token: Sampling(temperature=0) is greedy."""
    _defaults = "ordo_sampling_defaults"
    _fields_ = [("size", _size), ("temperature", _float), ("top_k", _i32), ("top_p", _float), ("min_p", _float),
                ("repeat_penalty", _float), ("repeat_last_n", _i32), ("seed", _u64)]


class _GenerateOptions(_Structure):
    _defaults = "ordo_generate_options_defaults"
    _fields_ = [("size", _size), ("max_tokens", _i32), ("sampling", ctypes.POINTER(Sampling)),
                ("session", ctypes.POINTER(_SessionOptions)), ("stop", ctypes.POINTER(_text)), ("stop_count", _size),
                ("special", _i32), ("context_shift", _i32), ("keep", _i32)]


class _Generation(_Structure):
    _fields_ = [("size", _size), ("reason", ctypes.c_int), ("prompt_tokens", _i32), ("new_tokens", _i32),
                ("prefill_seconds", _double), ("decode_seconds", _double)]


class _TokenScore(ctypes.Structure):
    _fields_ = [("token", _i32), ("log_probability", _float)]


class _Candidate(ctypes.Structure):
    _fields_ = [("index", _i32), ("token", _i32), ("probability", _float)]


# The result and the arguments of each function that is called.
_FUNCTIONS = {
    "ordo_abi_version": (ctypes.c_int,),
    "ordo_version": (_text,),
    "ordo_error_text": (_text,),
    "ordo_error_status": (ctypes.c_int,),
    "ordo_load_options_defaults": (None, _pointer),
    "ordo_session_options_defaults": (None, _pointer),
    "ordo_sampling_defaults": (None, _pointer),
    "ordo_generate_options_defaults": (None, _pointer),
    "ordo_weights_file": (_ssize, _text, _text, _size),
    "ordo_model_load": (_pointer, _text, _pointer),
    "ordo_model_free": (None, _pointer),
    "ordo_model_with_encoding": (_pointer, _pointer, _text),
    "ordo_model_vocab_size": (_i32, _pointer),
    "ordo_model_context": (_i32, _pointer),
    "ordo_model_start_of_text": (_i32, _pointer),
    "ordo_model_end_of_text": (_i32, _pointer),
    "ordo_model_encoding": (_ssize, _pointer, _text, _size),
    "ordo_model_sampling": (ctypes.c_int, _pointer, _pointer),
    "ordo_encode": (_ssize, _pointer, _text, _size, _i32, _i32s, _size),
    "ordo_decode": (_ssize, _pointer, _i32s, _size, _text, _size),
    "ordo_writer_new": (_pointer, _pointer, _text, _size, _pointer),
    "ordo_writer_free": (None, _pointer),
    "ordo_writer_next": (_ssize, _pointer, _pointer, _pointer),
    "ordo_score": (_ssize, _pointer, _text, _size, ctypes.POINTER(_TokenScore), _size),
    "ordo_embed": (_ssize, _pointer, _text, _size, _i32, _i32, _floats, _size),
    "ordo_fill": (_ssize, _pointer, _text, _size, _i32, ctypes.POINTER(_Candidate), _size),
    "ordo_session_new": (_pointer, _pointer, _pointer),
    "ordo_session_free": (None, _pointer),
    "ordo_session_feed": (_floats, _pointer, _i32s, _size),
    "ordo_session_feed_into": (ctypes.c_int, _pointer, _i32s, _size, _floats),
    "ordo_session_size": (_i32, _pointer),
    "ordo_session_capacity": (_i32, _pointer),
    "ordo_session_rewind": (ctypes.c_int, _pointer, _i32),
    "ordo_batch_new": (_pointer, _pointer, _i32, _i32),
    "ordo_batch_free": (None, _pointer),
    "ordo_batch_feed": (_floats, _pointer, ctypes.POINTER(_pointer), _i32s, _size),
}


def _open():
    folders = list(pathlib.Path(__file__).resolve().parents)[:5]
    nearby = [folder / "libordo.so" for base in folders for folder in (base, base / "lib", base / "build" / "release")]
    found = [str(file) for file in nearby if file.exists()]
    library = ctypes.CDLL(os.environ.get("ORDO_LIBRARY") or (found[0] if found else "libordo.so"))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.ordo_abi_version() != _ABI_VERSION:
        raise ImportError("libordo.so: expected ABI version %d, found %d" % (_ABI_VERSION, library.ordo_abi_version()))
    return library


_library = _open()


class Error(Exception):
    """The reason in one line; status is an ordo_status."""

    def __init__(self):
        super().__init__(_library.ordo_error_text().decode(errors="replace"))
        self.status = _library.ordo_error_status()


def version():
    return _library.ordo_version().decode()


def _ok(status):
    if status != 0:
        raise Error()


def _made(pointer):
    if not pointer:
        raise Error()
    return pointer


def _filled(call, kind):
    """The text that a function writes into a buffer: call(out, capacity) returns the whole length."""
    length = call(None, 0)
    if length < 0:
        raise Error()
    out = (kind * length)()
    if call(out, length) < 0:
        raise Error()
    return out


def _string(call):
    length = call(None, 0)
    if length < 0:
        raise Error()
    out = ctypes.create_string_buffer(length + 1)
    call(out, length + 1)
    return out.raw[:length]


def _without_zeros(data):
    if b"\0" in data:
        raise ValueError("expected a text without zeros, found %r" % data)
    return data


def _bytes(text):
    return None if text is None else _without_zeros(os.fsencode(text))


def _tokens(tokens):
    ids = array.array("i", list(tokens))
    return (_i32 * len(ids))(*ids), len(ids)


class _Owner:
    """Owns what a function of the library made: a copy would free it twice."""

    def __reduce__(self):
        raise TypeError("a %s cannot be copied or pickled" % type(self).__name__)

    def _close(self):
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            self._free(pointer)

    __del__ = _close


def weights_file(name):
    """The path of a shipped file, such as "rope.safetensors"."""
    return os.fsdecode(_string(lambda out, room: _library.ordo_weights_file(_bytes(name), out, room)))


class Model(_Owner):
    """Weights and a tokenizer. on_warning(text) is called for each warning after loading."""
    _free = _library.ordo_model_free

    def __init__(self, path, encoding=None, force_encoding=False, dtype=None, rope=None, max_memory=0,
                 on_warning=None):
        texts = {}
        warn = _on_warning(texts.setdefault)  # in C alone: Python code could raise what cannot pass through C
        options = _LoadOptions(encoding=_bytes(encoding), force_encoding=force_encoding, dtype=_bytes(dtype),
                               rope=_bytes(rope), max_memory=max_memory, on_warning=warn)
        pointer = _library.ordo_model_load(_bytes(path), ctypes.byref(options))
        self._own(pointer)
        for text in texts if on_warning else ():
            on_warning(text.decode(errors="replace"))

    def _own(self, pointer):
        self._pointer = _made(pointer)
        self.vocab_size = _library.ordo_model_vocab_size(pointer)
        self.context = _library.ordo_model_context(pointer)
        self.start_of_text = _library.ordo_model_start_of_text(pointer)
        self.end_of_text = _library.ordo_model_end_of_text(pointer)
        self.encoding = _string(lambda out, room: _library.ordo_model_encoding(pointer, out, room)).decode()

    def with_encoding(self, spec):
        """The same weights in memory under another encoding."""
        other = Model.__new__(Model)
        other._own(_library.ordo_model_with_encoding(self._pointer, _bytes(spec)))
        return other

    def encode(self, text, special=False, start=False):
        """Text to a list of tokens. start=True begins as a prompt does."""
        data, flags = text.encode(), SPECIAL * bool(special) + START * bool(start)
        return list(_filled(lambda out, room: _library.ordo_encode(self._pointer, data, len(data), flags, out, room),
                            _i32))

    def decode(self, tokens):
        ids, count = _tokens(tokens)
        data = _string(lambda out, room: _library.ordo_decode(self._pointer, ids, count, out, room))
        return data.decode(errors="replace")

    def sampling(self, **changes):
        """The settings that the model's files recommend, or the defaults, with changes."""
        settings = Sampling()
        _ok(_library.ordo_model_sampling(self._pointer, ctypes.byref(settings)))
        settings._set(changes)
        return settings

    def generate(self, prompt, max_tokens=128, on_text=None, stop=(), special=False, context_shift=False, keep=4,
                 **sampling):
        """Continues a prompt and returns the continuation. on_text(piece) may return False to stop.

        stop is a text, or several. The other keywords are the fields of Sampling. Afterwards model.reason says why it
        ended.
        """
        texts = [_without_zeros(text.encode()) for text in ([stop] if isinstance(stop, str) else stop)]
        options = _GenerateOptions(max_tokens=max_tokens, sampling=ctypes.pointer(Sampling(**sampling)),
                                   stop=(_text * len(texts))(*texts), stop_count=len(texts), special=bool(special),
                                   context_shift=bool(context_shift), keep=keep)
        pieces, writer = [], _Writer(self, prompt.encode(), options)
        try:
            for data in filter(None, iter(writer.step, None)):
                pieces.append(data.decode(errors="replace"))
                if on_text is not None and on_text(pieces[-1]) is False:
                    self.reason = REASONS[-1]
                    break
            else:
                self.reason = REASONS[writer.result.reason]
        finally:
            writer._close()
        return "".join(pieces)

    def score(self, text):
        """A list of (token, log-probability), natural, given the tokens before it."""
        data = text.encode()
        scores = _filled(lambda out, room: _library.ordo_score(self._pointer, data, len(data), out, room), _TokenScore)
        return [(one.token, one.log_probability) for one in scores]

    def embed(self, text, pooling="mean", normalised=True):
        """A text's vector: floats."""
        data, kind = text.encode(), POOLINGS.index(pooling)
        return list(_filled(lambda out, room: _library.ordo_embed(self._pointer, data, len(data), kind, normalised, out,
                                                                  room), _float))

    def fill(self, text, candidates=5):
        """For each mask token of a text a list of (token, probability), the likeliest first."""
        data, most, blanks = text.encode(), _within(candidates), {}
        found = _filled(lambda out, room: _library.ordo_fill(self._pointer, data, len(data), most, out, room),
                        _Candidate)
        for one in found:
            blanks.setdefault(one.index, []).append((one.token, one.probability))
        return list(blanks.values())

    def session(self, capacity=0, chunk=256, first_position=0, cache="f32"):
        return Session(self, capacity, chunk, first_position, cache)


class _Writer(_Owner):
    """A continuation. Python code runs between its steps, and none inside, so that any exception leaves the loop."""
    _free = _library.ordo_writer_free

    def __init__(self, model, prompt, options):
        self._model, self._text, self.result = model, _pointer(), _Generation()
        self._pointer = _made(_library.ordo_writer_new(model._pointer, prompt, len(prompt), ctypes.byref(options)))

    def step(self):
        """The new bytes, perhaps none; None at the end."""
        length = _library.ordo_writer_next(self._pointer, ctypes.byref(self._text), ctypes.byref(self.result))
        if length < 0:
            raise Error()
        return ctypes.string_at(self._text, length) if self._text else None


class Session(_Owner):
    """One sequence. Its model stays until it is gone."""
    _free = _library.ordo_session_free

    def __init__(self, model, capacity=0, chunk=256, first_position=0, cache="f32"):
        kind = CACHES.index(cache)
        options = _SessionOptions(capacity=capacity, chunk=chunk, first_position=first_position, half_cache=kind == 1,
                                  byte_cache=kind == 2, bf16_cache=kind == 3)
        self.model = model
        self._pointer = _made(_library.ordo_session_new(model._pointer, ctypes.byref(options)))

    def feed(self, tokens):
        """Appends tokens and returns the logits after the last, a list of vocab_size floats."""
        return _made(_library.ordo_session_feed(self._pointer, *_tokens(tokens)))[:self.model.vocab_size]

    def feed_all(self, tokens):
        """The same with the logits after every token."""
        (ids, count), size = _tokens(tokens), self.model.vocab_size
        logits = (_float * (count * size))()
        _ok(_library.ordo_session_feed_into(self._pointer, ids, count, logits))
        return [logits[i * size:(i + 1) * size] for i in range(count)]

    def rewind(self, size):
        _ok(_library.ordo_session_rewind(self._pointer, _within(size)))

    def __len__(self):
        return _library.ordo_session_size(self._pointer)

    @property
    def capacity(self):
        return _library.ordo_session_capacity(self._pointer)


class Batch(_Owner):
    """Several sessions of a model that advance together, a token of each at a time."""
    _free = _library.ordo_batch_free

    def __init__(self, model, max_sessions, max_tokens=0):
        self.model = model
        self._pointer = _made(_library.ordo_batch_new(model._pointer, _within(max_sessions), _within(max_tokens)))

    def feed(self, sessions, tokens):
        """Appends tokens[i] to sessions[i] and returns the logits after each."""
        if len(sessions) != len(tokens):
            raise ValueError("expected a token for each of %d sessions, found %d" % (len(sessions), len(tokens)))
        pointers = (_pointer * len(sessions))(*[session._pointer for session in sessions])
        logits = _made(_library.ordo_batch_feed(self._pointer, pointers, *_tokens(tokens)))
        size = self.model.vocab_size
        return [logits[i * size:(i + 1) * size] for i in range(len(sessions))]
