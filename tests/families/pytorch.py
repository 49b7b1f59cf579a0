# SPDX-License-Identifier: MIT
"""The files that torch.save() writes of a state dictionary, made without PyTorch: a zip archive of stored entries,
whose data begin at multiples of 64 bytes, with a pickle of protocol 2 (PyTorch's caffe2/serialize/inline_container.h
and torch/_utils.py)."""
import collections
import io
import pickle
import sys
import types
import zipfile

import numpy as np

STORAGES = {
    "F32": "FloatStorage",
    "F16": "HalfStorage",
    "BF16": "BFloat16Storage",
    "I64": "LongStorage",
    "U8": "ByteStorage",
}
WIDTHS = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U8": 1}
HOOKS = collections.OrderedDict


def standing_in(module, name, value):
    """A value that pickle writes as `module.name`."""
    value.__module__, value.__qualname__, value.__name__ = module, name, name
    setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, value)
    return value


rebuild_tensor = standing_in("torch._utils", "_rebuild_tensor_v2", lambda *parts: parts)
rebuild_parameter = standing_in("torch._utils", "_rebuild_parameter", lambda tensor, *rest: tensor)
TYPES = {kind: standing_in("torch", name, type(name, (), {})) for kind, name in STORAGES.items()}


class Storage:
    def __init__(self, key, kind, count):
        self.key, self.kind, self.count = key, kind, count


class Tensor:
    def __init__(self, storage, offset, shape, strides, parameter):
        self.parts = (storage, offset, tuple(shape), tuple(strides), parameter, HOOKS())
        self.parameter = parameter

    def __reduce__(self):
        if not self.parameter:
            return rebuild_tensor, self.parts
        return rebuild_parameter, (Tensor(*self.parts[:4], False), True, HOOKS())


class StateDictionary(collections.OrderedDict):
    """With the attribute that Module.state_dict() gives it."""

    def __reduce__(self):
        return HOOKS, (), {"_metadata": HOOKS({"": {"version": 1}})}, None, iter(self.items())


class Pickler(pickle._Pickler):  # the one in Python, whose table may be added to
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return "storage", TYPES[value.kind], value.key, "cpu", value.count
        return None


def in_order(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides[: len(shape)]


def write(path, arrays, as_bytes, transposed=(), tied=None):
    """as_bytes(array) -> kind, bytes; transposed: names of tensors that are stored the other way round and have
    strides; tied: a tensor's name, and that of another on its storage. Vectors are parameters that share one storage,
    as a flat buffer's are."""
    state, storages = StateDictionary(), []

    def storage(kind, data):
        storages.append(data)
        return Storage(str(len(storages) - 1), kind, len(data) // WIDTHS[kind])

    flat = {name: as_bytes(array) for name, array in arrays.items() if array.ndim == 1}
    kinds = {kind for kind, _ in flat.values()}
    buffer, offset = storage(*kinds, b"".join(data for _, data in flat.values())) if len(kinds) == 1 else None, 0
    for name, array in arrays.items():
        shape = array.shape
        if buffer is not None and name in flat:
            state[name] = Tensor(buffer, offset, shape, [1], True)
            offset += shape[0]
        elif name in transposed:
            state[name] = Tensor(storage(*as_bytes(array.T)), 0, shape, [1, shape[0]], False)
        else:
            state[name] = Tensor(storage(*as_bytes(array)), 0, shape, in_order(shape), False)
        if tied and name == tied[0]:
            state[tied[1]] = Tensor(*state[name].parts[:5])
    content = io.BytesIO()
    pickler = Pickler(content, 2)
    pickler.dump(state)
    entries = {"data.pkl": content.getvalue(), "byteorder": b"little"}
    entries |= {f"data/{key}": data for key, data in enumerate(storages)} | {"version": b"3\n"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(f"{path.stem}/{name}", (1980, 1, 1, 0, 0, 0))
            start = archive.fp.tell() + 30 + len(entry.filename)
            entry.extra = b"FB" + (-(start + 4) % 64).to_bytes(2, "little") + b"Z" * (-(start + 4) % 64)
            archive.writestr(entry, data)


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        return HOOKS if (module, name) == ("collections", "OrderedDict") else getattr(sys.modules[module], name)

    def persistent_load(self, parts):
        _, kind, key, _, _ = parts
        return {cls: kind for kind, cls in TYPES.items()}[kind], key


def read(path, as_array):
    """name -> array; as_array(kind, bytes) -> flat array"""
    with zipfile.ZipFile(path) as archive:
        folder, arrays = path.stem, {}
        for name, parts in Unpickler(io.BytesIO(archive.read(f"{folder}/data.pkl"))).load().items():
            (kind, key), offset, shape, strides = parts[:4]
            values = as_array(kind, archive.read(f"{folder}/data/{key}"))
            places = np.zeros((), np.int64) + offset
            for axis, (size, stride) in enumerate(zip(shape, strides)):
                places = places[..., None] + np.arange(size) * stride
            arrays[name] = values[places.reshape(-1)].reshape(shape)
    return arrays
