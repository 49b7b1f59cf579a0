#!/bin/sh
# SPDX-License-Identifier: MIT
# Draws the README's pictures, sinusoidal.svg, rope.svg and alibi.svg, from the numbers that `ordo table` prints. They
# stand side by side on a wide page and below each other on a narrow one, and follow a dark theme.
#   tools/scripts/picture.sh ORDO tools/lab
set -eu
[ $# -eq 2 ] || { sed -n '3,5p' "$0" >&2; exit 2; }
{
    "$1" table sinusoidal --len 64 --dim 16 | sed 's/^/waves,/'
    "$1" table rope:theta=100 --len 10 --dim 12 | sed 's/^/angles,/'
    "$1" table alibi --len 13 --heads 8 --head 1 | sed 's/^/bias,/'
} | awk -F , -v folder="$2" '
BEGIN {
    split("#0072b2 #009e73 #e69f00 #cc79a7 #d55e00 #56b4e9", colours, " ")
    top = 63; bottom = 280; left = 52
}
# Begins a picture: its width, and its ranges from left to right and from bottom to top.
function panel(name, width, x0, x1, y0, y1, first, second, below, beside) {
    if (out) end()
    out = folder "/" name ".svg"
    wide = width; low_x = x0; high_x = x1; low_y = y0; high_y = y1
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"262\" height=\"294\" viewBox=\"0 0 300 336\"" >out
    print "    font-family=\"sans-serif\" font-size=\"13.5\">" >out
    printf "<title>%s %s</title>\n", first, second >out
    print "<style>.paper { fill: #fff } text { fill: #222 } .axis { stroke: #444; fill: none }" >out
    print "@media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } text { fill: #ddd } .axis { stroke: #aaa } }" >out
    print "</style>\n<rect class=\"paper\" width=\"300\" height=\"336\"/>" >out
    printf "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", left, top, bottom, left + wide >out
    words(150, 22, first); words(150, 41, second); words(left + wide / 2, 324, below)
    printf "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
        left - 34, (top + bottom) / 2, beside >out
}
function end() { print "</svg>" >out; close(out) }
function words(x, y, text) { printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, y, text >out }
function X(x) { return left + wide * (x - low_x) / (high_x - low_x) }
function Y(y) { return bottom + (top - bottom) * (y - low_y) / (high_y - low_y) }
function tick_x(x) { printf "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", X(x), bottom >out; words(X(x), bottom + 20, x) }
function tick_y(y, text) {
    printf "<path class=\"axis\" d=\"M%d %.1fh-5\"/>\n", left, Y(y) >out; words(left - 14, Y(y) + 4, text)
}
function cell(x, y, w, h, share) { # share: of the way from light to dark blue
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"rgb(%d,%d,%d)\"/>\n", x, y, w, h,
        222 - 214 * share, 235 - 187 * share, 247 - 140 * share >out
}

$1 == "waves" && $2 ~ /^-?[0-9]/ { for (k = 0; k < 4; ++k) wave[k, rows] = $(2 * k + 2); ++rows }
$1 == "angles" && $2 ~ /^[0-9]/ { cosine[$2, $3] = $5; sine[$2, $3] = $6 }
$1 == "bias" && $2 ~ /^-?[0-9i]/ { for (key = 0; key < 13; ++key) bias[queries, key] = $(key + 2); ++queries }

END {
    panel("sinusoidal", 234, 0, 63, -9.2, 1.4, "Sinusoidal: adds a wave", "to each number of an embedding",
          "position of the token", "column of the embedding")
    for (x = 0; x <= 60; x += 10) tick_x(x)
    for (k = 0; k < 4; ++k) {
        tick_y(-2.6 * k, 2 * k)
        printf "<path fill=\"none\" stroke-width=\"2.5\" stroke=\"%s\" d=\"", colours[k + 1] >out
        for (p = 0; p < rows; ++p) printf "%s%.1f %.1f", p ? "L" : "M", X(p), Y(wave[k, p] - 2.6 * k) >out
        print "\"/>" >out
    }
    panel("rope", 234, -0.8, 9.8, 5.6, -0.6, "RoPE: rotates pairs of numbers", "in queries and keys",
          "position of the token", "pair")
    for (x = 0; x <= 9; x += 3) tick_x(x)
    for (k = 0; k < 6; ++k) {
        tick_y(k, k)
        for (p = 0; p < 10; ++p) { # an arrow of 15 pixels through its place, the pair as (cos, sin)
            c = cosine[p, k]; s = sine[p, k]
            x = X(p) + 9 * c; y = Y(k) - 9 * s # its head
            printf "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"M%.1f %.1fL%.1f %.1f", colours[k + 1],
                X(p) - 9 * c, Y(k) + 9 * s, x, y >out
            printf "M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/>\n", x - 6 * c - 4 * s, y + 6 * s - 4 * c, x, y,
                x - 6 * c + 4 * s, y + 6 * s + 4 * c >out
        }
    }
    panel("alibi", 196, -0.6, 12.6, 12.6, -0.6, "ALiBi: lowers the score of a key", "by its distance from the query",
          "position of the key", "position of the query")
    for (x = 0; x <= 12; x += 3) { tick_x(x); tick_y(x, x) }
    for (query = 0; query < 13; ++query)
        for (key = 0; key <= query; ++key) { # a later key is masked
            share = bias[query, key] / bias[12, 0]
            cell(X(key - 0.5), Y(query - 0.5), X(1) - X(0) + 0.3, Y(1) - Y(0) + 0.3, share)
        }
    for (i = 0; i <= 12; ++i) cell(258, top + i * (bottom - top) / 13, 12, 17, i / 12)
    for (i = 0; i >= -3; --i) words(284, top + 10 + (bottom - top - 17) * i / bias[12, 0], i)
    end()
}'
