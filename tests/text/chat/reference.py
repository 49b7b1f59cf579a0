#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The texts that transformers writes for chat templates, by Python's jinja2 (Debian: python3-jinja2).

reference.py FOLDER OUT.json: each FOLDER/NAME.jinja, with the special tokens in FOLDER/NAME.json, if that exists, for
six conversations, with and without the beginning of an answer. The clock stands at noon of 26 July 2024.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 12)


class Generation(jinja2.ext.Extension):
    """The tag of transformers that marks the assistant's text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


SYSTEM = ("system", ' Be "brief".\n')
TALK = [("user", " Hi  "), ("assistant", "<think>\nHm.\n</think>\n\nHello <b>&\u00e9</b> "), ("user", "Bye\n\n")]
CONVERSATIONS = [TALK[:1], [SYSTEM] + TALK[:1], TALK, [SYSTEM] + TALK, TALK[:2],
                 [SYSTEM] + TALK + [("assistant", "\nSo long")]]


def cases_of(template, tokens):
    cases = []
    for turns in CONVERSATIONS:
        messages = [{"role": role, "content": text} for role, text in turns]
        for answer in (True, False):
            case = {"messages": turns, "answer": answer}
            try:
                case["text"] = environment().from_string(template).render(
                    messages=messages, tools=None, documents=None, add_generation_prompt=answer, **tokens)
            except Exception as error:  # of many kinds
                case["error"] = f"{type(error).__name__}: {error}"
            cases.append(case)
    return cases


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    all_cases = {}
    for path in sorted(folder.glob("*.jinja")):
        template = path.read_bytes().decode()
        beside = path.with_suffix(".json")
        tokens = json.loads(beside.read_text()) if beside.exists() else {"bos_token": "<s>", "eos_token": "</s>"}
        all_cases[path.stem] = {"template": template, "tokens": tokens, "cases": cases_of(template, tokens)}
    out.write_text(json.dumps(all_cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
