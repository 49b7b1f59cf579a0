# SPDX-License-Identifier: MIT
# Trains the shipped weights, and measures them again.

.PHONY: weights seeds results
weights: programs lab ## CORPUS=DIR: train the shipped weights again, by way of build/weights, two at a time
	@[ -n "$(CORPUS)" ] || { echo "make weights: expected CORPUS=DIR, the folder with simple.train.txt" >&2; exit 1; }
	@tools/scripts/weights.sh $(BUILD)/ordo "$(CORPUS)" weights
	@bench/results.sh $(BUILD) losses heldout accuracy
	@tools/scripts/readme_table.sh
seeds: programs lab ## CORPUS=DIR: train two more seeds of six encodings, and take bench/results/seeds*.csv and the README's table again
	@[ -n "$(CORPUS)" ] || { echo "make seeds: expected CORPUS=DIR, the folder with simple.train.txt" >&2; exit 1; }
	@bench/seeds.sh $(BUILD) "$(CORPUS)"
	@tools/scripts/readme_table.sh
results: programs lab $(BENCHES) ## take bench/results and the README's table again, on a quiet machine
	@bench/results.sh $(BUILD)
	@tools/scripts/readme_table.sh
