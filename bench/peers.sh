#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares Ordo with llama.cpp on the same GGUF files, in turns: prefill, decode, decode after 1,024 tokens, and a
# process from its start to its first token, with its peak memory. Prints a table of medians [ranges]: tokens per
# second, seconds and MB of the process, and ratios within one round. A ratio above 1 means that Ordo is better.
#   bench/peers.sh [OPTION ...] BUILD FILE.gguf ...
# --llama-bench PROGRAM   llama.cpp's or ik_llama.cpp's llama-bench, or "PROGRAM OPTION ..."; repeat it for another
#                         version or other options. Without it, only Ordo is measured.
# --llama-cli PROGRAM     its llama-completion (llama-cli in older versions), for the process as a whole.
# --rounds N              [5]
# --repetitions N         of each load in a round; their mean counts. An engine's first pass can be a tenth slower [5].
# --threads N             [2]
# --beside N              N busy loops run at the same time, as other programs would [0].
# --ordo "OPTION ..."     more for `ordo bench`, such as "--cache-type f16"
set -euo pipefail

benches=() cli= rounds=5 repetitions=5 threads=2 beside=0 more=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --llama-bench) benches+=("$2") ;;
    --llama-cli) cli=$2 ;;
    --rounds) rounds=$2 ;;
    --repetitions) repetitions=$2 ;;
    --threads) threads=$2 ;;
    --beside) beside=$2 ;;
    --ordo) more=$2 ;;
    *) sed -n '6,14p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
[ $# -ge 2 ] || { sed -n '6,14p' "$0" >&2; exit 2; }
build=$1
shift
for needed in "$build/ordo" ${benches[@]+"${benches[@]%% *}"} ${cli:+"$cli"}; do
    [ -x "$needed" ] || { echo "peers: $needed: expected a program" >&2; exit 5; }
done

busy=()
trap 'for process in ${busy[@]+"${busy[@]}"}; do kill "$process"; done 2>/dev/null' EXIT
for ((i = 0; i < beside; i++)); do
    while :; do :; done &
    busy+=($!)
done

python3 - "$build/ordo" "$cli" "$rounds" "$repetitions" "$threads" "$more" "$(IFS=:; echo "${benches[*]-}")" "$@" <<'END'
import collections, csv, io, os, pathlib, statistics, subprocess, sys, time

ordo, cli, rounds, repetitions, threads, more, benches = sys.argv[1:8]
files, rounds = sys.argv[8:], int(rounds)
benches = [name for name in benches.split(":") if name]
load = ["-t", threads, "-p", "512", "-n", "128", "-r", repetitions]
depths = ["-d", "0,1024"]


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"peers: {' '.join(command)}: ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def rates(command):
    """Tokens per second by test."""
    found = {}
    for row in csv.DictReader(io.StringIO(output(command))):
        prompt, depth = int(row["n_prompt"]), int(row.get("n_depth") or 0)
        if prompt and int(row["n_gen"]):
            prompt, depth = 0, prompt  # of -gp: the prompt is not timed
        work = f"prefill of {prompt}" if prompt else "decode"
        found[work + (f" after {depth:,}" if depth else "")] = float(row["avg_ts"])
    return found


def process(command):
    """Seconds and peak megabytes of a whole process, the second of two in a row.

    The first run leaves the file in the page cache, and free memory with the system. The host of a virtual machine
    takes free memory back within seconds. A process would then be timed for the work of the host."""
    for _ in range(2):
        start = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        if status:
            sys.exit(f"peers: {' '.join(command)}: ended with {os.waitstatus_to_exitcode(status)}")
    return {"process, s": seconds, "process, MB": used.ru_maxrss / 1024}


def measured(engine):
    if engine == ordo:
        found = rates([ordo, "bench", "-q", "--alone", "-m", file, "--format", "csv", "--ubatch-size", "512", *load, *depths, *more.split()])
        return {**found, **process([ordo, "generate", "-q", "-m", file, "-t", threads, "-p", "Once", "-n", "1", "--temp", "0"])}
    if engine == cli:
        return process([cli, "-m", file, "-t", threads, "-p", "Once", "-n", "1", "--temp", "0", "-no-cnv"])
    program, *options = engine.split()
    return rates([program, "-m", file, "-o", "csv", *load, *depths_of[engine], *options])


def spread(values, digits):
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f}..{max(values):,.{digits}f}]"


def depth_options(engine):
    """ik_llama.cpp decodes after a prompt (-gp). Older versions of llama.cpp have no option for depth."""
    known = output([engine.split()[0], "--help"])
    return depths if "--n-depth" in known else ["-gp", "1024,128"] if "-gp <pp,tg>" in known else []


depths_of = {engine: depth_options(engine) for engine in benches}
print("| file | work | Ordo | another | | ratio |\n|---|---|--:|---|--:|--:|")
for file in files:
    seen = collections.defaultdict(list)
    engines = [ordo, *benches, *([cli] if cli else [])]
    for number in range(rounds):
        for engine in engines if number % 2 else reversed(engines):
            for work, rate in measured(engine).items():
                seen[work, engine].append(rate)
    for (work, engine), own in list(seen.items()):
        if engine != ordo:
            continue
        digits = 0 if statistics.median(own) >= 100 else 1 if statistics.median(own) >= 1 else 3
        others = [e for e in engines if e != ordo and (work, e) in seen]
        for other in others or [None]:
            cells = ["", "", ""]
            if other:
                ratios = [b / a if work.startswith("process") else a / b for a, b in zip(own, seen[work, other])]
                program, *options = other.split()
                cells = [" ".join([pathlib.Path(program).name, *options]), spread(seen[work, other], digits), spread(ratios, 2)]
            print(f"| {pathlib.Path(file).name} | {work} | {spread(own, digits)} | {' | '.join(cells)} |", flush=True)
END
