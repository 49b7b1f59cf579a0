#!/bin/sh
# SPDX-License-Identifier: MIT
# Groups neighbouring files of a folder, to be compiled together. A file that is new or has changed since the groups
# were made is compiled alone, so that a later edit compiles one file. Without BUILD/NAME.groups, all are grouped again.
#   together.sh BUILD NAME SIZE FILE.cpp ...
# Writes BUILD/FOLDER/FIRST-to-LAST.cpp, which includes the files of a group, unless it has that text already or $dry is
# set. Prints FILE.cpp=FOLDER/FIRST-to-LAST for each file of a group.
set -eu
build=$1 groups=$1/$2.groups size=$3
shift 3
[ $# -gt 0 ] || exit 0
if [ ! -e "$groups" ]; then
    if [ -n "${dry-}" ]; then
        groups=$(mktemp)
        trap 'rm -f "$groups" "$groups.$$"' EXIT
    else
        mkdir -p "$build"
    fi
    printf '%s\n' "$@" | sed 's|\(.*\)/|\1/ |' | LC_ALL=C sort | sed 's|/ |/|' | awk -v size="$size" '
    function stem(path) { sub(/.*\//, "", path); sub(/\.cpp$/, "", path); return path }
    function finish(    i) {
        for (i = 1; i <= n; i++) print member[i] "=" folder "/" stem(member[1]) "-to-" stem(member[n])
        n = 0
    }
    {
        at = $0
        sub(/\/[^\/]*$/, "", at)
        if (at != folder || n == size) finish()
        folder = at
        member[++n] = $0
    }
    END { finish() }' >"$groups.$$" && mv "$groups.$$" "$groups"
fi
{ printf '%s\n' "$@" && echo = && find "$@" -newer "$groups" && echo = && cat "$groups"; } | awk -v build="$build" -v dry="${dry-}" -v own="$$" '
$0 == "=" { part++; next }
part == 0 { there[$0] = 1; next }
part == 1 { delete there[$0]; next } # changed since
{
    split($0, of, "=")
    if (!(of[1] in there)) next
    print
    text[of[2]] = text[of[2]] "#include \"" of[1] "\"\n"
}
END {
    for (name in text) {
        if (dry) break
        file = build "/" name ".cpp"
        old = ""
        while ((getline line < file) > 0) old = old line "\n"
        close(file)
        if (old == text[name]) continue
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        system("mkdir -p " folder)
        printf "%s", text[name] > (file "." own) # then at once, so that another make reads a whole file
        close(file "." own)
        system("mv " file "." own " " file)
    }
}'
