#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a small tokenizer as Marian's directories have it, and what SentencePiece's own program cuts texts into.
Needs spm_train and spm_encode (Debian's package sentencepiece):

    tests/text/marian/make.py

source.spm is learned from one half of weights/heldout.txt, target.spm from the other with its lines spelled backwards,
which stand for another language, and a few words of Russian; vocab.json has the pieces of both in an order of its own.
expected.json has texts and their ids: each piece of spm_encode by vocab.json, <unk> where that has none, </s> behind,
and a language's name in front as it is.
"""
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RULES = "41\t61\n42\t62\n43\t63\nFB01\t66 69\n2014\t2D 2D\n"  # A a, B b, C c, a ligature, a dash
LANGUAGES = [">>fra<<", ">>deu<<"]
TEXTS = [
    "Once upon a time, there was a little girl.",
    "  two   spaces, and a tail  ",
    "",
    "A Bad Cat \u2014 \ufb01ne",
    "what it lacks: \u4f60\u597d \u00df\u00df Z7",
    "\u0434\u0430 and more",
    "so \u0434",  # no piece of the source's, and yet in vocab.json
    ">>fra<< The dog ran home.",
    "eht god and dna",
]


def train(lines, name, size):
    with tempfile.TemporaryDirectory() as folder:
        text, rules = pathlib.Path(folder) / "text", pathlib.Path(folder) / "rules.tsv"
        text.write_text("\n".join(lines))
        rules.write_text(RULES)
        subprocess.run(
            ["spm_train", "--input=text", "--model_prefix=m", f"--vocab_size={size}", "--num_threads=1",
             "--model_type=unigram", "--normalization_rule_tsv=rules.tsv", "--character_coverage=1.0"],
            check=True, capture_output=True, cwd=folder,
        )  # fmt: skip  # the model keeps the names of its files
        (HERE / name).write_bytes((pathlib.Path(folder) / "m.model").read_bytes())
        return [line.split("\t")[0] for line in (pathlib.Path(folder) / "m.vocab").read_text().splitlines()]


def pieces(text):
    """Of a text of one line."""
    done = subprocess.run(
        ["spm_encode", f"--model={HERE / 'source.spm'}", "--output_format=piece"],
        input=text + "\n", capture_output=True, check=True, text=True,
    )  # fmt: skip
    return done.stdout.rstrip("\n").split(" ") if done.stdout.strip() else []


def ids_of(text, vocabulary):
    before = [name for name in LANGUAGES if text.startswith(name)]
    found = before + pieces(text[len("".join(before)) :])
    return [vocabulary.get(piece, vocabulary["<unk>"]) for piece in found] + [vocabulary["</s>"]]


def main():
    text = (HERE.parents[2] / "weights/heldout.txt").read_text()
    lines = [line for line in text.splitlines() if len(line) > 20][:600]
    source = train(lines[:300], "source.spm", 160)
    target = train([line[::-1] for line in lines[300:]] + ["\u0434\u0430 \u043d\u0435\u0442"] * 40, "target.spm", 120)
    both = sorted(set(source + target) - {"<unk>", "<s>", "</s>"}, key=lambda piece: piece[::-1])
    names = ["</s>", "<unk>", *both, *LANGUAGES, "<pad>"]
    vocabulary = {name: number for number, name in enumerate(names)}
    (HERE / "vocab.json").write_text(json.dumps(vocabulary) + "\n")
    cases = [{"text": text, "ids": ids_of(text, vocabulary)} for text in TEXTS]
    (HERE / "expected.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
