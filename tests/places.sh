#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests that look at paths from other places than this one: from a checkout at the top of the file system, as
# containers have it, and from one without .git that is the home folder, has a space in its name, and lies in a folder
# that cannot be written. Both are mounts that only this script sees.
#   places.sh BUILD
set -u
build=$1
suites='FileNames.*:FileReading.*:SameFile.*:FileSystems/*:AtomicSave.*:ReadInParts.*:WrongPlaces.*:WrongFolder.*:ModelFiles.*'
suites="$suites:Storyteller.*:Cli*:Shells/*:OneDoor.*:ShownProgress.*:LabVerb.*:LabFiles.*:LabReport.*:LabKeptRuns.*:Checkpoint.*"
suites="$suites:Overwriting.*:TrainingFiles.*:-CliMalformed.*:CliInteractive.*:CliTokenize.Twenty*:CliTrain.LongLines*"

# Only root may mount; others are root of a name space of their own.
[ "$(id -u)" -eq 0 ] && apart='unshare -m' || apart='unshare -rm'
if ! $apart mount --bind "$PWD" /srv 2>/dev/null; then
    echo "skipped: no mount name space can be made here"
    echo "0 passed, 0 failed"
    exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0
place() { # NAME SCRIPT: mounts $here and goes there
    echo "in $1:"
    here=$PWD $apart sh -ec "$2"'
        "$0/ordo_tests" --gtest_brief=1 --gtest_filter="$1"' "$build" "$suites" >"$log" 2>&1
    status=$?
    good=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\./\1/p' "$log")
    bad=$(grep -c '^\[  FAILED  \] .* ms)$' "$log")
    [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    [ $status -eq 0 ] || cat "$log"
    passed=$((passed + ${good:-0})) failed=$((failed + bad))
}
place /srv 'mount --bind "$here" /srv && cd /srv'
place '/srv/a place' 'mount -t tmpfs none /srv && mkdir "/srv/a place" && mount --bind "$here" "/srv/a place"
    mount -o remount,ro /srv && cd "/srv/a place" && export HOME="$PWD"
    if [ -d .git ]; then mount -t tmpfs none .git; elif [ -e .git ]; then mount --bind /dev/null .git; fi
    ! mkdir ../other 2>/dev/null'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
