#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes small SentencePiece models as directories of Llama's, Gemma's and T5's have them beside no tokenizer.json, and what
SentencePiece's own program cuts texts into. Needs spm_train and spm_encode (Debian's package sentencepiece):

    tests/text/sentence_piece/make.py

llama.model is a BPE whose unknown characters are bytes, gemma.model the same without a space in front of a text and with other ids
of the special pieces and a piece of the user's; t5.model is a Unigram that normalises, bytes.model one whose unknown characters
are bytes. spaces.model is of Yi's kind, with runs of spaces as the user's pieces; in accents.model one rule is the beginning of
another. expected.json has texts and the ids of each file's pieces, without a frame.
"""
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RULES = "41\t61\n42\t62\n43\t63\nFB01\t66 69\n2014\t2D 2D\n"  # A a, B b, C c, a ligature, a dash
AS_IT_IS = ["--normalization_rule_name=identity", "--remove_extra_whitespaces=false"]
GEMMA = ["--add_dummy_prefix=false", "--pad_id=0", "--eos_id=1", "--bos_id=2", "--unk_id=3", "--pad_piece=<pad>",
         "--eos_piece=<eos>", "--bos_piece=<bos>", "--user_defined_symbols=<turn>"]  # fmt: skip
MODELS = {
    "llama": ["--model_type=bpe", "--byte_fallback=true", "--vocab_size=400", *AS_IT_IS],
    "gemma": ["--model_type=bpe", "--byte_fallback=true", "--vocab_size=400", *AS_IT_IS, *GEMMA],
    "t5": ["--model_type=unigram", "--vocab_size=160", "--normalization_rule_tsv=rules.tsv", "--pad_id=0", "--eos_id=1",
           "--unk_id=2", "--bos_id=-1"],
    "bytes": ["--model_type=unigram", "--byte_fallback=true", "--vocab_size=400", "--normalization_rule_tsv=rules.tsv",
              "--pad_id=0", "--eos_id=1", "--unk_id=2", "--bos_id=-1"],
}  # fmt: skip
MODELS["spaces"] = [*MODELS["llama"], "--add_dummy_prefix=false", "--user_defined_symbols=\u2581\u2581,\u2581\u2581\u2581"]
MODELS["accents"] = ["--model_type=unigram", "--vocab_size=100", "--normalization_rule_tsv=accents.tsv"]
ACCENTS = "6F 302\tF4\n6F 302 301\t1ED1\n"  # o with one accent and with two, composed
MORE = {
    "gemma": ["<turn>user one<turn> two"],
    "spaces": ["\u2581\u2581 _", "if:     five   three  two"],
    "accents": ["o\u0302 and o\u0302\u0301"],
}
TEXTS = [
    "Once upon a time, there was a little girl.",
    "  two   spaces, and a tail  ",
    "A Bad Cat \u2014 \ufb01ne",
    "what it lacks: \u4f60\u597d \u00df\u00df Z7 \U0001f999",
    "in<0x41>out <unk> </s>",
    "She said: \"It's mine!\" 123",
    "x",
]


def train(name, options, lines):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "text").write_text("\n".join(lines))
        (pathlib.Path(folder) / "rules.tsv").write_text(RULES)
        (pathlib.Path(folder) / "accents.tsv").write_text(ACCENTS)
        subprocess.run(
            ["spm_train", "--input=text", "--model_prefix=m", "--num_threads=1", "--character_coverage=1.0", *options],
            check=True, capture_output=True, cwd=folder,
        )  # fmt: skip  # the model keeps the names of its files
        (HERE / f"{name}.model").write_bytes((pathlib.Path(folder) / "m.model").read_bytes())


def ids(name, text):
    """Of a text of one line."""
    done = subprocess.run(
        ["spm_encode", f"--model={HERE / name}.model", "--output_format=id"],
        input=text + "\n", capture_output=True, check=True, text=True,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


def main():
    text = (HERE.parents[2] / "weights/heldout.txt").read_text()
    lines = [line for line in text.splitlines() if len(line) > 20][:600]
    cases = []
    for name, options in MODELS.items():
        train(name, options, lines + (["ph\u00f4 c\u1ed1 and others of the kind"] if name == "accents" else []))
        cases += [{"model": name, "text": text, "ids": ids(name, text)} for text in TEXTS + MORE.get(name, [])]
    (HERE / "expected.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
