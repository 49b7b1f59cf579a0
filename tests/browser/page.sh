#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the index.html of a report of the lab in headless Chromium: nothing throws, and nothing is wider than the
# window. At 1,280 pixels no table is wider than its frame.
#   page.sh PAGE
set -eu
[ $# -eq 1 ] || { sed -n '3,5p' "$0" >&2; exit 2; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "skipped: no chromium here"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/first" <<'END'
<script>
window.said = [];
window.addEventListener("error", event => said.push("error: " + event.message));
const complain = console.error;
console.error = (...words) => { said.push("error: " + words.join(" ")); complain(...words); };
</script>
END
cat >"$scratch/last" <<'END'
<script>
window.addEventListener("load", () => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width)
    said.push(`expected a page of ${width} pixels, found ${document.documentElement.scrollWidth}`);
  for (const details of document.querySelectorAll("details")) details.open = true;
  if (width >= 1200)
    for (const frame of document.querySelectorAll(".wide"))
      if (frame.scrollWidth > frame.clientWidth)
        said.push(`table of ${frame.querySelector("tr").textContent.slice(0, 60)}: expected at most ${frame.clientWidth} pixels, found ${frame.scrollWidth}`);
  const spills = part => !part.closest("svg") && part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === "visible";
  for (const part of document.querySelectorAll("body *"))
    if (spills(part) && !part.querySelector(".wide") && ![...part.children].some(spills)) said.push(`too wide: ${part.tagName} "${part.textContent.slice(0, 60)}"`);
  parent.postMessage(`BROWSER ${width} pixels: ` + (said.length ? said.join(" | ") : "right"), "*");
});
</script>
END
sed -e "/<head>/r $scratch/first" -e "/<body>/r $scratch/last" "$1" >"$scratch/page.html"
passed=0 failed=0
# Uses a frame, because a window of Chromium is at least 500 pixels wide.
for width in 1280 390; do
    cat >"$scratch/frame.html" <<END
<body style="margin: 0"><script>onmessage = event => document.body.prepend(event.data);</script>
<iframe src="page.html" style="border: 0; width: ${width}px; height: 2000px"></iframe></body>
END
    "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
        --window-size=1400,2000 --virtual-time-budget=20000 --dump-dom "file://$scratch/frame.html" 2>/dev/null |
        grep -o 'BROWSER [0-9][^<]*' >"$scratch/said" || { echo "$width pixels: the page did not load"; failed=$((failed + 1)); continue; }
    cat "$scratch/said"
    if grep -q 'pixels: right$' "$scratch/said"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
