#!/bin/sh
# SPDX-License-Identifier: MIT
# Groups neighbouring files of a folder, to be compiled together.
#   together.sh BUILD SIZE FILE.cpp ...
# Writes BUILD/FOLDER/FIRST-to-LAST.cpp, which includes the files of a group, unless it has that text already or $dry is
# set. Prints FILE.cpp=FOLDER/FIRST-to-LAST for each file.
set -eu
build=$1 size=$2
shift 2
[ $# -eq 0 ] || printf '%s\n' "$@" | LC_ALL=C sort | awk -v build="$build" -v size="$size" -v dry="${dry-}" -v own="$$" '
function stem(path) { sub(/.*\//, "", path); sub(/\.cpp$/, "", path); return path }
function finish(    i, name, file, text, old, line) {
    if (n == 0) return
    name = folder "/" stem(member[1]) "-to-" stem(member[n])
    for (i = 1; i <= n; i++) {
        print member[i] "=" name
        text = text "#include \"" member[i] "\"\n"
    }
    file = build "/" name ".cpp"
    while ((getline line < file) > 0) old = old line "\n"
    close(file)
    if (old != text && !dry) { # at once, so that another make at the same time reads a whole file
        system("mkdir -p " build "/" folder)
        printf "%s", text > (file "." own)
        close(file "." own)
        system("mv " file "." own " " file)
    }
    n = 0
}
{
    at = $0
    sub(/\/[^\/]*$/, "", at)
    if (at != folder || n == size) finish()
    folder = at
    member[++n] = $0
}
END { finish() }'
