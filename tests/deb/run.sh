#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the Debian package and checks its files. With ORDO_TEST_ROOT=DIR, it is installed and used in a copy of DIR, the
# root of a bare Debian 12 (`debootstrap --variant=minbase bookworm DIR`). apt needs its packages, and chroot root.
#   SCRATCH=DIR run.sh BUILD
set -u
unset MAKEFLAGS MAKELEVEL MFLAGS
command -v dpkg-deb >/dev/null || { echo "skipped: no dpkg-deb here"; exit 0; }
passed=0 failed=0
check() { # WHAT COMMAND ...
    what=$1
    shift
    if "$@" >"$SCRATCH/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$SCRATCH/out"
    fi
}

under() { (umask "$1" && shift && "$@"); }
check 'make deb' under 077 make deb DEB="$SCRATCH/ordo.deb"
dpkg-deb -c "$SCRATCH/ordo.deb" 2>/dev/null | awk '{ print $6 }' >"$SCRATCH/content"
has() { for file; do grep -qxE "./$file" "$SCRATCH/content" || { echo "no $file"; return 1; }; done; }
check 'it has the program, the library, weights and help' has usr/bin/ordo 'usr/lib/[^/]*/libordo.so.[0-9.]*' \
    'usr/lib/[^/]*/libordo.a' usr/include/ordo/ordo.h 'usr/lib/[^/]*/pkgconfig/ordo.pc' usr/lib/python3/dist-packages/ordo.py \
    usr/share/ordo/weights/storyteller.safetensors usr/share/man/man1/ordo.1.gz usr/share/bash-completion/completions/ordo \
    usr/share/doc/ordo/copyright
owned() { ! dpkg-deb -c "$SCRATCH/ordo.deb" | grep -v ' root/root '; }
check 'its files belong to root' owned
readable() { # whatever the umask
    { dpkg-deb -c "$SCRATCH/ordo.deb" && dpkg-deb --ctrl-tarfile "$SCRATCH/ordo.deb" | tar tv; } | cut -c 1-10 | sort -u >"$SCRATCH/modes" &&
        printf '%s\n' -rw-r--r-- -rwxr-xr-x drwxr-xr-x lrwxrwxrwx | diff - "$SCRATCH/modes"
}
check 'all may read its files' readable
needs() { # and which versions of them
    dpkg-deb -f "$SCRATCH/ordo.deb" Depends | tr ',' '\n' | sort >"$SCRATCH/depends"
    for package in libc6 libgomp1 libopenblas0-openmp libpcre2-8-0 "libstdc[+][+]6" libutf8proc2; do
        grep -E "^ ?$package \(>= [0-9].*\)$" "$SCRATCH/depends" || { cat "$SCRATCH/depends"; return 1; }
    done
}
check 'it depends on the libraries' needs

if [ -d "${ORDO_TEST_ROOT:-/absent}" ] && [ "$(id -u)" -eq 0 ]; then
    root=$SCRATCH/root
    cp -a "$ORDO_TEST_ROOT" "$root" && cp "$SCRATCH/ordo.deb" engine/examples/generate.c engine/examples/generate.py "$root/tmp"
    inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec "$1"; }
    check 'apt installs it' inside 'apt-get update -q && apt-get install -q -y --no-install-recommends /tmp/ordo.deb'
    check 'the program writes' inside 'cd / && ordo generate -p "Once upon a time" -n 40 --temp 0 --no-display-prompt -q >/tmp/text && [ "$(wc -w </tmp/text)" -gt 10 ]'
    check 'C is compiled, and Python finds the module' inside '
        apt-get install -q -y --no-install-recommends gcc libc6-dev pkg-config python3
        cd /tmp && cc generate.c $(pkg-config --cflags --libs ordo) -o generate
        weights=$(pkg-config --variable=weightsdir ordo)/rope.safetensors
        ./generate "$weights" "Once upon a time" >c && python3 generate.py "$weights" "Once upon a time" >python && cmp c python'
    check 'apt removes it' inside 'apt-get remove -q -y ordo && [ ! -e /usr/bin/ordo ] && [ ! -e /usr/share/ordo ]'
else
    echo "The package was not installed: ORDO_TEST_ROOT names no bare root, or this is not root."
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
