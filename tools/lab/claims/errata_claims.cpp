// SPDX-License-Identifier: MIT
// The claims of five introductory texts and of their code. Each has its fact and the sentences that figures fill.
#include "tools/lab/claims/errata.h"

namespace ordo::lab {

// A claim begins with its number and verdict. Then come the text, the claim in brief and in full (if that is longer),
// and the fact. After these come the figure in brief and in full, and the command that shows more.
// A line that begins with a space continues the line above. {0} is the first figure.
const std::string_view errata_claims = R"(1 wrong
text Positional Embedding (notebook)
brief the class's output is the table
claim the output of the class is the encoding
fact the code lacks parentheses: it computes 10000^(k - 1/d) for every k, with a sine and a cosine of each; the
 notebook's own table by hand is correct
figure {0} columns for a width of {1}
figures {0} columns; row 1 = {2}, {3}, {4}, 1, {5} ...; past column 1 neighbours differ by {6}, in the correct table by
 {7}
shown ordo lab worked-examples
2 wrong
text Positional Embedding (notebook)
brief odd columns: 10000^(i - 1/d)
fact the denominator is 10000^((i-1)/d), as in the table of the same notebook
figure i = 1: {0}, not 1
figures width 6, i = 1: {0} in the place of {1}
shown ordo table sinusoidal --dim 6 --part denominator; ordo encodings sinusoidal
3 right
text LLM study notes: Positional Encoding
brief rows cluster by 6 and by 63
claim clusters of period 6 and 63: positions are biased
fact this is correct, and exact: the distance depends on the offset alone; 6 is nearly one turn and 63 nearly ten; with
 more than 8 columns the clusters disappear
figure apart {0}, {1}; at 1: {2}
figures distance at offset 1: {2}, 6: {0}, 63: {1}; offset 63 is the nearest for {3} of 128 rows; at width 512: 1: {4},
 6: {5}, 63: {6}
shown ordo lab clusters
4 partly
text LLM study notes; Positional Encoding; the notebook
brief waves never meet at any length
claim waves never meet, unseen lengths are no problem, the vector of an unseen word can be predicted
fact no two whole positions have the same vector, but single pairs of columns nearly do; positions beyond the training
 are unseen, and models fail there
figure pair 0 at 710: {0} rad off
figures pair 0 at offset 44: {1} rad off a whole turn, 710: {0}; the slower pairs keep rows of width 128 apart, by {2}
 and {3} there, by {4} at offset 1
shown ordo lab stretch; ordo lab extrapolate
5 partly
text Position Encoding in Transformers
brief even dims go to 0, odd to 1
claim even dimensions go to 0, odd to 1, late ones range over [0, 1]; pos is an offset; i is the index of a dimension
fact this holds only if pos is far below 10000; pos multiplies the angle; i counts pairs of dimensions
figure dim 510 to row 65,000: {0}
figures width 512, rows 0 to 99: dim 510 in {1}, 511 in {2}; rows to 65,000: {0} and {3}
shown ordo table sinusoidal --dim 512 --start 50000; ordo lab heat-map
6 wrong
text Investigating Transformer Positional Encodings
brief R_i^T R_j is not R_(i-j)
claim R_i^T R_j is not R_(i-j): the paper is wrong, and nothing decays
fact it is R_(j-i), exactly; a bound for aligned vectors decays; scores of random vectors are noise
figure off R_(j-i) by {0}
figures elements of R_3^T R_14 differ from those of R_(14-3) by at most {0}, from those of R_(3-14) by {1}
shown ordo lab rotary
7 partly
text Investigating Transformer Positional Encodings
brief rotation tells no position
claim rotating q and k cannot express absolute position
fact this is correct for the score; but the causal mask reveals the position
figure the mask alone gives 1/t: {0}
figures without any encoding hand-set weights answer {0} after 100 tokens, which is 1/t = {1}
shown ordo lab nope
8 wrong
text github.com/benkurzion/Transformer, code
brief theta = 10000^(+2(i-1)/d)
fact the exponent is negative; with a positive exponent every pair rotates too fast
figure up to {0} rad a step
figures width 8: {1} rad a step, which is {2} after whole turns
shown ordo lab rotary
9 wrong
text Investigating Transformer Positional Encodings
brief three experiments rank encodings
claim experiment 1, after "food is" less is better: custom; 2, after "good is" more is better: sinusoidal; 3, P(food)
 after "carbohydrates are" should be high: sinusoidal is best and custom worst
fact in 1, no model is closer than the word frequencies of its corpus; in 2, an even guess has a larger distance than
 any model; in 3, the corpus continues with another word, so the lowest value, custom, is the best, and the others are
 near chance
figure {0}; unigram {1}
figures distances, 1: {0}, 2: {2}; the words of its corpus, guessed evenly: {3}, by their counts: {4}, known by heart:
 {5}; of at most {6}; 3: P(food) {7}, by chance {8}, in the corpus 0
shown ordo lab word-order
10 wrong
text github.com/benkurzion/Transformer, code
brief [T, 128] read as [16, T, 8]
claim [T, 128] reshaped straight to [16, T, 8]
fact each head then holds chunks of one token, and merging the heads shows every token the last one
figure the future leaks, by {0}
figures another last token of {4} changes the outputs at positions 0 to 2, which have a deviation of {1}, by up to {2};
 split right by {3}
11 wrong
text github.com/benkurzion/Transformer, code
brief weights with a batch axis
fact these are 32 separate models, each trained on 1/32 of the data; one of them is used
figure {0} stored, {1} used
figures {3} x {2} weights and an embedding of {4} x {5}: {0} stored, {1} used
12 wrong
text github.com/benkurzion/Transformer, code
brief softmax's backward from dL/dA
claim backward: softmax's matrix from dL/dA, its diagonal never reached; Q^T dS reshaped to dK; nothing through the
 rotations
fact the matrix is diag(A) - A A^T, with the diagonal A (1 - A); dK is dS^T Q, so Q^T dS must be transposed, and a
 reshape scrambles it; every encoding has its own gradient
figure relative error of softmax: {0}
figures relative error: softmax from dL/dA {0}, from A {1}; rotate-stretch passed through as if it were not there {2},
 with its gradient {3}
13 wrong
text github.com/benkurzion/Transformer, code
brief one encoding for all files
claim all parameter files are run with one global encoding
fact each file must name its encoding, and a program must refuse others
figure {0} of {1} pairs refused
figures {0} of {1} pairs of shipped weights and another's encoding are refused unless forced
shown ordo lab swap
14 wrong
text github.com/benkurzion/Transformer, code
brief exponent 2m/d, m already even
claim exponent 2m/d with m already even
fact the exponent is doubled, so half of the pairs hardly move
figure {0} of {1} pairs hardly move
figures width 128: {0} of {1} frequencies at or below 1e-4 (right: {2}), the slowest {3} (right: {4})
shown ordo table rope:theta=100000000 --dim 128 --part frequency
15 wrong
text Investigating Transformer Positional Encodings
brief pairs (0, 1) ... (d-1, d)
fact the last pair is (d-2, d-1)
figure of 512 the last is ({0}, {1})
figures width 512: pair 255 is ({0}, {1})
shown ordo table rope --dim 8 --part matrix
16 wrong
text Investigating Transformer Positional Encodings
brief (1, 1) moves without a pattern
claim (1, 1) moved by 8 positions has almost no discernable pattern
fact the tips run around a circle
figure off a circle by {0}
figures the tips are off the unit circle around (1, 1) by at most {0}, {1} rad apart
shown ordo lab circle
17 wrong
text Investigating Transformer Positional Encodings
brief m_n = 2^-8
fact the heads are m_0 to m_(n-1); between powers of two the slopes interleave
figure of 8 heads m_7 = 2^-{0}
figures 8 heads: m_0 = {1}, m_7 = {2} = 2^-{0}; 12 heads end in {3}, not in 2^(-8h/12) = {4}
shown ordo lab slopes
18 wrong
text Investigating Transformer Positional Encodings
brief scaling of scores is open
claim the paper does not say whether scores are scaled by 1/dim_q
fact scores are scaled by 1/sqrt(dim_q), and the bias is not scaled
figure spread {0}; by the root {1}
figures width 8, random q and k: scores spread by {0} with 1/d, by {1} with 1/sqrt(d); a bias of slope 1/2 at distance
 3 is a weight of {2}, and {3} if it were scaled too
shown ordo encodings alibi
19 partly
text Investigating Transformer Positional Encodings
brief ALiBi is too harsh over 3 words
claim ALiBi decays linearly, which is too harsh over three words
fact the decay is linear in the scores, exponential in the weights, and slow in most heads
figure heads keep {0} to {1}
figures 16 heads, 3 words away: the slowest keeps {0} of the weight, the fastest {1}
shown ordo lab slopes (picture shapes)
20 wrong
text Investigating Transformer Positional Encodings
brief relative: 123 is like 321
claim relative encodings cannot tell 123 from 321
fact the sign of the distance counts, and so does the mask
figure logits move by {0} or more
figures earlier tokens permuted, the last logits change by: {1}
shown ordo lab word-order (table order)
21 partly
text Investigating Transformer Positional Encodings
brief NoPE is a bag of words
claim without encoding a model is a bag of words
fact one layer is, for the words before the last; two layers are not
figure 1 layer {0}, 2 layers {1}
figures earlier tokens permuted, no encoding, the last logits change by {0} with one layer, {1} with two, {2} with four
shown ordo lab nope; ordo lab word-order (table order)
22 wrong
text Investigating Transformer Positional Encodings
brief NoPE must start as its theorem
claim weights without encoding must be set as in the theorem; refusing perplexity is fishy
fact the theorem says that such weights exist; training finds weights from random ones, and its authors later published
 language models
figure {0}
figures {1}
shown ordo perplexity --encoding none; ordo lab nope
23 wrong
text Investigating Transformer Positional Encodings
brief positions 1 and 36 are alike
claim positions 1 and 36 rotate the same
fact 0 and 36 do, and 1 and 37
figure {0} rad apart; 1 and 37: {1}
figures angles of 0 and 36 are {2} rad apart, of 1 and 37 {1}, of 1 and 36 {0}
shown ordo lab stretch
24 partly
text Investigating Transformer Positional Encodings
brief stretch tells positions apart
claim the stretch tells positions apart
fact a norm removes the stretch; before the norm, the embedding shrinks tenfold, and 4 tokens never reach the second
 step
figure 5 and 41 after RMSNorm: cosine {0}
figures positions 5 and 41: lengths as 1 to {1}, after RMSNorm as 1 to {2}, cosine {0}; an embedding of length 1 starts
 at {3}
shown ordo lab stretch
25 wrong
text Positional Encoding (King and Queen)
brief a transpose fits the vocabulary
claim rotating the table aligns it with the vocabulary; segments give positional information; i, the index of a
 dimension, makes a wave of its own
fact it is a transpose; a segment adds the same row at all its positions; i counts pairs: its sine and its cosine share
 a frequency
figure segment rows differ by {0}
figures what a segment adds at positions 0 to 9 differs by {0}; a table of {1} x {2} has a row for each position,
 whatever the vocabulary, and {3} frequencies, one for each i
shown ordo table sinusoidal --transpose; ordo lab worked-examples
26 wrong
text Positional Encoding; LLM study notes
brief code for any d; 100 x 20 samples
claim code for any d, with super().__init_(), forward() outside of the class and a module called that is never built;
 "100 samples with 20 features"
fact with an odd d there is one sine more than cosines, and the slice is too short; __init__ has four underscores,
 forward() is a method, positional_encoding must be an instance; the matrix there is 128 x 8
figure width 5: {0} sines, {1} cosines
figures width 5: {0} sines, {1} cosines; the matrix of the text: {2} x {3}
shown ordo table sinusoidal --dim 5
27 partly
text all five texts
brief embedding + PE, nothing else
fact Vaswani et al. multiply the embedding by sqrt(d) first
figure |PE| is {0} |e| at width 512
figures width 512: |PE| = {0} beside embeddings of length 1, {0} times as long; after the scale sqrt(d) {1} times
shown ordo lab scale
28 wrong
text github.com/benkurzion/Transformer, code
brief full stops end sentences
claim sentences separated by full stops
fact the data has no full stops: sentences run together
figure {0} % of neighbours cross an end
figures of the {1} pairs of neighbours in its corpus {2} ({0} %) stand in two sentences, such as "food carbohydrates";
 the prompt "good is", which it never has, is a context of 2 words, positions 0 and 1 of {3}
29 partly
text Positional Encoding (King and Queen)
brief [-1, 1] spares the embeddings
claim the range of -1 to 1 prevents overshadowing the embeddings
fact the bound limits a row only to sqrt(d): the size of the embedding decides whether the words are drowned
figure |PE| is {0}, values up to {1}
figures width 512: no value above {1}, and yet |PE| = {0} beside 1 of an embedding of N(0, 1/d), and {2} of one of N(0,
 1)
shown ordo lab scale
30 wrong
text Positional Embedding (notebook)
brief attend to 5, 10, 15 words after
claim periodicity lets a word attend to 5 words after it, then 10, 15, 20
fact a query can ask for any one offset; 10 and 15 have no peaks, because no wave has a period of 5; in a causal model
 later words are masked
figure 5: 1, 10: {0}, 15: {1}
figures width 512, a query that asks for 5 on: a score of 1 at 5, {0} at 10, {1} at 15; the fastest wave takes {2}
 words
shown ordo lab waves
31 wrong
text Investigating Transformer Positional Encodings
brief 3: sinusoidal performed best
claim in experiment 3 sinusoidal performed the best
fact its own table says otherwise: its own encoding with a period of 6 is above; both are at chance
figure table: {0} and {1}
figures its table has {0} for sinusoidal and {1} for its own encoding with a period of 6; an even guess has {2}
shown ordo lab word-order
32 wrong
text Investigating Transformer Positional Encodings
brief good, food are next to is
claim all instances of "good" and most of "food" are exactly one position away from "is"
fact not all of "good" do, and fewer than a third of "food"
figure good {0} of {1}, food {2} of {3}
figures in its corpus {0} of {1} "good" and {2} of {3} "food" are next to "is"; in "good food is red", "good" is not
shown ordo lab word-order
33 partly
text Positional Encoding (King and Queen)
brief differentiability helps training
claim the encodings support differentiability and relative positioning, which makes it easier to train the model
fact relative positioning holds; differentiability is no advantage: positions are whole numbers, the table has nothing
 to train, and the gradient of an embedding is the same whatever is added to it
figure gradient changes by {0}
figures adding the waves of positions 1 and 100 changes the gradient of the embedding by {0}; trained tensors: {1}; in
 recorded runs waves cost {2} nats a token more than learned rows, which are no function of the position ({3})
shown ordo table sinusoidal; ordo lab compare
34 wrong
text Investigating Transformer Positional Encodings
brief 1 against 100 is not learnable
claim the relationship between a vector at position 1 and one at position 100 is not learnable
fact one matrix leads from position p to p + 99 for every p, and models learn to know their positions
figure {0}
figures PE(p + 99) differs from PE(p) rotated by fixed angles by at most {1}, for p = 0 to 99; {2}
shown ordo lab nope; ordo lab waves
35 partly
text Investigating Transformer Positional Encodings
brief ALiBi is best at equal length
claim trained on the same length as sinusoidal, rotary and T5, ALiBi achieved the superior perplexity
fact its paper measured this on other models and texts; in the runs recorded here, ALiBi is ahead of sinusoids, and
 behind rotary and T5
figure behind rope by {0}
figures nats a token that ALiBi costs more in recorded runs of one length, with 95 % intervals: than rope {0}, than t5
 {1}; sinusoidal costs {2} more than ALiBi
shown ordo lab compare; ordo lab train-short
36 wrong
text Investigating Transformer Positional Encodings
brief a larger angle learns order
claim a more extreme rotation angle, 2 pi/6 in place of 2 pi/36, allowed the model to learn the word orderings better
fact the distance that it reports rises towards that of an even guess, which knows no order; with a period of 6,
 positions 1 and 7 rotate the same
figure its distance rose, {1} to {2}
figures its distance rose from {1} to {2}, an even guess has {3}; positions 1 and 7 are {4} rad apart, with the period
 of 36 {5}; in recorded runs the period of 6 costs {0} nats a token more than that of 36 ({6})
shown ordo lab word-order; ordo lab compare; ordo lab stretch
37 wrong
text Investigating Transformer Positional Encodings
brief rotary and NoPE are complicated
claim the NoPE and rotary strategies are both overly complicated, sinusoidal and ALiBi simple
fact no encoding computes and stores nothing, and its weights are trained like others; rotary multiplies pairs by
 rotations and has no parameter
figure {0} % and {1} % of a model's work
figures operations of the encoding, in percent of the model's products: rope {0}, none {1}, sinusoidal {2}, alibi {3};
 none of the four has a parameter
shown ordo bench --encodings all; ordo encodings rope
)";

} // namespace ordo::lab
