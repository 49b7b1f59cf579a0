// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/extension_costs.h"

namespace ordo::lab::extension {
namespace {

Costs by_document(const Vector& values, const std::vector<int>& documents) {
    Costs out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i == 0 || documents[i] != documents[i - 1]) out.sums.push_back(0), out.counts.push_back(0);
        out.sums.back() += values[i], ++out.counts.back();
    }
    return out;
}

// Each row has the angles of the text's length at that time.
class Growing final : public Encoding {
public:
    Growing(const std::string& spec, const Dims& dims, int positions)
        : rope_(std::move(make_encodings(spec, dims).front())) {
        for (int length = 0; length <= positions; ++length)
            by_length_.push_back(rope_->at_length(length, length).instead);
    }
    std::string spec() const override { return "growing"; }
    void rotate(View x, const HeadRows& rows) const override {
        for (int i = 0; i < x.rows; ++i) {
            HeadRows one = rows;
            one.positions = rows.positions.subspan(i, 1);
            const Encoding* version = by_length_[static_cast<std::size_t>(rows.positions[i]) + 1].encoding.get();
            (version ? *version : *rope_).rotate({x.row(i), 1, x.cols, x.stride}, one);
        }
    }

private:
    std::unique_ptr<Encoding> rope_;
    std::vector<OwnEncoding> by_length_; // without an encoding: rope_
};

} // namespace

std::string spec_of(const Trained& file, const Method& method, int factor) {
    // A spec without parameters has no colon yet.
    std::string suffix = method.suffix;
    if (method.takes_factor || method.own_factor != 0) suffix += std::to_string(factor);
    if (const std::size_t at = suffix.find('*'); at != suffix.npos) suffix.replace(at, 1, std::to_string(file.context));
    if (!suffix.empty() && file.encoding.find(':') == std::string::npos) suffix[0] = ':';
    return file.encoding + suffix;
}

AtLength measure(const Model& model, std::span<const tools::Document> documents, int trained, int length) {
    const WindowPlan plan{.lengths = {trained, most_multiple * trained}, .step = trained, .tail = trained / 2};
    const WindowLosses losses = measure_windows(model, documents, plan, length);
    return {by_document(losses.whole, losses.whole_documents), by_document(losses.last, losses.last_documents)};
}

Model load(const Trained& file, const Method& method, int factor) {
    LoadOptions options;
    options.encoding = spec_of(file, method, factor);
    options.force_encoding = true;
    return Model::load(file.file, options);
}

Model load_growing(const Trained& file, int length) {
    const Dims dims = blueprint_of(Model::load(file.file)).dims();
    return Model::load(file.file, std::make_unique<Growing>(
                                      spec_of(file, methods[dynamic], methods[dynamic].own_factor), dims, length));
}

std::vector<tools::Document> long_documents(const Text& held, const Model& model, std::size_t most) {
    const int longest = most_multiple * model.context();
    std::vector<tools::Document> documents;
    for (tools::Document& document : documents_of(held, model))
        if (static_cast<int>(document.tokens.size()) >= longest && documents.size() < most)
            documents.push_back(std::move(document));
    if (documents.size() < 2)
        fail(ErrorCode::usage, held.name, ": expected two documents of ", longest, " tokens or more, found ",
             documents.size());
    return documents;
}

Mean paired(const Costs& over, const Costs& under) {
    return mean_of_sums(minus(over.sums, under.sums), over.counts);
}

Extension measure_file(const Trained& file, const Text& held, const Request& request) {
    Extension out{file, {}, {}, {}};
    const std::vector<tools::Document> documents =
        long_documents(held, Model::load(file.file), request.quick ? 3 : 1000);
    for (std::size_t m = 0; m < std::size(methods); ++m) {
        std::map<int, Model> models; // by factor
        const int own = methods[m].own_factor;
        const auto at = [&](int factor, int multiple) {
            request.progress(text(file.name, " with ", methods[m].name, " at ", multiple, "x"));
            if (!models.contains(factor)) models.emplace(factor, load(file, methods[m], factor));
            return measure(models.at(factor), documents, file.context, multiple * file.context);
        };
        for (const int multiple : multiples) {
            for (const int factor : {2, 4, most_multiple})
                if (methods[m].takes_factor || own != 0) out.by_factor[factor][{m, multiple}] = at(factor, multiple);
            out.greatest[{m, multiple}] = methods[m].takes_factor ? out.by_factor[most_multiple][{m, multiple}]
                                          : own != 0              ? out.by_factor[own][{m, multiple}]
                                                                  : at(most_multiple, multiple);
            out.fitted[{m, multiple}] = !methods[m].takes_factor ? out.greatest[{m, multiple}]
                                        : multiple == 1          ? out.fitted[{none, 1}] // 1 scales nothing
                                                                 : out.by_factor[multiple][{m, multiple}];
        }
    }
    return out;
}

std::vector<Trained> rotary_models(const Request& request, bool others_too) {
    std::vector<Trained> out;
    for (Trained& file : trained_models(request)) {
        const bool plain = (file.encoding == "rope" || file.encoding.starts_with("rope:")) &&
                           file.encoding.find_first_of("+(;") == std::string::npos &&
                           file.encoding.find("scaling=") == std::string::npos &&
                           file.encoding.find("keep=") == std::string::npos;
        if (plain)
            out.push_back(std::move(file));
        else if (request.arguments.has("model") && !others_too)
            fail(ErrorCode::usage, "lab: ", file.name, ": expected weights trained with rope, unscaled, found ",
                 file.encoding);
    }
    if (out.empty()) fail(ErrorCode::io, "lab: no weights trained with rope found; give --model FILE");
    return out;
}

} // namespace ordo::lab::extension
