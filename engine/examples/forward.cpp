// SPDX-License-Identifier: MIT
// A language model in one file, without the engine. Its positional encoding is a line of a table. It opens a file of
// weights/ and writes the same text as `ordo generate --temp 0`. With 0 for 60, it prints the next token's logits.
//   c++ -O2 forward.cpp -o forward     (nlohmann-json3-dev reads the header of the file)
//   ./forward weights/rope.safetensors "Once upon a time" 60
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp> // and with it vectors, maps and algorithms
#include <sstream>

using Row = std::vector<float>;
using Tensor = std::vector<Row>; // a vector is a tensor of one row

void add(Row& x, const Row& y) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += y[j];
}

// ---- Encodings. Attention alone does not know the order of the tokens. An encoding tells it at one of three moments:
// it changes the embedding of a token, rotates a query or key, or adds a bias to the score of a query and a key.
struct Encoding {
    std::string spec; // the name and the parameters
    void (*embed)(const Encoding&, Row& x, int position);
    void (*rotate)(const Encoding&, float* head, int position);
    float (*bias)(const Encoding&, int head, int distance);
    const Tensor* weight = nullptr; // trained, if it has one
    int heads = 0;
    double number(const std::string& key) const { return std::stod(spec.substr(spec.find(key) + key.size() + 1)); }
};

// Vaswani et al. 2017: adds waves of the position, from fast to slow.
void sinusoidal(const Encoding& e, Row& x, int position) {
    for (int j = 0, d = int(x.size()); j < d; ++j) {
        const double angle = (position + e.number("offset")) / std::pow(e.number("base"), double(j - j % 2) / d);
        x[j] = float(x[j] * e.number("scale") + (j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
}

// Gehring et al. 2017: adds a trained row for each position. The table has an end.
void learned(const Encoding& e, Row& x, int position) {
    add(x, e.weight->at(position + int(e.number("offset"))));
}

// Devlin et al. 2019: adds a trained row for the part of the text that a token belongs to. Here a text has one part.
void segment(const Encoding& e, Row& x, int) {
    add(x, e.weight->at(0));
}

void rotate_pair(float* pair, double angle, double stretch = 1) {
    const auto c = float(stretch * std::cos(angle)), s = float(stretch * std::sin(angle)), a = pair[0], b = pair[1];
    pair[0] = a * c - b * s;
    pair[1] = a * s + b * c;
}

// Ben Kurzion: rotates all pairs of columns by one angle, and stretches the row after each full turn.
void rotate_stretch(const Encoding& e, Row& x, int position) {
    const int period = int(e.number("period"));
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    const double angle = 2 * std::acos(-1.0) * (position % period) / period; // acos(-1) is pi
    const double stretch = e.number("step") * (position / period + 1) * std::sqrt(squares);
    for (std::size_t j = 0; j < x.size(); j += 2) rotate_pair(&x[j], angle, stretch);
}

// Su et al. 2021: rotates each pair of columns by its own angle, so that a score depends on the distance alone.
void rope(const Encoding& e, float* head, int position) {
    const double theta = e.number("theta"), width = e.number("width");
    for (int j = 0; j < width; j += 2) rotate_pair(head + j, position * std::pow(theta, -j / width));
}

// Press et al. 2022: lowers a score with the distance. The slopes of n heads, 2^i of them, are powers of 2^(-max/n).
float alibi(const Encoding& e, int head, int distance) {
    return float(-std::exp2(-e.number("max") * (head + 1) / e.heads) * std::pow(distance, e.number("power")));
}

// Raffel et al. 2020: adds a trained number for each head and bucket of distances. Far distances share buckets.
float t5(const Encoding& e, int head, int distance) {
    const int buckets = int(e.number("buckets")), exact = buckets / 2; // half of them hold one distance each
    if (distance < exact) return e.weight->at(distance)[head];
    const double far = std::log(double(distance) / exact) / std::log(e.number("distance") / exact);
    return e.weight->at(std::min(buckets - 1, exact + int(far * (buckets - exact) + 1e-9)))[head];
}

// As files name them, up to the numbers.
const Encoding encodings[] = {
    {"none", nullptr, nullptr, nullptr},
    {"sinusoidal:scale=11.3,base=10000,layout=interleaved,law=paper,offset=0", sinusoidal, nullptr, nullptr},
    {"learned:length=256,offset=0", learned, nullptr, nullptr},
    {"segment:count=2", segment, nullptr, nullptr},
    {"rotate-stretch:period=36,step=0.1", rotate_stretch, nullptr, nullptr},
    {"rope:theta=10000,pairing=adjacent,width=32", nullptr, rope, nullptr},
    {"alibi:max=8,power=1", nullptr, nullptr, alibi},
    {"t5:buckets=32,distance=128", nullptr, nullptr, t5},
};

// ---- The model
struct Model {
    int heads = 0, context = 0, end = 0; // end: the token that ends a text, and begins it
    std::map<std::string, Tensor> tensors;
    std::vector<Encoding> encodings;
    std::vector<std::string> pieces;    // the text of each token
    std::vector<std::vector<Row>> past; // [layer][position]: query, key and value of the tokens so far
};

Row multiply(const Tensor& w, const Row& x) {
    Row y(w.size());
    for (std::size_t i = 0; i < w.size(); ++i)
        for (std::size_t j = 0; j < w[i].size(); ++j) y[i] += w[i][j] * x[j];
    return y;
}

// Divides x by its root mean square and multiplies each column by a trained weight.
Row norm(Row x, const Tensor& weight) {
    const float squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0f);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] *= weight[0][j] / std::sqrt(squares / float(x.size()) + 1e-5f);
    return x;
}

// The token at a position, after those at all earlier positions -> the logits of the next token.
Row forward(Model& m, int token, int position) {
    const Tensor& embedding = m.tensors.at("embedding.weight");
    Row x = embedding.at(token);
    const int d = int(x.size()), width = d / m.heads; // width: of a head
    for (const Encoding& e : m.encodings)
        if (e.embed) e.embed(e, x, position);
    for (std::size_t layer = 0; layer < m.past.size(); ++layer) {
        const std::string prefix = "layers." + std::to_string(layer) + '.';
        const auto w = [&](const char* name) -> const Tensor& { return m.tensors.at(prefix + name + ".weight"); };
        Row qkv = multiply(w("attention.qkv"), norm(x, w("attention_norm"))); // all heads of q, then of k, then of v
        for (const Encoding& e : m.encodings)
            for (int h = 0; e.rotate && h < 2 * m.heads; ++h) e.rotate(e, &qkv[h * width], position);
        m.past[layer].push_back(qkv);
        Row mixed(d);
        for (int first = 0; first < d; first += width) { // of a head
            Row scores(position + 1);                    // of each token so far
            for (int i = 0; i <= position; ++i) {
                const float* key = &m.past[layer][i][d];
                for (int j = first; j < first + width; ++j) scores[i] += qkv[j] * key[j] / std::sqrt(float(width));
                for (const Encoding& e : m.encodings)
                    if (e.bias) scores[i] += e.bias(e, first / width, position - i);
            }
            const float most = *std::max_element(scores.begin(), scores.end());
            float sum = 0; // the softmax: scores become attention weights, whose sum is 1
            for (float& score : scores) sum += score = std::exp(score - most);
            for (int i = 0; i <= position; ++i)
                for (int j = first; j < first + width; ++j) mixed[j] += scores[i] / sum * m.past[layer][i][2 * d + j];
        }
        add(x, multiply(w("attention.out"), mixed));
        Row hidden = multiply(w("feed_forward.in"), norm(x, w("feed_forward_norm"))); // gates, then values
        for (std::size_t j = 0, half = hidden.size() / 2; j < half; ++j)
            hidden[j] *= hidden[half + j] / (1 + std::exp(-hidden[j]));
        add(x, multiply(w("feed_forward.out"), hidden));
    }
    return multiply(embedding, norm(x, m.tensors.at("final_norm.weight"))); // the embedding is also the head
}

// ---- Text. A token stands for a frequent word, or for a part of a word: byte-level BPE, as in GPT-2.
// The end of the word that begins at i: an ending; letters, digits or signs, and a space before them; or white space.
std::size_t word_end(const std::string& text, std::size_t i) {
    for (const std::string ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (text.compare(i, ending.size(), ending) == 0) return i + ending.size();
    const auto kind = [&](std::size_t at) { // bytes outside of ASCII count as letters
        const int c = text[at] & 255;
        return std::isspace(c) ? 0 : std::isdigit(c) ? 1 : std::ispunct(c) ? 2 : 3;
    };
    std::size_t end = text[i] == ' ' && i + 1 < text.size() && kind(i + 1) != 0 ? i + 1 : i;
    for (const int first = kind(end); end < text.size() && kind(end) == first;) ++end;
    return kind(end - 1) == 0 && end < text.size() && end - i > 1 ? end - 1 : end; // a space goes with the next word
}

std::vector<int> tokens_of(const Model& m, const std::string& text) {
    std::vector<int> tokens = {m.end};
    for (std::size_t i = 0; i < text.size();) {
        std::vector<std::string> parts;
        for (const std::size_t end = word_end(text, i); i < end; ++i) parts.emplace_back(1, text[i]);
        for (const std::string& piece : m.pieces) // join neighbours, in the order in which BPE found the pieces
            for (std::size_t j = 1; j < parts.size(); ++j)
                if (parts[j - 1] + parts[j] == piece) parts[j - 1] = piece, parts.erase(parts.begin() + j);
        for (const std::string& part : parts)
            tokens.push_back(int(std::find(m.pieces.begin(), m.pieces.end(), part) - m.pieces.begin()));
    }
    return tokens;
}

// ---- The file: 8 bytes with the length of the header, the header in JSON, and the numbers of all tensors.
float from_half(char low, char high) {
    const int exponent = high >> 2 & 31, fraction = (high & 3) << 8 | (low & 255);
    const double size = std::ldexp(exponent > 0 ? 1024 + fraction : fraction, std::max(exponent, 1) - 25);
    return float((high & 128) != 0 ? -size : size);
}

Model load(const char* path) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::size_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | (bytes.at(i) & 255);
    const auto header = nlohmann::json::parse(bytes.substr(8, length));
    const auto note = [&](const char* key) { return header.at("__metadata__").at(key).get<std::string>(); };
    Model m;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const std::vector<int> shape = entry["shape"];
        std::size_t at = 8 + length + entry["data_offsets"][0].get<std::size_t>();
        for (Row& row : m.tensors[name] = Tensor(shape.size() > 1 ? shape[0] : 1, Row(shape.back())))
            for (float& x : row) x = from_half(bytes.at(at), bytes.at(at + 1)), at += 2;
    }
    const auto shape = nlohmann::json::parse(note("blueprint")), vocabulary = nlohmann::json::parse(note("tokenizer"));
    m.heads = shape["n_heads"], m.context = shape["context"], m.end = vocabulary["added_tokens"][0]["id"];
    m.past.resize(shape["n_layers"]), m.pieces.resize(shape["vocab_size"]);
    for (const auto& [letters, token] : vocabulary["model"]["vocab"].items())
        for (std::size_t i = 0; i < letters.size(); ++i) { // a letter is a byte: itself, or U+0100 and on for the rest
            const int first = letters[i] & 255, c = first < 128 ? first : (first & 31) << 6 | (letters[++i] & 63);
            m.pieces.at(token) += char(c < 256 ? c : c < 289 ? c - 256 : c < 323 ? c - 162 : 173);
        }
    if (shape.contains("qk_norm")) throw std::runtime_error("expected a model without norms of queries and keys");
    const auto without_numbers = [](std::string s) {
        s.erase(std::remove_if(s.begin(), s.end(), [](char c) { return c == '.' || std::isdigit(c); }), s.end());
        return s;
    };
    std::istringstream specs(note("encoding")); // such as rope:theta=10000,pairing=adjacent,width=32+segment:count=2
    for (std::string spec; std::getline(specs, spec, '+');) {
        Encoding e{};
        for (const Encoding& known : encodings)
            if (without_numbers(known.spec) == without_numbers(spec)) e = known;
        if (e.spec.empty()) throw std::runtime_error(spec + ": unknown encoding");
        e.spec = spec, e.heads = m.heads;
        e.weight = &m.tensors["encoding." + spec.substr(0, spec.find(':')) + ".weight"];
        m.encodings.push_back(e);
    }
    return m;
}

int main(int argc, char** argv) try {
    if (argc != 4) throw std::runtime_error("usage: forward MODEL TEXT TOKENS");
    Model m = load(argv[1]);
    std::vector<int> tokens = tokens_of(m, argv[2]);
    const int prompt = int(tokens.size()), more = std::stoi(argv[3]);
    Row logits;
    for (int i = 0, n = std::max(prompt, std::min(prompt + more, m.context)); i < n; ++i) {
        if (i >= prompt) tokens.push_back(int(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        if (i > 0 && tokens[i] == m.end) break;
        if (i > 0 && more > 0) std::cout << m.pieces[tokens[i]] << std::flush;
        logits = forward(m, tokens[i], i);
    }
    for (const float logit : logits)
        if (more == 0) std::cout << logit << '\n';
    std::cout << '\n';
} catch (const std::exception& error) {
    std::cerr << "forward: " << error.what() << '\n';
    return 1;
}
