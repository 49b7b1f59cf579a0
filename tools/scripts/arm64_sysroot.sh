#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks Debian's ARM64 versions of the libraries that the build needs, for a cross compiler. It needs no root, and
# leaves this machine's packages unchanged. The names are those of Debian 12.
#   arm64_sysroot.sh FOLDER
set -eu
folder=$(realpath -m "$1")
packages='libopenblas0-openmp libopenblas-openmp-dev libgfortran5 libpcre2-8-0 libpcre2-dev libutf8proc2 libutf8proc-dev
    libmd0 libmd-dev libgtest-dev nlohmann-json3-dev libcxxopts-dev'

if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "This is not Debian; put what it calls these, of ARM64, below $folder:" >&2
    echo "  $packages" >&2
    exit 1
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/root"
touch "$work/status"
cat >"$work/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
END
export APT_CONFIG="$work/apt.conf"
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
echo "Unpacking libraries of ARM64 to $folder"
quietly apt-get update
# shellcheck disable=SC2086  # a list of words
(cd "$work/debs" && quietly apt-get download $packages)
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/root"; done
rm -rf "$folder"
mv "$work/root" "$folder"
touch "$folder"
