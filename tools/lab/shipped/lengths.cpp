// SPDX-License-Identifier: MIT
// The same tokens, predicted in windows of several lengths.
#include "core/error.h"
#include "model/model.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/extrapolation.h"

namespace ordo::lab {
namespace {

// The result of a pass over windows of one length.
struct AtLength {
    Vector whole; // nll of the tokens after the first of every window, at all lengths
    Vector last;  // of the last tokens before each end
    std::vector<int> whole_documents, last_documents; // the document of each token
    std::vector<tools::Tally> buckets;                // of whole, by position in the window
};

AtLength measure(const Model& model, std::span<const tools::Document> documents, const WindowPlan& plan, int length) {
    const int shortest = plan.lengths.front(), longest = plan.lengths.back();
    Session session(model, {.capacity = length, .chunk = 256, .first_position = 0});
    const int tail = std::min(32, shortest - 1);
    AtLength out;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        const tools::Document& document = documents[d];
        const auto all = static_cast<int>(document.tokens.size()),
                   n = plan.short_documents ? std::min(all, longest) : all;
        const std::span<const Token> tokens = document.tokens;
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
                out.buckets[bucket].add(value, document.bytes[static_cast<std::size_t>(start + at)]);
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

} // namespace

Extrapolation extrapolate(const Trained& trained, const Model& model, std::span<const tools::Document> documents,
                          const WindowPlan& plan, const std::function<void(const std::string&)>& progress) {
    const auto longest = static_cast<std::size_t>(plan.lengths.back());
    if (std::none_of(documents.begin(), documents.end(),
                     [&](const tools::Document& d) { return d.tokens.size() >= longest; }))
        fail(ErrorCode::usage, plan.text, ": expected a document of ", longest, " tokens or more, found none");

    Extrapolation out;
    out.name = trained.name;
    out.encoding = trained.encoding.substr(0, trained.encoding.find(':'));
    out.context = trained.context;
    for (const int length : plan.lengths) {
        progress(trained.name + ", length " + std::to_string(length));
        try {
            AtLength at = measure(model, documents, plan, length);
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
