#!/bin/sh
# SPDX-License-Identifier: MIT
# After an installation: runs ldconfig if the user may, or says how programs find the library.
#   register_library.sh FOLDER LIBRARY
set -u
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -ne 0 ] || ! command -v ldconfig >/dev/null || ldconfig
ldconfig -p 2>/dev/null | grep -qF " => $1/$2" && exit 0
echo "The loader does not look for $2 in $1."
echo "Run programs with LD_LIBRARY_PATH=$1, or add the folder to /etc/ld.so.conf.d and run ldconfig as root."
