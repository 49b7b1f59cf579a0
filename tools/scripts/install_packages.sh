#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the missing ones of the named Debian packages; prints nothing if none is missing.
#   install_packages.sh PACKAGE ...
set -eu

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian; if the build stops for want of a header, install what Debian calls:"
    echo "  $*"
    exit 0
fi

missing=
for package; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true) in
    *' installed') ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Missing, and neither root nor sudo to install them with:$missing" >&2
        echo "As root: apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "Installing what is missing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
    $as_root env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}
quietly apt-get update -q
# shellcheck disable=SC2086  # a list of words
quietly apt-get install -q -y --no-install-recommends $missing
