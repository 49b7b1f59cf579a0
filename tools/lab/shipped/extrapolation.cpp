// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/extrapolation.h"

namespace ordo::lab {
namespace {

// One encoding at two multiples of the trained length, or two encodings at one.
struct Claim {
    enum class Kind { rises, holds, better, refuses } kind;
    std::string_view encoding, other; // other: only for better
    double multiple;
    const char* sentence;
};

// Written before any measurement, from figure 1 of the ALiBi paper and from the formulas. Misses are reported and stay.
// The margin came later, with the intervals, because no interval can show a loss of exactly zero. An empty name stands
// for every encoding.
constexpr double no_more = 0.05; // nats: a smaller increase counts as none
constexpr Claim claims[] = {
    {Claim::Kind::rises, "", "", 0.25, "With every encoding, the last tokens cost more at 0.25x than at 1x."},
    {Claim::Kind::holds, "alibi", "", 8, "With alibi, they cost no more at 8x than at 1x, or by less than 0.05 nats."},
    {Claim::Kind::rises, "rope", "", 8, "With rope, they cost more at 8x than at 1x."},
    {Claim::Kind::rises, "sinusoidal", "", 8, "With sinusoidal, they cost more at 8x than at 1x."},
    {Claim::Kind::rises, "none", "", 8, "Without an encoding, they cost more at 8x than at 1x."},
    {Claim::Kind::rises, "rotate-stretch", "", 8, "With rotate-stretch, they cost more at 8x than at 1x."},
    {Claim::Kind::refuses, "learned", "", 2, "learned stops at its table, before 2x."},
    {Claim::Kind::better, "alibi", "rope", 8, "At 8x, the last tokens cost less with alibi than with rope."},
    {Claim::Kind::better, "rope", "sinusoidal", 8, "At 8x, they cost less with rope than with sinusoidal."},
    {Claim::Kind::better, "none", "sinusoidal", 8, "At 8x, they cost less without an encoding than with sinusoidal."},
};

// Null if they were not measured.
const Vector* last_at(const Extrapolation& one, double multiple) {
    const auto at = one.last.find(static_cast<int>(multiple * one.context));
    return at == one.last.end() ? nullptr : &at->second;
}

// Adds the cases of a claim: the same tokens at two lengths or with two models. The interval over their documents
// decides.
void judge_one(const Claim& e, std::span<const Extrapolation> all, Judgement& judgement) {
    for (const Extrapolation& one : all) {
        if (!e.encoding.empty() && one.encoding != e.encoding) continue;
        const auto compare = [&](const std::string& name, const Vector* a, const Vector* b) {
            if (!a || !b || a->size() != b->size()) return;
            const Mean d = mean_of_clusters(minus(*a, *b), one.last_documents);
            judgement.add(e.kind == Claim::Kind::rises
                              ? above(d.interval(), 0)
                              : below(d.interval(), e.kind == Claim::Kind::holds ? no_more : 0),
                          told("{} by {}{} nats", name, figure(d.mean, 2), margin(d.half)));
        };
        const Vector* far = last_at(one, e.multiple);
        if (e.kind == Claim::Kind::refuses && (far || one.refused != 0))
            judgement.add(far ? Verdict::missed : Verdict::held, one.name);
        else if (e.kind == Claim::Kind::better) {
            for (const Extrapolation& other : all)
                if (other.encoding == e.other)
                    compare(told("{} less {}", one.name, other.name), far, last_at(other, e.multiple));
        } else if (e.kind != Claim::Kind::refuses)
            compare(one.name, far, last_at(one, 1));
    }
}

// Press et al. 2022, appendix, table 2 (figure 1, left): WikiText-103, 247M parameters, trained on 512 tokens, whole
// windows. Lengths about 1, 2, 5 and 9 times the trained one, and the first at which an encoding is best.
struct Published {
    const char *encoding, *ours; // the names in the paper and in the registry
    std::pair<int, double> perplexities[5];
};
constexpr Published publication[] = {
    {"sinusoidal", "sinusoidal", {{512, 20.05}, {532, 19.91}, {1012, 43.54}, {2512, 132.41}, {4512, 209.37}}},
    {"rotary", "rope", {{512, 20.07}, {712, 19.79}, {1012, 21.37}, {2512, 31.58}, {4512, 39.15}}},
    {"T5 bias", "t5", {{512, 19.65}, {1012, 18.79}, {1112, 18.77}, {2512, 20.41}, {4512, 25.91}}},
    {"ALiBi", "alibi", {{512, 19.73}, {1012, 18.73}, {2512, 18.41}, {4512, 18.41}, {12512, 18.31}}},
};

// Perplexity relative to the trained length. Texts and models differ too much to compare more than the shapes.
void show_published(std::span<const Extrapolation> all, Result& result) {
    Figures table{{"encoding", "length", "perplexity"}, {}, 2};
    Curves curves{.log_x = true, .log_y = true};
    for (const auto& [encoding, ours, perplexities] : publication) {
        Series& curve = curves.add(text(ours, ", published"), Series::Style::line_points);
        for (const auto& [length, perplexity] : perplexities) {
            add_row(table, encoding, length, perplexity);
            curve.add(length / 512.0, perplexity / perplexities[0].second);
        }
    }
    for (const Extrapolation& one : all) {
        const auto own = one.whole.find(one.context);
        if (own == one.whole.end() || !std::ranges::count(publication, one.encoding, &Published::ours)) continue;
        Series& curve = curves.add(text(one.name, ", here"), Series::Style::line_points);
        for (auto at = own; at != one.whole.end(); ++at)
            curve.add(one.times(at->first), std::exp(sample_of(at->second).mean() - sample_of(own->second).mean()));
    }
    result.tables.push_back({"published",
                             "Published, for the shape: perplexity of whole windows by their length, trained on 512 "
                             "tokens of WikiText-103, 247M parameters (Press et al. 2022, arXiv 2108.12409, table 2)",
                             std::move(table)});
    result.pictures.push_back({"published-curve",
                               "Perplexity of whole windows divided by that at 1x: published (Press et al. 2022, table "
                               "2), and here",
                               "window, in trained lengths", "perplexity / perplexity at 1x", std::move(curves)});
}

} // namespace

void judge(std::span<const Extrapolation> all, Result& result) {
    Expectations expectations;
    for (const Claim& one : claims)
        judge_one(one, all, expectations.expect(one.sentence, ": these models and lengths do not ask it"));
    expectations.write_to(result);
    show_published(all, result);
}

std::vector<int> lengths_of(const Request& request, const std::string& model, int context) {
    std::vector<int> lengths;
    if (!request.arguments.has("length"))
        for (const double multiple : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0})
            lengths.push_back(std::max(2, static_cast<int>(multiple * context)));
    else
        for (const std::int64_t length : request.arguments.integers("length")) lengths.push_back(length);
    for (std::size_t i = 0; i < lengths.size(); ++i)
        if (i == 0 && lengths[i] < 2)
            fail(ErrorCode::usage, "option --length: expected lengths of 2 tokens or more, found ", lengths[i]);
        else if (i > 0 && (lengths[i] <= lengths[i - 1] || lengths[i] % lengths[i - 1] != 0))
            fail(ErrorCode::usage, "option --length: expected each a multiple of the one before, found ", lengths[i],
                 " after ", lengths[i - 1]);
    if (std::find(lengths.begin(), lengths.end(), context) == lengths.end())
        fail(ErrorCode::usage, "option --length: expected the ", context, " that ", model,
             " was trained on among them, found only others");
    return lengths;
}

// ---- The same tokens, predicted in windows of several lengths ----------------------------------

WindowLosses measure_windows(const Model& model, std::span<const tools::Document> documents, const WindowPlan& plan,
                             int length) {
    const int shortest = plan.lengths.front(), longest = plan.lengths.back();
    Session session(model, {.capacity = length, .chunk = 256, .first_position = 0});
    const int tail = std::min(plan.tail, shortest - 1);
    WindowLosses out;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        const std::span<const Token> tokens = documents[d].tokens;
        const auto all = static_cast<int>(tokens.size()), n = plan.short_documents ? std::min(all, longest) : all;
        const auto window = [&](int first, int count) {
            return tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        };
        if (n < longest) continue;
        for (int start = 0; start < n / longest * longest; start += length) {
            const Vector nll = tools::score_window(session, window(start, length));
            for (int at = 1; at < length; ++at) {
                if ((start + at) % shortest == 0) continue;
                const double value = nll[static_cast<std::size_t>(at) - 1];
                const std::size_t bucket = tools::bucket_of(at);
                if (out.buckets.size() <= bucket) out.buckets.resize(bucket + 1);
                out.whole.push_back(value);
                out.buckets[bucket].add(value, documents[d].bytes[start + at]);
            }
        }
        for (int end = longest; end <= n; end += plan.step) {
            const int fed = length - tail - 1; // fed without reading the logits
            session.rewind(0);
            if (fed > 0) session.feed(window(end - length, fed));
            const Vector nll = score_continuation(session, window(end - length + fed, tail + 1));
            out.last.insert(out.last.end(), nll.begin(), nll.end());
        }
        out.whole_documents.resize(out.whole.size(), static_cast<int>(d));
        out.last_documents.resize(out.last.size(), static_cast<int>(d));
    }
    return out;
}

Extrapolation extrapolate(const Trained& trained, const Model& model, std::span<const tools::Document> documents,
                          const WindowPlan& plan, const std::function<void(const std::string&)>& progress) {
    const auto longest = static_cast<std::size_t>(plan.lengths.back());
    if (std::ranges::none_of(documents, [&](const tools::Document& d) { return d.tokens.size() >= longest; }))
        fail(ErrorCode::usage, plan.text, ": expected a document of ", longest, " tokens or more, found none");

    Extrapolation out{trained.name, trained.encoding.substr(0, trained.encoding.find(':')), trained.encoding,
                      trained.context};
    for (const int length : plan.lengths) {
        progress(trained.name + ", length " + std::to_string(length));
        try {
            WindowLosses at = measure_windows(model, documents, plan, length);
            out.whole[length] = std::move(at.whole);
            out.last[length] = std::move(at.last);
            out.whole_documents = std::move(at.whole_documents);
            out.last_documents = std::move(at.last_documents);
            out.longest = length;
            out.positions = std::move(at.buckets);
        } catch (const Error& error) {
            if (error.code != ErrorCode::limit) throw;
            out.refused = length;
            out.refusal = text(trained.name, " stops: a window of ", length, " is refused (", error.what(), ").");
            break; // all longer lengths are refused, too
        }
    }
    return out;
}

} // namespace ordo::lab
