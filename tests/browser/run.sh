#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests a page of the lab in headless Chromium: every slider changes its figure, nothing throws, and nothing is wider
# than the window. At 1,280 pixels no table is wider than its frame. Without PAGE, the test makes the index.html of a
# report with only the figures that have sliders.
#   run.sh BUILD [PAGE]
set -eu
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "skipped: no chromium here"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=${2:-$scratch/figures.html}
if [ $# -lt 2 ]; then
    part() { sed -n "/R\"$1(\$/,/^)$1\";/p" "tools/lab/report/$2.cpp" | sed '1d;$d'; }
    colours='<script>const palette = {lines: Array(8).fill("rgb(0,0,255)"), diverging: [[0, 0, 255], [255, 0, 0]]};</script>'
    {
        printf '<html>\n<head>\n<style>\n'; part '' page
        printf '</style>\n</head>\n<body>\n%s\n' "$colours"; part js live; echo '</body></html>'
    } >"$page"
fi
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
  const sliders = document.querySelectorAll(".live input[type=range]");
  if (sliders.length === 0) said.push("expected sliders, found none");
  for (const slider of sliders) {
    const canvas = slider.closest("figure").querySelector("canvas"), before = canvas.toDataURL();
    slider.value = slider.value === slider.max ? slider.min : slider.max;
    slider.dispatchEvent(new Event("input"));
    if (canvas.toDataURL() === before) said.push(`${slider.id}: expected another picture, found the same`);
    if (!slider.nextElementSibling.textContent.trim()) said.push(`${slider.id}: expected its value beside it, found none`);
  }
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width)
    said.push(`expected a page of ${width} pixels, found ${document.documentElement.scrollWidth}`);
  for (const details of document.querySelectorAll("details")) details.open = true;
  if (width >= 1200)
    for (const frame of document.querySelectorAll(".wide"))
      if (frame.scrollWidth > frame.clientWidth)
        said.push(`table of ${frame.querySelector("tr").textContent.slice(0, 60)}: expected at most ${frame.clientWidth} pixels, found ${frame.scrollWidth}`);
  const spills = part => part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === "visible";
  for (const part of document.querySelectorAll("body *"))
    if (spills(part) && !part.querySelector(".wide") && ![...part.children].some(spills)) said.push(`too wide: ${part.tagName} "${part.textContent.slice(0, 60)}"`);
  parent.postMessage(`BROWSER ${sliders.length} sliders, ${width} pixels: ` + (said.length ? said.join(" | ") : "right"), "*");
});
</script>
END
sed -e "/<head>/r $scratch/first" -e "/<body>/r $scratch/last" "$page" >"$scratch/page.html"
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
