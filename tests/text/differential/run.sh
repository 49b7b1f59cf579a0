#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the tokenizers with Hugging Face's own library on generated text, for each shape of published models
# (tokenizers.mjs). Not part of `make test`: it needs node and, in a folder of your choice,
#   npm install @anush008/tokenizers
#   HF_TOKENIZERS=FOLDER tests/text/differential/run.sh [TEXTS [SEED]]
# Debian's package sentencepiece, if installed, adds T5's shape.
set -eu
cd "$(dirname "$0")/../../.."
if ! command -v node >/dev/null || [ ! -d "${HF_TOKENIZERS:-}/node_modules/@anush008/tokenizers" ]; then
    echo "skipped: set HF_TOKENIZERS to a folder with node_modules/@anush008/tokenizers, and have node"
    exit 0
fi
library=$(realpath "$HF_TOKENIZERS")/node_modules/@anush008/tokenizers/index.js
build=build/release
make lib
g++ -std=c++20 -O1 -fopenmp -Iengine -I. tests/text/differential/encode.cpp $build/libordo.a -lpcre2-8 -lutf8proc \
    -o $build/differential_encode
node tests/text/differential/compare.mjs "$build/differential_encode" "$library" "${1:-1000}" "${2:-1}"
