#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests build/web: the engine in node against the program, then the page in headless Chromium. Needs `make web`, which
# `make test` does not run: `make test-web` runs both.
#   SCRATCH=DIR run.sh BUILD
set -u
[ -n "${ORDO_TEST_WEB:-}" ] || { echo "skipped: make test-web builds what this needs, and runs it"; exit 0; }
build=$1
mkdir "$SCRATCH/malformed" || exit 1
ORDO_MALFORMED=$SCRATCH/malformed "$build/ordo_tests" --gtest_brief=1 \
    --gtest_filter=MalformedFiles.AreRefusedAsTheManifestSays >"$SCRATCH/log" 2>&1 || { cat "$SCRATCH/log"; exit 1; }
make -s WEB="$SCRATCH/hosted" WEB_URL=https://example.org/ordo/ "$SCRATCH/hosted/index.html" &&
    grep -q '"og:image" content="https://example.org/ordo/page.png"' "$SCRATCH/hosted/index.html" ||
    { echo "the page: expected the address of its picture"; exit 1; }
cp -r build/web "$SCRATCH/web" || exit 1
echo '{"type": "module"}' >"$SCRATCH/web/package.json"
{
    node tests/web/engine.mjs "$SCRATCH/web" "$build/ordo" "$SCRATCH/malformed"
    node tests/web/browser.mjs build/web
} >"$SCRATCH/totals"
cat "$SCRATCH/totals"
# A part that ends without its line of totals has failed.
awk '/^[0-9]+ passed, [0-9]+ failed$/ { ++parts; passed += $1; failed += $3 }
    /^skipped: no chromium/ { ++parts }
    END { failed += 2 - parts; print passed + 0 " passed, " failed " failed"; exit failed > 0 }' "$SCRATCH/totals"
