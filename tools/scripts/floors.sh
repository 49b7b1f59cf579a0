#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves engine/README.md's rules on floors, from the #include lines alone:
#   - a file of the engine includes its own folder, lower floors and the public headers. ops may also use kernels,
#     which are on the same floor. Of our headers, a public header includes only ordo.h, ordo.h only encoding.h,
#     encoding.h only encoding_tables.h, and that only rows.h;
#   - a kernel uses no threads, and an architecture no ops or kernels;
#   - the floors above the engine have this order: models; in tools bench, terminal, cli, opening, train, lab and verbs;
#     bench; the mains; tests. In tools/lab it is math, lab.h with list.def, drawing, study, the experiments (claims,
#     shipped, trained), report, and the files that gather them;
#   - each foreign library is included in one place (engine/examples are other people's programs, and are not checked);
#   - every encoding and every architecture with a file is in its list;
#   - a file starts with its licence and has a limited length.
# Prints how many lines of C++ there are, and how many in two folders of tests that should stay small.
set -eu
cd "$(dirname "$0")/../.."

files=$(find engine models tools tests bench -path engine/examples -prune -o -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.def' -o -name '*.sh' \) -print 2>/dev/null | sort)
# shellcheck disable=SC2086  # a list of names without spaces
awk '
function say(text) { print FILENAME ":" FNR ": " text; bad++ }
function door(header, place) { # place: a pattern for the paths that may include header
    if ($0 ~ "<" header ">" && FILENAME !~ place) say("<" found ">: its only door is " place)
}
BEGIN {
    floor["core"] = 1
    floor["kernels"] = floor["ops"] = floor["io"] = 2
    floor["encoding"] = floor["text"] = 3
    floor["layers"] = 4
    floor["model"] = 5
    floor["formats"] = floor["training"] = floor["c"] = 6
    most = 400
}
# The rank of a path outside the engine; 0 if it has no order.
function rank(path) {
    if (path ~ /^models\//) return 7
    if (path ~ /^bench\//) return 12
    if (path ~ /^tools\/bench\//) return 8
    if (path ~ /^tools\/terminal\//) return 8.5
    if (path ~ /^tools\/cli\//) return 9
    if (path ~ /^tools\/opening\//) return 9.5
    if (path ~ /^tools\/train\//) return 10
    if (path ~ /^tools\/lab\/math\//) return 10.1
    if (path ~ /^tools\/lab\/(lab\.h|list\.def)$/) return 10.2
    if (path ~ /^tools\/lab\/drawing\//) return 10.3
    if (path ~ /^tools\/lab\/study\//) return 10.35
    if (path ~ /^tools\/lab\/(claims|shipped|trained)\//) return 10.4
    if (path ~ /^tools\/lab\/report\//) return 10.5
    if (path ~ /^tools\/lab\//) return 10.6
    if (path ~ /^tools\/verbs\//) return 11
    if (path ~ /^tools\//) return 12
    if (path ~ /^tests\//) return 13
    return 0
}
FNR == 1 {
    close_file()
    name = FILENAME
    split(name, part, "/")
    engine = part[1] == "engine"
    public = name ~ /^engine\/[a-z_]+\.h$/
    folder = engine && !public ? part[2] : part[1]
    above = !engine ? 6 : public ? 0 : floor[folder]
    if (engine && !public && !above) say("engine/" folder "/ has no floor in tools/scripts/floors.sh")
    spdx = 0
}
FNR <= 2 && /SPDX-License-Identifier: MIT/ { spdx = 1 }
{ lines = FNR }
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    found = quoted[2]
    split(found, to, "/")
    if (public && found != (name == "engine/ordo.h" ? "encoding.h" : name == "engine/encoding.h" ? "encoding_tables.h" : name == "engine/encoding_tables.h" ? "rows.h" : "ordo.h"))
        say("a public header includes nothing of ours but ordo.h, which includes encoding.h, encoding_tables.h and rows.h in turn; found \"" found "\"")
    else if (found ~ /\.\./) say("\"" found "\": write includes from engine/, without ..")
    else if (engine && found !~ /^[a-z_]+\.h$/ && !(to[1] in floor)) say("\"" found "\": the engine includes only engine/, written from there")
    else if (engine && to[1] in floor && to[1] != folder && floor[to[1]] >= above && !(folder == "ops" && to[1] == "kernels"))
        say("\"" found "\" is on floor " floor[to[1]] ", " folder "/ on floor " above ": includes point downwards")
    else if (folder == "kernels" && found ~ /^core\/(parallel|team).h$/) say("\"" found "\": a kernel runs on the calling thread")
    else if (part[1] == "models" && to[1] ~ /^(ops|kernels)$/) say("\"" found "\": an architecture is data")
    else if (!engine && rank(found) > rank(FILENAME)) say("\"" found "\" is above: includes point downwards")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    found = $0
    sub(/^[^<]*</, "", found)
    sub(/>.*/, "", found)
    door("cblas.h", "^engine/core/blas.cpp$")
    door("omp.h", "^engine/core/(parallel|team).h$")
    door("nlohmann/[^>]*", "^(engine/io/json_parser.cpp|tests/json.h)$")
    door("pcre2[^>]*", "^engine/text/regex.cpp$")
    door("utf8proc[^>]*", "^engine/text/unicode_tables.cpp$")
    door("emscripten.h", "^tools/web/")
    door("cxxopts[^>]*", "^tools/")
    door("(md[245]|sha[0-9]*|ripemd|rmd160).h", "^tools/")
    door("g(test|mock)/[^>]*", "^tests/")
    door("mpi.h", "^tools/train/ranks_mpi.cpp$")
    door("benchmark/[^>]*", "^bench/")
    if ((engine || part[1] == "models") && found ~ /[.\/]/ && !(public && found ~ /^std(def|int)\.h$/) && found !~ /^(cblas|omp|pcre2|utf8proc)\.h$|^nlohmann\// &&
        !(found ~ /^(dlfcn|fcntl|unistd|sys\/[a-z]+)\.h$/ && (folder ~ /^(io|model)$/ || name ~ /^engine\/(core\/memory|kernels\/tile_permission)\.cpp$/)) && !(found ~ /^(pthread|sched|unistd|linux\/futex|sys\/[a-z]+)\.h$/ && name ~ /^engine\/core\/(blas|thread_stack|team)\.cpp$/) && !(found ~ /intrin\.h$|^(cpuid|arm_neon|sys\/auxv)\.h$/ && folder == "kernels"))
        say("<" found ">: the engine uses standard headers and the doors of tools/scripts/floors.sh; the system only in io, model, core/{memory,blas,thread_stack,team}.cpp and kernels/tile_permission.cpp")
}
/#[ \t]*pragma[ \t]+omp/ && !/pragma[ \t]+omp[ \t]+simd/ && name !~ /^(engine\/core\/parallel.h|tests\/core\/team_test.cpp)$/ {
    say("threads come only from core/parallel.h")
}
function close_file() {
    if (!name) return
    if (!spdx && name !~ /\.def$/) { print name ": expected an SPDX line first"; bad++ }
    if (lines > most) { print name ": " lines " lines; past " most " a reader tires: split it by meaning"; bad++ }
}
END {
    close_file()
    exit bad > 0
}' $files || failed=1

listed() { # FOLDER SUFFIX MACRO: a file that defines NAME_SUFFIX must be in the list of its folder
    for file in "$1"/*.cpp; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .cpp)
        grep -q "\b${name}_$2\b" "$file" || continue
        grep -q "^$3($name)" "$1/list.def" && continue
        echo "$file: defines ${name}_$2, but $1/list.def does not list it"
        failed=1
    done
}
listed engine/encoding encoding ENCODING
listed models architecture ARCHITECTURE

[ -z "${failed:-}" ] || exit 1
echo "floors: $(echo "$files" | wc -l) files point downwards"

lines() { echo "$files" | grep "^$1" | grep -v '\.sh$' | xargs cat | wc -l; } # without scripts
echo "lines of C++: $(lines '') in all; $(lines tests/encoding/) in tests/encoding (3500 at most);" \
    "tests/lab has $((100 * $(lines tests/lab/) / $(lines tools/lab/))) % of those of tools/lab (33 % at most)"
