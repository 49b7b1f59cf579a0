// SPDX-License-Identifier: MIT
// Each structure of the headers, with one member named, as strict warnings allow only if the others have initialisers.
#include <ordo/ordo_c.h>
#include <ordo/training.h>

#include <array>
#include <tuple>

int main() {
    const std::array<int, 2> segments = {0, 1};
    const ordo::LoadOptions load = {.force_encoding = true};
    const ordo::EncodeOptions encode = {.start = true};
    const ordo::Sampling sampling = {.temperature = 0};
    const ordo::SessionOptions session = {.capacity = 8};
    const ordo::Watch watch = {.states = [](int, int, ordo::ConstView) {}};
    const ordo::GenerateOptions generate = {.max_tokens = 8};
    const ordo::EmbedOptions embed = {.normalised = false};
    const ordo::TrainingOptions training = {.batch = 4, .length = 64};
    const ordo::TokenRows rows = {.segments = segments};
    const ordo::HeadRows heads = {.n_heads = 2};
    const ordo::Tile tile = {.scale = 2};
    const ordo::Gradients gradient = {.q = {}};
    const ordo::Limits limits = {.positions = 8};
    const ordo::AtLength version = {.longest_text = 8};
    const ordo::Dims dims = {.d_model = 8};
    const ordo::InitialValues values = {.a = 1};
    const ordo::TensorSpec tensor = {.name = "weight"};
    const ordo::Work work = {.tokens = 1};
    const ordo::Operations operations = {.products = 1};
    const ordo::Table table = {.header = {"position"}};
    const ordo::TableRows lines = {.count = 1};
    const ordo::TableRequest request = {.length = 1};
    const ordo_generation numbers = ORDO_GENERATION;
    const ordo::Generation generation = {.text = "a"};
    const ordo::Candidate candidate = {.token = 1};
    const ordo::Blank blank = {.index = 1};
    const ordo::FilledText filled = {.tokens = {1}};
    const auto all = std::tie(load, encode, sampling, session, watch, generate, embed, training, rows, heads, tile,
                              gradient, limits, version, dims, values, tensor, work, operations, table, lines, request,
                              generation, candidate, blank, filled, numbers);
    return std::tuple_size_v<decltype(all)> == 27 ? 0 : 1;
}
