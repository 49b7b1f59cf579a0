#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian package of an installation for /usr. dpkg-shlibdeps finds the packages of the libraries that its
# programs load, and the versions that they need.
#   deb.sh FOLDER VERSION LIBRARY OUT
set -eu
root=$1 version=$2 library=$3 out=$4

umask 022
mkdir -p "$root/debian"
printf 'Source: ordo\n\nPackage: ordo\nArchitecture: any\n' >"$root/debian/control"
# Of OpenBLAS's three flavours with one name, the programs load the one of OpenMP.
blas=$(dpkg-query -W -f='${source:Upstream-Version}' libopenblas0-openmp | sed 's/+.*//')
depends=$(cd "$root" && dpkg-shlibdeps -O --ignore-missing-info -xordo usr/bin/ordo usr/bin/ordo-lab "usr/$library" |
    sed -nE "s/libopenblas0(,|$)/libopenblas0-openmp (>= $blas)\1/; s/^shlibs:Depends=//p")
rm -r "$root/debian"
[ -n "$depends" ]

find "$root/usr/share/man" -name '*.1' -exec gzip -9nf {} +
mkdir -p "$root/DEBIAN" "$root/usr/share/doc/ordo"
install -m 644 LICENSE "$root/usr/share/doc/ordo/copyright"
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
