#!/bin/sh
# SPDX-License-Identifier: MIT
# Files written by `ordo convert` load in llama.cpp and give the same greedy text, or in bf16 and q4_0 nearly the same.
# Opt-in: ORDO_LLAMA_CPP is a folder in which `npm install node-llama-cpp` ran.
#   run.sh BUILD
set -u
build=$1 here=tests/llama_cpp
[ -n "${ORDO_LLAMA_CPP:-}" ] || { echo "skipped: ORDO_LLAMA_CPP names no folder with node-llama-cpp"; exit 0; }
command -v node >/dev/null || { echo "skipped: no node here"; exit 0; }
passed=0 failed=0
count() { # STATUS WHAT
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $2"; fi
}

# llama.cpp's and Ordo's continuation of a prompt are the same.
same_text() { # MODEL TYPE
    file=$SCRATCH/text.gguf prompt="One day, a little girl"
    "$build/ordo" convert -q "$1" "$file" --dtype "$2" --no-accuracy &&
        "$build/ordo" generate -q -m "$file" -p "$prompt" -n 60 --temp 0 >"$SCRATCH/ordo.txt" &&
        { printf %s "$prompt" && node "$here/greedy.mjs" "$ORDO_LLAMA_CPP" text "$file" "$prompt" 60 && echo; } >"$SCRATCH/llama.txt" &&
        diff "$SCRATCH/ordo.txt" "$SCRATCH/llama.txt"
    count $? "$(basename "$1") as $2: 60 tokens of text"
}

# For types whose products the two programs round differently. Each token that llama.cpp chooses is Ordo's choice after
# the same tokens, or nearly as good. On these files at most one token of 60 differs, by 0.01.
near_tokens() { # MODEL TYPE
    file=$SCRATCH/near.gguf ids='' prompt_tokens=
    "$build/ordo" convert -q "$1" "$file" --dtype "$2" --no-accuracy &&
        node "$here/greedy.mjs" "$ORDO_LLAMA_CPP" ids "$file" "One day, a little girl" 60 >"$SCRATCH/ids.txt" &&
        read -r ids prompt_tokens <"$SCRATCH/ids.txt" &&
        "$build/ordo" logits -q -m "$file" --tokens "$ids" --all >"$SCRATCH/logits.json" &&
        node "$here/near.mjs" "$SCRATCH/logits.json" "$prompt_tokens" 0.05
    count $? "$(basename "$1") as $2: 60 tokens, each after the others"
}

# The tokens with which a fixture's own transcription continues. The fixture has no tokenizer, and llama.cpp loads no
# model without one, so it gets a tokenizer of two letters.
same_tokens() { # FIXTURE
    rm -rf "$SCRATCH/model" && cp -R "tests/families/$1" "$SCRATCH/model" &&
        cp "$here/two_letters.json" "$SCRATCH/model/tokenizer.json" &&
        "$build/ordo" convert -q "$SCRATCH/model" "$SCRATCH/tokens.gguf" &&
        node "$here/greedy.mjs" "$ORDO_LLAMA_CPP" tokens "$SCRATCH/tokens.gguf" "tests/families/$1/expected.json"
    count $? "$1: the tokens of its transcription"
}

# The same for files that the unit tests write as llama.cpp's converter would, for families that Ordo does not write, or
# writes under another name. Mistral's and Phi 3's windows are omitted, because llama.cpp does not follow them. LongRoPE
# is omitted, because llama.cpp chooses its list by the size of its own context.
same_tokens_read() { # FAMILY ARCHITECTURE
    node "$here/greedy.mjs" "$ORDO_LLAMA_CPP" tokens "$SCRATCH/read/$1_as_$2.gguf" "tests/families/$1/expected.json"
    count $? "$1 as $2: the tokens of its transcription"
}

for model in rope alibi; do
    for type in f32 f16 q8_0; do same_text "weights/$model.safetensors" $type; done
    for type in bf16 q4_0; do near_tokens "weights/$model.safetensors" $type; done
done
for family in gpt2 llama llama3 llama-linear smollm qwen2 qwen2-yarn qwen3 mixtral qwen2-moe qwen3-moe-plain bloom mpt gpt-neox phi falcon; do same_tokens $family; done
mkdir -p "$SCRATCH/read"
ORDO_GGUF_OUT=$SCRATCH/read "$build/ordo_tests" --gtest_brief=1 --gtest_filter='*GgufFamilies*' >"$SCRATCH/read/log"
for family in gemma gemma2 gemma3 cohere2 granite olmo2 qwen2 qwen3 smollm3 stablelm starcoder2; do same_tokens_read $family $family; done
same_tokens_read stablelm-parallel stablelm
same_tokens_read mixtral llama
same_tokens_read mpt-clip mpt
same_tokens_read qwen2-moe qwen2moe
same_tokens_read qwen3-moe-plain qwen3moe
echo "$passed passed, $failed failed"
