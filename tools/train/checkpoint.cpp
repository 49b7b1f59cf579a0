// SPDX-License-Identifier: MIT
#include "tools/train/checkpoint.h"

#include "core/error.h"
#include "io/safetensors.h"

#include <cstdio>

namespace ordo::train {
namespace {

// %a writes a double so that it reads back as the same.
std::string exact(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%a", v);
    return text;
}

} // namespace

void save_checkpoint(const std::filesystem::path& file, const std::string& digest, const State& state,
                     Parameters& parameters, Optimizer& optimizer) {
    std::string losses;
    for (const double loss : state.losses) losses += exact(loss) + " ";
    const auto n = static_cast<std::int64_t>(parameters.size());
    write_safetensors(file,
                      {{"value", {n}, WeightType::f32, parameters.values()},
                       {"first_moment", {n}, WeightType::f32, optimizer.first_moments()},
                       {"second_moment", {n}, WeightType::f32, optimizer.second_moments()}},
                      {{"ordo.checkpoint", "2"},
                       {"digest", digest},
                       {"step", std::to_string(state.step)},
                       {"validation_loss", exact(state.validation_loss)},
                       {"losses", losses},
                       {"log_bytes", std::to_string(state.log_bytes)}});
}

State load_checkpoint(const std::filesystem::path& file, const std::string& digest, Parameters& parameters,
                      Optimizer& optimizer) {
    const std::string where = printable(file.string());
    const Safetensors saved = Safetensors::open(file);
    const auto text = [&](const char* key) {
        const auto found = saved.metadata().find(key);
        if (found == saved.metadata().end())
            fail(ErrorCode::model, where, ": metadata: expected '", key, "', found none");
        return found->second;
    };
    if (text("ordo.checkpoint") != "2")
        fail(ErrorCode::model, where, ": expected a checkpoint of format 2, found ",
             printable(text("ordo.checkpoint")));
    if (text("digest") != digest)
        fail(ErrorCode::usage, where,
             ": expected a checkpoint of this run, found one of another corpus, trunk, encoding or budget");
    const auto read = [&](const char* name, std::span<float> into) {
        const TensorInfo* info = saved.find(name);
        if (!info || info->shape != std::vector{static_cast<std::int64_t>(into.size())})
            fail(ErrorCode::model, where, ": tensor ", name, ": expected [", into.size(), "], found ",
                 info ? "another shape" : "none");
        saved.read(*info, into);
    };
    read("value", parameters.values());
    read("first_moment", optimizer.first_moments());
    read("second_moment", optimizer.second_moments());
    State state;
    state.step = optimizer.steps = std::strtoll(text("step").c_str(), nullptr, 10);
    state.validation_loss = std::strtod(text("validation_loss").c_str(), nullptr);
    const std::string losses = text("losses");
    for (const char* p = losses.c_str(); *p;) {
        char* end = nullptr;
        state.losses.push_back(std::strtod(p, &end));
        if (end == p) fail(ErrorCode::model, where, ": metadata 'losses': expected numbers, found ", printable(losses));
        p = *end ? end + 1 : end;
    }
    state.log_bytes = std::strtoll(text("log_bytes").c_str(), nullptr, 10);
    return state;
}

} // namespace ordo::train
