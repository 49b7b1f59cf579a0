# SPDX-License-Identifier: MIT
"""A fixture: a family's configuration, its tensors under the names of its own files, and what it answers."""
import json
import pathlib
import zlib
from dataclasses import dataclass, field
from typing import Callable, Optional

import numpy as np

import pytorch

HERE = pathlib.Path(__file__).resolve().parent

# --- random numbers, the same in every version of every library -----------------------------------------


def mixed(key, count):
    """`count` uniform numbers in [0, 1) of a stream of their own (SplitMix64 of a counter)."""
    with np.errstate(over="ignore"):
        z = np.uint64(zlib.crc32(key.encode())) * np.uint64(0x2545F4914F6CDD1D) + np.arange(
            1, count + 1, dtype=np.uint64
        ) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(float) / 2.0**53


def normal(key, shape):
    """Nearly normal: the sum of four uniform numbers, of mean 0 and variance 1."""
    count = int(np.prod(shape))
    return ((mixed(key, 4 * count).reshape(4, count).sum(0) - 2) * 3**0.5).reshape(shape)


def exact(values):
    """Rounded to what float32, float16 and bfloat16 all hold without loss: 8 significant bits, in half's range."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)
    rounded = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(np.abs(rounded) < 2.0**-17, 0.0, rounded)


# --- tensors as a family's file has them ----------------------------------------------------------------


def linear(shape, gain=1.0, inputs=None):
    """A matrix [out, in] whose outputs have `gain` times the inputs' deviation."""
    return shape, 0.0, gain / (inputs or shape[-1]) ** 0.5


def norm(width, mean=1.0):
    return (width,), mean, 0.3


def bias(width, deviation=0.3):
    return (width,), 0.0, deviation


def table(rows, width, deviation=0.5):
    return (rows, width), 0.0, deviation


def pairs(prefix, *parts):
    """(name, made of a weight, made of a bias) ..."""
    return {
        f"{prefix}{name}.{kind}": made
        for name, weight, bias_ in parts
        for kind, made in (("weight", weight), ("bias", bias_))
    }


@dataclass
class Fixture:
    """tensors(config): name -> (shape, mean, deviation), an array of what is no weight (a mask, say), or the name of a
    tensor that this one repeats; forward(config, weights, case) -> logits, a row for each token of case["tokens"].
    config is what NAME/config.json says: that file is written by hand. A tensor's name may have a folder, "2_Dense/"."""

    name: str
    tensors: Callable
    forward: Callable
    dtype: str = "F16"
    cases: list = field(default_factory=list)  # their input; a short and a long one of their own accord
    long: int = 40
    greedy: int = 12  # tokens to go on with after the first case; 0 where nothing is generated
    seed: Optional[str] = None  # whose random numbers: the name's, or those of a fixture with the same weights
    hidden: Optional[Callable] = None  # (config, weights, case) -> [tokens, d] in front of the head
    bins: int = 0  # how many files of PyTorch's there are in place of model.safetensors
    fine: float = 5e-4  # by how much exchanging two forms of GELU must change some logit
    unread: tuple = ()  # tensors that the file has and no logit depends on: patterns with N for a layer

    def __post_init__(self):
        self.folder = HERE / self.name
        self.config = json.loads((self.folder / "config.json").read_text())
        self.seed = self.seed or self.name
        self.cases = self.cases or usual_cases(self.seed, self.config["vocab_size"], self.long)

    def stored(self):
        """name -> array, in the order of the file"""
        arrays = {}
        for name, made in self.tensors(self.config).items():
            if isinstance(made, np.ndarray):
                arrays[name] = made
            elif isinstance(made, str):
                arrays[name] = arrays[made]
            else:
                shape, mean, deviation = made
                arrays[name] = exact(mean + deviation * normal(f"{self.seed}/{name}", shape))
        return arrays


def tokens(key, count, vocabulary, first=4):
    """Random ids from `first` on: the ids before are begin, end, padding and the like."""
    return [first + int(u * (vocabulary - first)) for u in mixed("tokens/" + key, count)]


def usual_cases(key, vocabulary, long):
    """A short case with the logits of every token, and a long one with the last three."""
    return [
        {"tokens": tokens(key + "/short", 6, vocabulary)},
        {"tokens": tokens(key + "/long", long, vocabulary), "last": 3},
    ]


# --- safetensors ----------------------------------------------------------------------------------------


def as_bytes(array, dtype):
    if array.dtype == np.int64:
        return "I64", array.astype("<i8").tobytes()
    if array.dtype == np.uint8:
        return "U8", array.tobytes()
    if array.dtype == np.float32 or dtype == "F32":  # what is float32 here stays so beside halves: masks, frequencies
        return "F32", array.astype("<f4").tobytes()
    if dtype == "F16":
        return "F16", array.astype("<f2").tobytes()
    assert dtype == "BF16"
    return "BF16", (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


def write_safetensors(path, arrays, dtype):
    header, parts, end = {"__metadata__": {"format": "pt"}}, [], 0
    for name in sorted(
        arrays, key=lambda name: (-len(as_bytes(arrays[name].flat[:1], dtype)[1]), name)
    ):  # wide elements first: aligned
        kind, data = as_bytes(arrays[name], dtype)
        header[name] = {"dtype": kind, "shape": list(arrays[name].shape), "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def read_safetensors(path):
    """name -> array of float64, or of what it is"""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, arrays = json.loads(data[8 : 8 + length]), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = as_array(entry["dtype"], data[begin:end]).reshape(entry["shape"])
    return arrays


def as_array(kind, raw):
    if kind == "BF16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").astype(float)
    array = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2", "I64": "<i8", "U8": "u1"}[kind])
    return array.astype(float) if kind in ("F32", "F16") else array


# --- a fixture's files ----------------------------------------------------------------------------------


def bin_names(fixture):
    if fixture.bins == 1:
        return ["pytorch_model.bin"]
    return [f"pytorch_model-{i + 1:05}-of-{fixture.bins:05}.bin" for i in range(fixture.bins)]


def write_weights(fixture, arrays):
    """PyTorch's files have what a state dictionary may: a tied head, a matrix with strides, vectors on one storage."""
    if not fixture.bins:
        for folder in {name.rpartition("/")[0] for name in arrays}:
            own = {name.rpartition("/")[2]: array for name, array in arrays.items() if folder == name.rpartition("/")[0]}
            write_safetensors(fixture.folder / folder / "model.safetensors", own, fixture.dtype)
        return None
    names, count, index = list(arrays), fixture.bins, {}
    for i, file in enumerate(bin_names(fixture)):
        mine = {name: arrays[name] for name in names[i * len(names) // count : (i + 1) * len(names) // count]}
        square = [name for name, array in mine.items() if array.ndim == 2][1:2]
        tied = ("transformer.wte.weight", "lm_head.weight") if count == 1 else None
        pytorch.write(fixture.folder / file, mine, lambda array: as_bytes(array, fixture.dtype), square, tied)
        index |= dict.fromkeys(mine, file)
    if count > 1:
        text = json.dumps({"metadata": {"total_size": 0}, "weight_map": index}, indent=2)
        (fixture.folder / "pytorch_model.bin.index.json").write_text(text + "\n")


def read_weights(fixture):
    if not fixture.bins:
        files = [fixture.folder / "model.safetensors", *sorted(fixture.folder.glob("*/model.safetensors"))]
        folders = [str(file.parent.relative_to(fixture.folder)) + "/" for file in files]
        return {
            ("" if folder == "./" else folder) + name: array
            for folder, file in zip(folders, files)
            for name, array in read_safetensors(file).items()
        }
    arrays = {}
    for file in bin_names(fixture):
        arrays |= pytorch.read(fixture.folder / file, as_array)
    return arrays
