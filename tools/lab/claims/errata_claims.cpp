// SPDX-License-Identifier: MIT
// The claims of five introductory texts and of their code. Each has its fact and the sentences that figures fill.
#include "tools/lab/claims/errata.h"

namespace ordo::lab {

// A claim begins with its number, verdict and text. Then come the claim in brief and in full (if that is longer), and
// the fact. After these come the figure in brief, more of it, and the command that shows more.
// A line that begins with a space continues the line above. {0} is the first figure of evidence_of(), and other places
// are cells of other experiments, as with_cells() reads them.
const std::string_view errata_claims = R"(1 wrong, Positional Embedding (notebook)
brief the class's output is the table
fact the code lacks parentheses: it computes 10000^(k - 1/d) for every k, with a sine and a cosine of each; the
 notebook's own table by hand is correct
figure {worked-examples:shapes/6/shape}, not {worked-examples:shapes/5/shape}
more row 1 = {worked-examples:class-test/2/dim0|5}, {worked-examples:class-test/2/dim1|5},
 {worked-examples:class-test/2/dim2|5}, 1, {worked-examples:class-test/2/dim4|5} ...
shown ordo lab worked-examples
2 wrong, Positional Embedding (notebook)
brief odd columns: 10000^(i - 1/d)
fact the denominator is 10000^((i-1)/d), as in the table of the same notebook
figure i = 1: {0} in the place of 1
shown ordo table sinusoidal --dim 6 --part denominator; ordo encodings sinusoidal
3 right, LLM study notes: Positional Encoding
brief rows cluster by 6 and by 63
claim clusters of period 6 and 63: positions are biased
fact this is correct, and exact: the distance depends on the offset alone; 6 is nearly one turn and 63 nearly ten; with
 more than 8 columns the clusters disappear
figure apart {clusters:nearest/0/distance of it}, {clusters:nearest/0/distance}; at 1: {clusters:nearest/0/offset 1}
more distances at the offsets 6, 63 and 1; the nearest rows are at {clusters:nearest/0/nearest row, by offset}; at width
 512 they are at {clusters:nearest/2/nearest row, by offset}
shown ordo lab clusters
4 partly, LLM study notes; Positional Encoding; the notebook
brief waves never meet at any length
claim waves never meet, unseen lengths are no problem, the vector of an unseen word can be predicted
fact no two whole positions have the same vector, but single pairs of columns nearly do; positions beyond the training
 are unseen, and models fail there
figure pair 0 at 710: {stretch:near-collisions/offset=710/pair_0_off_by_radians|2} rad off
more at 44: {stretch:near-collisions/offset=44/pair_0_off_by_radians}; the slower pairs keep rows of width 128 apart, by
 {stretch:near-collisions/offset=44/row_distance_width_128} and
 {stretch:near-collisions/offset=710/row_distance_width_128} there, by
 {stretch:near-collisions/offset=1/row_distance_width_128} at offset 1
shown ordo lab stretch; ordo lab extrapolate
5 partly, Position Encoding in Transformers
brief even dims go to 0, odd to 1
claim even dimensions go to 0, odd to 1, late ones range over [0, 1]; pos is an offset; i is the index of a dimension
fact this holds only if pos is far below 10000; pos multiplies the angle; i counts pairs of dimensions
figure dim 510 at 50,000: {heat-map:last-pair/4/least}
more width 512, rows 0 to 99: dim 510 in [{heat-map:last-pair/0/least}, {heat-map:last-pair/0/most}], 511 in
 [{heat-map:last-pair/1/least|5}, {heat-map:last-pair/1/most}]; dim 511 at 50,000: {heat-map:last-pair/5/least}
shown ordo table sinusoidal --dim 512 --start 50000; ordo lab heat-map
6 wrong, Investigating Transformer Positional Encodings
brief R_i^T R_j is not R_(i-j)
claim R_i^T R_j is not R_(i-j): the paper is wrong, and nothing decays
fact it is R_(j-i), exactly; a bound for aligned vectors decays; scores of random vectors are noise
figure off R_(j-i) by {rotary:product/i=3;j=14/against_R_(j-i)|2}
more elements of R_3^T R_14, from those of R_(3-14) by {rotary:product/i=3;j=14/against_R_(i-j)}
shown ordo lab rotary
7 partly, Investigating Transformer Positional Encodings
brief rotation tells no position
claim rotating q and k cannot express absolute position
fact this is correct for the score; but the causal mask reveals the position
figure the mask alone gives 1/t: {nope:count/tokens=100/state}
more after 100 tokens, by hand-set weights without any encoding
shown ordo lab nope
8 wrong, github.com/benkurzion/Transformer, code
brief theta = 10000^(+2(i-1)/d)
fact the exponent is negative; with a positive exponent every pair rotates too fast
figure up to {rotary:positive-exponent/3/exponent_positive|4} rad a step
more width 8: {rotary:positive-exponent/*/exponent_positive|4} rad a step, which is
 {rotary:positive-exponent/*/of_which_after_whole_turns} after whole turns
shown ordo lab rotary
9 wrong, Investigating Transformer Positional Encodings
brief three experiments rank encodings
claim experiment 1, after "food is" less is better: custom; 2, after "good is" more is better: sinusoidal; 3, P(food)
 after "carbohydrates are" should be high: sinusoidal is best and custom worst
fact in 1, no model is closer than the word frequencies of its corpus; in 2, an even guess has a larger distance than
 any model; in 3, the corpus continues with another word, so the lowest value, custom, is the best, and the others are
 near chance
figure {0}; unigram {1}
more {2}
shown ordo lab word-order
10 wrong, github.com/benkurzion/Transformer, code
brief [T, 128] read as [16, T, 8]
fact each head then holds chunks of one token, and merging the heads shows every token the last one
figure the future leaks, by {0}
more another last token of 4 changes the outputs before it, which have a deviation of {1}, by up to {2}; split right by
 {3}
11 wrong, github.com/benkurzion/Transformer, code
brief weights with a batch axis
fact these are 32 separate models, each trained on 1/32 of the data; one of them is used
figure {0} stored, {1} used
12 wrong, github.com/benkurzion/Transformer, code
brief softmax's backward from dL/dA
claim backward: softmax's matrix from dL/dA, its diagonal never reached; Q^T dS reshaped to dK; nothing through the
 rotations
fact the matrix is diag(A) - A A^T, with the diagonal A (1 - A); dK is dS^T Q, so Q^T dS must be transposed, and a
 reshape scrambles it; every encoding has its own gradient
figure relative error of softmax: {0}
more from A {1}; rotate-stretch passed through as if it were not there {2}, with its gradient {3}
13 wrong, github.com/benkurzion/Transformer, code
brief one encoding for all files
claim all parameter files are run with one global encoding
fact each file must name its encoding, and a program must refuse others
figure {0} of {1} pairs refused
more pairs of shipped weights and another's encoding, unless it is forced
shown ordo lab swap
14 wrong, github.com/benkurzion/Transformer, code
brief exponent 2m/d, m already even
fact the exponent is doubled, so half of the pairs hardly move
figure {0} of {1} pairs hardly move
more width 128: their frequencies are at or below 1e-4 (right: {2}), the slowest {3} (right: {4})
shown ordo table rope:theta=100000000 --dim 128 --part frequency
15 wrong, Investigating Transformer Positional Encodings
brief pairs (0, 1) ... (d-1, d)
fact the last pair is (d-2, d-1)
figure of 512 the last is ({0}, {1})
shown ordo table rope --dim 8 --part matrix
16 wrong, Investigating Transformer Positional Encodings
brief (1, 1) moves without a pattern
claim (1, 1) moved by 8 positions has almost no discernable pattern
fact the tips run around a circle
figure off a circle by {circle:tips/7/distance from (1, 1), less 1}
more the eighth tip, which is {circle:tips/7/turned by, radians|6} rad from the seventh
shown ordo lab circle
17 wrong, Investigating Transformer Positional Encodings
brief m_n = 2^-8
fact the heads are m_0 to m_(n-1); between powers of two the slopes interleave
figure of 8 heads m_7 = {slopes:slopes/7/m7|6}
more m_0 = {slopes:slopes/7/m0}; 12 heads end in {slopes:slopes/11/m8|4}, {slopes:slopes/11/m9|4},
 {slopes:slopes/11/m10|4}, {slopes:slopes/11/m11|4}, not in 2^(-8h/12)
shown ordo lab slopes
18 wrong, Investigating Transformer Positional Encodings
brief scaling of scores is open
claim the paper does not say whether scores are scaled by 1/dim_q
fact scores are scaled by 1/sqrt(dim_q), and the bias is not scaled
figure spread {0}; by the root {1}
more random q and k of width 8
shown ordo encodings alibi
19 partly, Investigating Transformer Positional Encodings
brief ALiBi is too harsh over 3 words
claim ALiBi decays linearly, which is too harsh over three words
fact the decay is linear in the scores, exponential in the weights, and slow in most heads
figure heads keep {0} to {1}
more of a weight three words away, the slowest and the fastest of 16 heads
shown ordo lab slopes (picture shapes)
20 wrong, Investigating Transformer Positional Encodings
brief relative: 123 is like 321
claim relative encodings cannot tell 123 from 321
fact the sign of the distance counts, and so does the mask
figure alibi moves logits by {nope:bag-of-words/layers=1;encoding=alibi/logits_differ_by}
more after a permutation of the earlier tokens; rope {nope:bag-of-words/layers=1;encoding=rope/logits_differ_by}, t5
 {nope:bag-of-words/layers=1;encoding=t5/logits_differ_by}, shaw
 {nope:bag-of-words/layers=1;encoding=shaw/logits_differ_by}
shown ordo lab nope (table bag-of-words); ordo lab word-order (table order)
21 partly, Investigating Transformer Positional Encodings
brief NoPE is a bag of words
fact one layer is, for the words before the last; two layers are not
figure 1 layer {nope:bag-of-words/layers=1;encoding=none/logits_differ_by|2}, 2 layers
 {nope:bag-of-words/layers=2;encoding=none/logits_differ_by|2}
more the change of the last logits after a permutation of the earlier tokens, without an encoding
shown ordo lab nope; ordo lab word-order (table order)
22 wrong, Investigating Transformer Positional Encodings
brief NoPE must start as its theorem
claim weights without encoding must be set as in the theorem; refusing perplexity is fishy
fact the theorem says that such weights exist; training finds weights from random ones, and its authors later published
 language models
figure {0}
more the shipped weights, on held-out text
shown ordo perplexity --encoding none; ordo lab nope
23 wrong, Investigating Transformer Positional Encodings
brief positions 1 and 36 are alike
claim positions 1 and 36 rotate the same
fact 0 and 36 do, and 1 and 37
figure {stretch:collisions/position=1;other=36/apart} rad apart; 1 and 37:
 {stretch:collisions/position=1;other=37/apart}
shown ordo lab stretch
24 partly, Investigating Transformer Positional Encodings
brief stretch tells positions apart
fact a norm removes the stretch; before the norm, the embedding shrinks tenfold, and 4 tokens never reach the second
 step
figure after RMSNorm: cosine {stretch:after-norm/1/cosine_after_rms|8}
more of positions a turn apart: lengths as 1 to {stretch:after-norm/1/ratio_before}, after the norm as 1 to
 {stretch:after-norm/1/ratio_after_rms|6}; an embedding of length {stretch:scale/0/length_before} starts at
 {stretch:scale/0/length_after}
shown ordo lab stretch
25 wrong, Positional Encoding (King and Queen)
brief a transpose fits the vocabulary
claim rotating the table aligns it with the vocabulary; segments give positional information; i, the index of a
 dimension, makes a wave of its own
fact it is a transpose: the table has a row for each position, whatever the vocabulary; a segment adds the same row at
 all its positions; i counts pairs: its sine and its cosine share a frequency
figure segment rows differ by {0}
shown ordo table sinusoidal --transpose; ordo lab worked-examples
26 wrong, Positional Encoding; LLM study notes
brief code for any d; 100 x 20 samples
claim code for any d, with super().__init_(), forward() outside of the class and a module called that is never built;
 "100 samples with 20 features"
fact with an odd d there is one sine more than cosines, and the slice is too short; __init__ has four underscores,
 forward() is a method, positional_encoding must be an instance
figure width 5: {0} sines, {1} cosines
more the matrix of the text: {worked-examples:shapes/0/shape}
shown ordo table sinusoidal --dim 5
27 partly, all five texts
brief embedding + PE, nothing else
fact Vaswani et al. multiply the embedding by sqrt(d) first
figure |PE| = {scale:lengths/width=512/waves}, |e| = {scale:lengths/width=512/embedding}
more width 512: after the scale sqrt(d), |PE| is {scale:lengths/width=512/waves_over_scaled} times as long
shown ordo lab scale
28 wrong, github.com/benkurzion/Transformer, code
brief full stops end sentences
fact the data has no full stops: sentences run together
figure {0} % of neighbours cross an end
more of the {1} pairs of neighbours in its corpus {2} stand in two sentences, such as "food carbohydrates"; the prompt
 "good is", which it never has, is a context of 2 words, positions 0 and 1 of 4
29 partly, Positional Encoding (King and Queen)
brief [-1, 1] spares the embeddings
claim the range of -1 to 1 prevents overshadowing the embeddings
fact the bound limits a row only to sqrt(d): the size of the embedding decides whether the words are drowned
figure |PE| = {scale:lengths/width=512/waves}, values up to {waves:properties/dimensions=512/most}
more width 512, where an embedding of N(0, 1/d) has {scale:lengths/width=512/embedding}; the waves are
 {scale:overshadowing/1/waves_over_embedding} times as long as one of N(0, 1)
shown ordo lab scale
30 wrong, Positional Embedding (notebook)
brief attend to 5, 10, 15 words after
claim periodicity lets a word attend to 5 words after it, then 10, 15, 20
fact a query can ask for any one offset; 10 and 15 have no peaks, because no wave has a period of 5; in a causal model
 later words are masked
figure 5: {waves:asking/series=width 512;x=5/y}, 10: {waves:asking/series=width 512;x=10/y}, 15:
 {waves:asking/series=width 512;x=15/y}
more the scores of a query that asks for 5 on, at width 512; the fastest wave takes
 {heat-map:columns-128x8/0/wavelength} words
shown ordo lab waves
31 wrong, Investigating Transformer Positional Encodings
brief 3: sinusoidal performed best
fact its own table says otherwise: its own encoding with a period of 6 is above; both are at chance
figure table: {0} and {1}
more an even guess has {2}
shown ordo lab word-order
32 wrong, Investigating Transformer Positional Encodings
brief good, food are next to is
claim all instances of "good" and most of "food" are exactly one position away from "is"
fact not all of "good" do, and fewer than a third of "food"
figure good {0} of {1}, food {2} of {3}
more the number next to "is" in its corpus; in "good food is red", "good" is not
shown ordo lab word-order
33 partly, Positional Encoding (King and Queen)
brief differentiability helps training
claim the encodings support differentiability and relative positioning, which makes it easier to train the model
fact relative positioning holds; differentiability is no advantage: positions are whole numbers, the table has nothing
 to train, and the gradient of an embedding is the same whatever is added to it
figure gradient changes by {0}
more trained tensors: {1}; in recorded runs waves cost {compare:pairs/better=learned;worse=sinusoidal/nll_less|2} +-
 {compare:pairs/better=learned;worse=sinusoidal/half_corrected|2} nats a token more than learned rows, which are no
 function of the position (beyond chance: {compare:pairs/better=learned;worse=sinusoidal/beyond_chance})
shown ordo table sinusoidal; ordo lab compare
34 wrong, Investigating Transformer Positional Encodings
brief 1 against 100 is not learnable
claim the relationship between a vector at position 1 and one at position 100 is not learnable
fact one matrix leads from position p to p + k for every p, and models learn to know their positions
figure rotated waves off by {waves:properties/dimensions=512/off rotated by 17|2}
more PE(p + 17) and PE(p) with its pairs rotated; a linear probe reads the position from embeddings with waves with an
 error of {nope:probe/model=sinusoidal;layer=0/mean_absolute_error|2}, where guessing has
 {nope:probe/model=sinusoidal;layer=0/mean_guess|2}
shown ordo lab nope; ordo lab waves
35 partly, Investigating Transformer Positional Encodings
brief ALiBi is best at equal length
claim trained on the same length as sinusoidal, rotary and T5, ALiBi achieved the superior perplexity
fact its paper measured this on other models and texts; in the runs recorded here, ALiBi is ahead of sinusoids, and
 behind rotary and T5
figure behind rope by {compare:pairs/better=rope;worse=alibi/nll_less|2} +-
 {compare:pairs/better=rope;worse=alibi/half_corrected|2}
more nats a token, in recorded runs of one length; behind t5 by {compare:pairs/better=t5;worse=alibi/nll_less|2} +-
 {compare:pairs/better=t5;worse=alibi/half_corrected|2}, ahead of sinusoidal by
 {compare:pairs/better=alibi;worse=sinusoidal/nll_less|2} +-
 {compare:pairs/better=alibi;worse=sinusoidal/half_corrected|2}
shown ordo lab compare; ordo lab train-short
36 wrong, Investigating Transformer Positional Encodings
brief a larger angle learns order
claim a more extreme rotation angle, 2 pi/6 in place of 2 pi/36, allowed the model to learn the word orderings better
fact the distance that it reports rises towards that of an even guess, which knows no order; with a period of 6,
 positions 1 and 7 rotate the same
figure its distance rose, {0} to {1}
more an even guess has {2}; positions 1 and 7 are
 {stretch:collisions/encoding=rotate-stretch:period=6;position=1;other=7/apart} rad apart; in recorded runs the period
 of 6 costs {compare:pairs/better=rotate-stretch;worse=rotate-stretch:period=6/nll_less|2} +-
 {compare:pairs/better=rotate-stretch;worse=rotate-stretch:period=6/half|2} nats a token more
shown ordo lab word-order; ordo lab compare; ordo lab stretch
37 wrong, Investigating Transformer Positional Encodings
brief rotary and NoPE are complicated
claim the NoPE and rotary strategies are both overly complicated, sinusoidal and ALiBi simple
fact no encoding computes and stores nothing, and its weights are trained like others; rotary multiplies pairs by
 rotations and has no parameter
figure {0} % and {1} % of a model's work
more the operations of rope and of none, in percent of the model's products; sinusoidal {2}, alibi {3}; none of the four
 has a parameter
shown ordo bench --encodings all; ordo encodings rope
)";

} // namespace ordo::lab
