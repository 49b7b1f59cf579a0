#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the list-driven suites of tests/encoding notice an error in an encoding. Each mutant is one edit of one
line, or of two. The script applies it to a copy of the tree, builds, and runs the suites that go through the list of
encodings: contract, oracle, gradient, bits, tables, declarations, published numbers and limits.

    tests/encoding/mutations.py [TEXT]    only mutants of files whose name contains TEXT

It prints killed or ALIVE for each mutant, and fails if one is alive or no longer applies. All mutants take about
20 minutes, and `make test` does not run it. A mutant that changes no result has a reason instead.
"""
import os
import subprocess
import sys
import tempfile

# file in engine/encoding, the text of a line, its replacement; the reason if the two are equivalent
MUTANTS = [
    # Formulas
    ("alibi.cpp", "tile.keys.stride() != 1", "false"),
    ("alibi.cpp", "return -(static_cast<float>(slope(slot, head)) * static_cast<float>(penalty(distance)));",
     "return static_cast<float>(value(slot, head, distance));"),
    ("alibi.cpp", "h - p + 0.5", "h - p + 1.0"),
    ("alibi.cpp", "std::bit_floor(", "std::bit_ceil("),
    ("alibi.cpp", "scale_ * std::exp2", "std::exp2"),
    ("alibi.cpp", "-std::expm1(-D / length_)", "-std::expm1(-D / length_ / 2)"),
    ("alibi.cpp", "std::expm1(D / length_), 1e30", "std::expm1(D / length_), 1e31"),
    ("alibi.cpp", "std::pow(D, power_)", "std::pow(D, 0.99 * power_)"),
    ("alibi.cpp", "sums[0] -= d * penalty(distance);", "sums[0] += d * penalty(distance);"),
    ("alibi.cpp", "out[1] = slope(slot, head)", "out[1] = slope(0, head)"),
    ("alibi.cpp", "is_line() ? 2 : 1", "1"),
    ("t5.cpp", "steps + 1e-9", "steps"),
    ("t5.cpp", "if (D < exact || D == distance_)", "if (D <= exact || D == distance_)"),
    ("t5.cpp", "D < exact ? D : n - 1", "D < exact ? D : n - 2"),
    ("t5.cpp", "first > 0 ? -distance : distance", "distance"),
    ("t5.cpp", "1 / std::sqrt(dims().d_model)", "1.0 / dims().d_model"),
    ("t5.cpp", "out[2] = bucket(-d)", "out[2] = bucket(d)"),
    ("t5.cpp", "!causal() && distance < 0 ? n : 0", "!causal() && distance <= 0 ? n : 0"),
    ("t5.cpp", "causal() ? buckets_ : buckets_ / 2, exact", "causal() ? buckets_ : buckets_, exact"),
    ("t5.cpp", "row(bucket(D))[tile.head] += sum", "row(bucket(D))[tile.head] = sum"),
    ("kerple.cpp", "most_power = 2", "most_power = 3"),
    ("kerple.cpp", "least = 0.01", "least = 0.02"),
    ("kerple.cpp", "d * k.a * D / (1 + k.b * D)", "d * k.a * D / (1 + D)"),
    ("kerple.cpp", "d * k.a * raised * std::log(D)", "d * k.a * raised"),
    ("kerple.cpp", "r2 > least && r2 < most_b", "r2 > least"),
    ("kerple.cpp", "within(power_ ? 1 : 2)", "within(power_ ? 2 : 1)"),
    ("kerple.cpp", "out[1] = kernel(slot, head).a;", "out[1] = kernel(slot, head).b;"),
    ("kerple.cpp", "if (D == 0) return;", ""),
    ("sandwich.cpp", "for (int k = 1; k <= width_ / 2; ++k)", "for (int k = 0; k < width_ / 2; ++k)"),
    ("sandwich.cpp", "scale_ * (head + 1) / heads()", "scale_ * (head + 1)"),
    ("sandwich.cpp", "frequencies_) total += std::cos(static_cast<double>(distance) * w) - 1",
     "frequencies_) total += std::cos(static_cast<double>(distance) * w)"),
    ("fire.cpp", "epsilon = 1e-6", "epsilon = 1e-7"),
    ("fire.cpp", "greatest(layers_[slot], std::max(query, key))", "greatest(layers_[slot], query)"),
    ("fire.cpp", "if (most <= layer.threshold) return", "if (most <= layer.threshold + 1) return"),
    ("fire.cpp", "key <= limit ? of_query", "true ? of_query"),
    ("fire.cpp", "* sign(tensor_c)", ""),
    ("fire.cpp", "* sign(tensor_l)", ""),
    ("fire.cpp", "by_divisor * greatest;", "by_divisor * divisor;"),
    ("fire.cpp", "later < layer.threshold ? 1", "later < layer.threshold ? 0"),
    ("fire.cpp", "? 1 : 6", "? 1 : 5"),
    ("fire.cpp", "std::fabs(number(tensors[tensor_c]))", "number(tensors[tensor_c])"),
    ("base/pieces.cpp", "weight > 0 ? Range{piece(at), all} : Range{0, piece(at)}", "Range{piece(at), all}"),
    ("base/pieces.cpp", "bias == 0 && weight > 0", "bias == 0 && weight < 0"),
    ("base/pieces.cpp", "std::sort(borders_.begin(), borders_.end());", ""),
    ("base/float_pair.h", "pair[1] = static_cast<float>(value - static_cast<double>(pair[0]));", "pair[1] = 0;"),
    ("forget.cpp", "return (query[0] - high[j]) + (query[1] - low[j]);",
     "return (query[0] + query[1]) - (high[j] + low[j]);"),
    ("forget.cpp", "z < 0 ? z - std::log1p(std::exp(z)) :", ""),
    ("base/float_pair.h", "before && c < n", "false"),
    ("forget.cpp", "d_log * -std::expm1(log_gate)", "d_log"),
    ("forget.cpp", "keys.difference(query, j) <= 0 ? d_row[j] : -d_row[j]", "d_row[j]"),
    ("forget.cpp", "most_keys = 256", "most_keys = 100", "the keys are only taken in other runs"),
    ("cope.cpp", "scores.cols + 2)", "scores.cols + 1)"),
    ("cope.cpp", "keys.fraction[i] * (high - low)", "keys.fraction[i] * high"),
    ("cope.cpp", "if (full > 0) kernels().add_value(full, z[reached - 1], s);", ""),
    ("cope.cpp", "slopes -= own;", ""),
    ("cope.cpp", "dz[floor] += ds[j] * (1 - keys.fraction[i]);", ""),
    ("cope.cpp", "ds[j] * keys.fraction[i]", "ds[j] * (1 - keys.fraction[i])"),
    ("cope.cpp", "for (int j = 0; j < full; ++j) dz[positions_ - 1] += ds[j];", ""),
    ("base/key_count.h", "four = four < next ? next : four;", ""),
    ("base/key_count.h", "!(p < left)", "p >= left"),
    ("shaw.cpp", ".least = -clip_, .most = clip_}};", ".least = -clip_, .most = clip_ + 1}};"),
    ("shaw.cpp", "has_values_ ? moment_mix : 0U", "moment_mix"),
    ("shaw.cpp", "clip_ + 1 : 2.0 * clip_ + 1", "clip_ : 2.0 * clip_ + 1"),
    ("shaw.cpp", "table(1, tile).add_gradient(1, weights, d_out", "table(1, tile).add_gradient(2, weights, d_out"),
    ("shaw.cpp", "table(1, tile).add_products(1, d_out, tile, d_weights);", ""),
    ("deberta.cpp", "(c2p() ? reads_queries : 0U) | (p2c() ? reads_keys : 0U)", "reads_queries | reads_keys"),
    ("deberta.cpp", ".least = 1 - span_, .most = span_, .by_head = true, .reversed = true",
     ".least = 1 - span_, .most = span_, .by_head = true, .reversed = false"),
    ("deberta.cpp", "code_ ? 1 - span_ : -span_", "1 - span_"),
    ("deberta.cpp", "1.0 + (c2p() ? 1 : 0) + (p2c() ? 1 : 0)", "2.0 + (p2c() ? 1 : 0)"),
    ("deberta.cpp", "add_products(c2p() ? 1 : 0, tile.scale * factor(), scores",
     "add_products(c2p() ? 1 : 0, tile.scale, scores"),
    ("base/relative.cpp", "rows.most - base + rows.hides_later", "rows.most - base"),
    ("base/relative.cpp", "rows.least - base + 1", "rows.least - base",
     "a key exactly at the clamp is then read alone, and has the same vector"),
    ("base/relative.cpp", "> 8 * static_cast<std::int64_t>(queries_.size()",
     "> 80 * static_cast<std::int64_t>(queries_.size()",
     "only the path differs"),
    ("base/relative.cpp", "const Extent of_keys = extent(keys, in_order_)",
     "const Extent of_keys = extent(keys, true)"),
    ("transformer_xl.cpp", "if (near.table.covers(tile)) return use_all(near);", "return use_all(near);"),
    ("transformer_xl.cpp", "n > 1 && pairs.sparse()", "n > 1 && false"),
    ("transformer_xl.cpp", "top, left + m / 2, use", "top, left, use"),
    ("transformer_xl.cpp", "top + n / 2, left, use", "top, left, use"),
    ("transformer_xl.cpp", "(v[c] - u[c])", "v[c]"),
    ("transformer_xl.cpp", "kernels().axpy(e, -1, dq + i * e, du);", ""),
    ("transformer_xl.cpp", "static_cast<double>(-row) *", "static_cast<double>(row) *"),
    ("transformer_xl.cpp", "s.row(row), s.stride, 1, dw.data", "s.row(0), s.stride, 1, dw.data"),
    ("base/relative.cpp", "all.first_row() >= range_.least &&", ""),
    ("base/relative.cpp", "(all.last_row() <= range_.most || rows_of_pairs(tile).hides_later)", "true"),
    ("rope.cpp", "std::floor(keep_ * width_ / 2)", "std::ceil(keep_ * width_ / 2)"),
    ("rope.cpp", "k < count * pairs_on(k % count) ? k % count : 0", "k % count"),
    ("rope.cpp", "(sections_[axis] - 1) * count", "sections_[axis] * count"),
    ("rope.cpp", "if (sum != pairs)", "if (sum > pairs)"),
    ("rope.cpp", "if (section != std::floor(section))", "if (false)"),
    ("base/rotation.cpp", "positions.at(row, axis(pair))", "positions.at(row, 0)"),
    ("base/rotation.cpp", "sin[k] = from[pairs() + pair];", "sin[k] = from[pair];"),
    ("base/rotation.cpp", "const float direction = transposed ? -1.0f : 1.0f;", "const float direction = 1.0f;"),
    ("base/rotation.cpp", ": std::exp(-by * turns_.growth[pair])", ": std::exp(by * turns_.growth[pair])"),
    ("base/rotation.cpp", "out[second] = 0 - gain * std::sin(t);", "out[second] = gain * std::sin(t);"),
    ("base/rope_scaling.cpp", "width / (width - 2.0)", "width / (width - 1.0)"),
    ("base/rope_scaling.cpp", "std::floor(low)", "std::ceil(low)"),
    ("base/rope_scaling.cpp", "std::ceil(high)", "std::floor(high)"),
    ("base/rope_scaling.cpp", "length == original ? short_factors[k]", "length != original ? short_factors[k]"),
    ("base/rope_scaling.cpp", "factor * length / original - (factor - 1)", "factor * length / original"),
    ("base/rope_scaling.cpp", "0.1 * std::log(factor) + 1", "0.1 * std::log(factor) + 1.01"),
    ("base/rope_scaling.cpp", "w[k] / scaling.factor * (1 - kept)", "w[k] / scaling.factor"),
    ("base/rope_scaling.cpp", "wavelength < scaling.original / scaling.high",
     "wavelength < scaling.original / scaling.low"),
    ("base/rope_scaling.cpp", "text <= original ? original", "text < original ? original"),
    ("xpos.cpp", "static_cast<int>(std::min<double>(most, 96 * ", "static_cast<int>(std::min<double>(most, 97 * "),
    ("xpos.cpp", "role == Role::query ? growth : -growth", "growth"),
    ("xpos.cpp", "(2.0 * pair / width_ + gamma_) / (1 + gamma_)", "(2.0 * pair / width_ + gamma_)"),
    ("sinusoidal.cpp", "out[0] += offset_", "out[0] += 0"),
    ("sinusoidal.cpp", "static_cast<double>(position) + offset_", "static_cast<double>(position)"),
    ("sinusoidal.cpp", "scale_ == 1 ? 0 : dims().embedding_cols()", "dims().embedding_cols()"),
    ("sinusoidal.cpp", "std::max(pairs() - 1, 1)", "pairs()"),
    ("sinusoidal.cpp", "tensor2tensor_ ? d_ / 2 : (d_ + 1) / 2", "d_ / 2"),
    ("sinusoidal.cpp", "static_cast<float>(scale_), dx.row(i)", "1.0f, dx.row(i)"),
    ("sinusoidal.cpp", "std::exp(-exponent(k) * std::log(base_))", "std::exp(-exponent(k))"),
    ("learned.cpp", "rows.positions[i] + offset_", "rows.positions[i]"),
    ("learned.cpp", "request.start + offset_", "request.start"),
    ("learned.cpp", "{.positions = length_}",
     "{.positions = length_ + offset_}"),
    ("segment.cpp", "rows.segments.empty() ? 0", "rows.segments.empty() ? 1"),
    ("segment.cpp", "{.segments = count_}",
     "{.segments = count_ + 1}"),
    ("rotate_stretch.cpp", "position % period_) / period_", "position) / period_"),
    ("rotate_stretch.cpp", "norm > 0 ? s * dot(row, g, x.cols) / norm : 0", "s * dot(row, g, x.cols) / norm"),
    ("rotate_stretch.cpp", "turns + 1.0", "turns"),
    ("rotate_stretch.cpp", "if (n % 2 != 0) x[n - 1] *= scale;", ""),
    ("rotate_stretch.cpp", "static_cast<float>(-std::sin(t)), 1);", "static_cast<float>(std::sin(t)), 1);"),
    ("sink.cpp", "row(0)[query.head] += d_sink", "row(0)[query.head] = d_sink"),
    ("sink.cpp", "InitialValues::constant(0)", "InitialValues::constant(1)"),
    ("pope.cpp", "-1.0 * c / half()", "-2.0 * c / half()"),
    ("pope.cpp", "[c], least_shift, 0.0f)", "[c], least_shift, 1.0f)"),
    ("pope.cpp", "return least_shift <= shift && shift <= 0;", "return true;"),
    ("pope.cpp", "* -std::expm1(-length)", "* std::exp(-length)"),
    ("canon.cpp", "reversed ? taps - 1 - m : m", "m"),
    ("canon.cpp", "kernel_ - 1 - rows.before - t, rows.inputs", "0, rows.inputs"),
    ("canon.cpp", "scale * s * (1 - s) * g", "scale * s * g"),
    ("canon.cpp", "smears() ? 1 : kernel_ - 1; }", "smears() ? 1 : kernel_ - 2; }"),
    ("canon.cpp", "2 * d + 2 * gate_columns + operations_of_function", "2 * d + gate_columns + operations_of_function"),
    ("canon.cpp", "places * 2 * kernel_ * d", "2 * kernel_ * d"),
    ("canon.cpp", "s.convolve(1, dx.rows - t, 0, dx", "s.convolve(1, 1, 0, dx"),
    ("canon.cpp", "dx.row(t - 1)); // row t - 1", "dx.row(t)); // row t - 1"),
    ("abacus.cpp", "rows.before ? *rows.before : 0", "0"),
    ("abacus.cpp", "place == 0 ? start : place + 1", "place + 1"),
    ("abacus.cpp", "(offset_ + 1)", "(offset_ + 2)"),
    ("abacus.cpp", "{.derived = length_}", "{.derived = length_ + 1}"),
    ("abacus.cpp", "offset_ > length_ - 2)", "offset_ > length_ - 1)"),
    ("path.cpp", "before + low(m - t - 1)", "before + low(m - 1)"),
    ("path.cpp", "+ 1e-6f)", "+ 1e-3f)"),
    ("path.cpp", "(7.0 * e() + 3) * work.pairs", "7.0 * e() * work.pairs"),
    ("path.cpp", "return {group(tile.head) * e(), columns() + group(tile.head)};",
     "return {group(tile.head) * e(), columns()};"),
    ("wall.cpp", "-(row[c] + bias.row(0)[c])", "row[c] + bias.row(0)[c]"),
    ("wall.cpp", "d_bias[c] += d[c];", "d_bias[c] = d[c];"),
    ("wall.cpp", "(5.0 * dims().d_head + 2) * work.pairs", "5.0 * dims().d_head * work.pairs"),
    ("base/walk.cpp", "direction < 0 ? own : key;", "own;"),
    ("stick_breaking.cpp", "s[keys] = -HUGE_VALF;", ""),
    ("stick_breaking.cpp", "static_cast<float>(-sum);", "static_cast<float>(sum);"),
    ("stick_breaking.cpp", "gradient.rescored ? static_cast<double>(*gradient.rescored) : 0", "0"),
    ("stick_breaking.cpp", "(2 * operations_of_function + 3) * work.pairs",
     "(operations_of_function + 3) * work.pairs"),
    ("stick_breaking.cpp", "moment_sink ? (operations_of_function + 1)", "moment_sink ? operations_of_function"),
    ("sink.cpp", "(operations_of_function + 1) * work.query_rows", "operations_of_function * work.query_rows"),
    ("cope.cpp", "reads_queries; }", "reads_queries | reads_keys; }"),
    ("selective_rope.cpp", "dy[n + k] * y[k] - dy[k] * y[n + k]", "dy[n + k] * y[k] + dy[k] * y[n + k]"),
    ("selective_rope.cpp", "rows.role == Role::query ? this->", "rows.role != Role::query ? this->"),
    ("selective_rope.cpp", "6 + 2 * operations_of_function", "6 + operations_of_function"),
    ("base/angle_source.cpp", "before + z_at() + (-1 - t) * rank_", "before + z_at()"),
    ("base/angle_source.cpp", "const int shift = kernel_ - 1 - m;", "const int shift = m;"),
    ("base/angle_source.cpp", "(dy[j] - y[j] * along) / length", "dy[j] / length"),
    ("base/angle_source.cpp", "sum * f * f", "sum * f"),
    ("dpb.cpp", "std::copysign(std::log1p(std::abs(D)), D)", "std::log1p(std::abs(D))"),
    ("dpb.cpp", "first < all; first += at_once", "first < all - 1; first += at_once"),
    ("dpb.cpp", "= s + y * (1 - s);", "= s;"),
    ("relative_logits.cpp", "rows_.emplace_back(extent_ + 2, rank_);", "rows_.emplace_back(extent_ + 3, rank_);",
     "a row that no pair reads"),
    ("relative_logits.cpp", "tables_.emplace_back(-extent_, 1, dims().mask)",
     "tables_.emplace_back(-extent_, 0, dims().mask)"),
    ("relative_logits.cpp", "std::min(work.pairs, work.query_rows * extent_)", "work.pairs"),
    ("log_scale.cpp", "if (s != 0) grads", "grads"),
    ("log_scale.cpp", "kind_ == Kind::llama4 ? n : p", "n"),
    ("log_scale.cpp", "kind_ == Kind::llama4 ? 1 : 0", "1"),
    ("log_scale.cpp", "operations_of_function + 1) * work.query_rows", "operations_of_function) * work.query_rows"),
    ("sinusoidal.cpp", "float* const last = x + dims().embedding_cols() - d_;", "float* const last = x;"),
    ("sinusoidal.cpp", "std::fill_n(dx.row(i) + dx.cols - replaced_, replaced_, 0.0f);", ""),
    ("sinusoidal.cpp", "(scaled + d_) * work.tokens", "(scaled + dims().d_model) * work.tokens"),
    ("forget.cpp", "InitialValues::constant(static_cast<float>(start_))", "InitialValues::constant(0)"),
    ("forget.cpp", "p.unless(start_ == 0)", "p.unless(start_ != 0)"),
    ("base/distance_table.cpp", "std::clamp<std::int64_t>(-at, 0, n)", "std::clamp<std::int64_t>(-at - 1, 0, n)"),
    ("base/distance_table.cpp", "width_ - at, first, n", "width_ - at + 1, first, n"),
    ("base/distance_table.cpp", "(most - tile.queries[i])", "(tile.queries[i] - least)"),
    ("base/distance_bias.cpp", "gradient.tensors[i].row(0)[tile.head] +=", "gradient.tensors[i].row(0)[tile.head] ="),
    ("base/row_table.cpp", "to[j] += from[j];\n        }", "to[j] = from[j];\n        }"),
]

SUITES = "*EncodingOracle*:*Gradient*:*EncodingTables*:*EncodingThreads*:*EncodingShows*"
WHOLE = (":Declared.*:Published.*:EncodingShowsItsParts.*:EncodingOracleFar.*:Cope.*"
         ":LimitCases.*:Registry.*:EncodingTable.*:DerivedPositionsOf.*")
CONTRACT = "*Contract.*/ordo_*{0}*:*Contract.*/bert_*{0}*:*Contract.*/{0}*:Evicting.*"


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def build(*more):
    files = "tests/{encoding,oracles}/*.cpp tests/{oracle,ref*}.cpp tests/{train/grad,model/deriv}*.cpp"
    tests = run(["bash", "-c", "ls " + files]).stdout
    return run(["make", "-j2", "test-binary", "LAB_SOURCES=", "TEST_SOURCES=" + " ".join(tests.split()), *more])


def passes(suites):
    try:
        command = ["build/release/ordo_tests", "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + suites]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def cases(file):
    """Filters of the suites for a file: of an encoding only its cases, of base/ those of all encodings."""
    name = "" if file.startswith("base/") else os.path.basename(file).split(".")[0]
    return ":".join(suite + name + "*" for suite in SUITES.split(":")) + WHOLE, CONTRACT.format(name)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    os.chdir(os.path.join(os.path.dirname(__file__), "../.."))
    wrong = 0
    with tempfile.TemporaryDirectory() as copy:
        run(["sh", "-c", 'git ls-files -z | xargs -0 cp --parents -pt "$0"; [ ! -d build ] || cp -a build "$0"', copy])
        os.chdir(copy)
        mutants = [m for m in MUTANTS if wanted in m[0]]
        if (first := build()).returncode or not all(map(passes, {s for m in mutants for s in cases(m[0])})):
            sys.exit(first.stdout[-2000:] + "the tree itself does not pass")
        for file, old, new, *why in mutants:
            path = "engine/encoding/" + file
            with open(path, encoding="utf-8") as source:
                text = source.read()
            if text.count(old) != 1:
                answer = f"STALE: expected its text once, found {text.count(old)} times"
            else:
                with open(path, "w", encoding="utf-8") as source:
                    source.write(text.replace(old, new))
                answer = "STALE: does not build"
                if build("FILE_FLAGS=-w").returncode == 0:
                    answer = "ALIVE" if all(map(passes, cases(file))) else "killed"
                with open(path, "w", encoding="utf-8") as source:
                    source.write(text)
            if why:
                answer = "equivalent: " + why[0] if answer == "ALIVE" else answer + ", though " + why[0]
            wrong += not answer.startswith(("killed", "equivalent"))
            print(f"{answer:10} {file}: {old}  ->  {new}", flush=True)
    print(f"{wrong} mutants are alive or stale")
    sys.exit(wrong > 0)


main()
