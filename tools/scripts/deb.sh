#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian package of an installation for /usr. Its dependencies are the packages that have the libraries which
# the program and libordo.so load.
#   deb.sh FOLDER VERSION LIBRARY OUT
set -eu
root=$1 version=$2 library=$3 out=$4

packages() { # of the libraries that a file loads, one a line
    ldd "$1" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p' | while read -r file; do
        case $file in *libordo*) continue ;; esac
        real=$(readlink -f "$file")
        # A package may name a file without /usr, as it was before Debian merged the folders.
        dpkg-query -S "$file" "/usr$file" "$real" "${real#/usr}" 2>/dev/null | sed -n '1s/:.*//p'
    done
}
depends=$({ packages "$root/usr/bin/ordo" && packages "$root/usr/$library"; } | sort -u | paste -sd, | sed 's/,/, /g')

find "$root/usr/share/man" -name '*.1' -exec gzip -9nf {} +
mkdir -p "$root/DEBIAN" "$root/usr/share/doc/ordo"
cp LICENSE "$root/usr/share/doc/ordo/copyright"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/ordo/changelog.gz"
echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
(cd "$root" && find usr -type f -exec md5sum {} +) >"$root/DEBIAN/md5sums"
cat >"$root/DEBIAN/control" <<END
Package: ordo
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The Ordo authors
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $depends
Recommends: man-db
Suggests: g++, pkg-config, libopenblas-openmp-dev, libpcre2-dev, libutf8proc-dev, python3
Section: science
Priority: optional
Description: small language models with interchangeable positional encodings
 The program ordo, the library libordo for C++, C and Python, and model weights.
END
# Weights are noise to a compressor: xz takes more than ten times as long for 3 to 4 % less.
dpkg-deb --root-owner-group -Zgzip --build "$root" "$out"
