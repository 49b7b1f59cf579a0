#!/bin/sh
# SPDX-License-Identifier: MIT
# Draws the README's picture, three encodings side by side, from the numbers that `ordo table` prints. Needs gnuplot.
#   tools/scripts/picture.sh ORDO >tools/lab/encodings.svg
set -eu
[ $# -eq 1 ] || { sed -n '3,4p' "$0" >&2; exit 2; }
command -v gnuplot >/dev/null || { echo "picture: gnuplot not found: apt-get install gnuplot-nox" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" table sinusoidal --len 64 --dim 16 >"$scratch/waves"
"$1" table rope:theta=100 --len 10 --dim 12 >"$scratch/angles"
"$1" table alibi --len 13 --heads 8 --head 1 | sed 's/-inf/NaN/g' >"$scratch/bias" # -inf: keys that causal attention masks
cd "$scratch"
gnuplot 2>messages <<'END' || { cat messages >&2; exit 1; }
set terminal svg size 960,350 dynamic standalone noenhanced background 'white' font 'sans,13'
set output 'picture.svg'
set datafile separator ','
set datafile missing 'NaN'
set multiplot layout 1,3 margins 0.06,0.93,0.20,0.82 spacing 0.075
set tics out nomirror
set border 3
unset key
set xlabel 'position of the token'

set title "Sinusoidal: adds a wave\nto each number of an embedding"
set ylabel 'column of the embedding'
set ytics ('0' 0, '2' -2.6, '4' -5.2, '6' -7.8)
set yrange [-9.2:1.4]
set xrange [0:63]
plot for [k=0:3] 'waves' skip 1 using 0:(column(2*k+1)-2.6*k) with lines linewidth 2.5 linecolor rgb word('#0072b2 #009e73 #e69f00 #cc79a7', k+1)

set title "RoPE: rotates pairs of numbers\nin queries and keys"
set ylabel 'pair'
set ytics 1
set xtics 3
set yrange [5.6:-0.6]
set xrange [-0.8:9.8]
plot for [k=0:5] 'angles' skip 1 using ($2==k?$1-0.44*$4:NaN):($2+0.28*$5):(0.88*$4):(-0.56*$5) with vectors head filled size 0.25,20 linewidth 2 linecolor rgb word('#0072b2 #009e73 #e69f00 #d55e00 #cc79a7 #56b4e9', k+1)

set title "ALiBi: lowers the score of a key\nby its distance from the query"
set xlabel 'position of the key'
set ylabel 'position of the query' offset 1,0
set ytics 3
set yrange [12.6:-0.6]
set xrange [-0.6:12.6]
set palette defined (0 '#08306b', 0.5 '#4292c6', 1 '#deebf7')
set cbtics 1
plot 'bias' skip 1 matrix with image pixels
unset multiplot
set output
END
sed 's/<title>Gnuplot/<title>Three positional encodings/' picture.svg
