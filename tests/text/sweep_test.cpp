// SPDX-License-Identifier: MIT
// Random files of tokenizers and chat templates, and random texts: each run works or ends in an Error of one line.
// ORDO_TEXT_SWEEP is the number of runs, ORDO_TEXT_SWEEP_SEED the first; without it a few hundred run.
#include "core/error.h"
#include "tests/sanitizer.h"
#include "tests/text/random_files.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <gtest/gtest.h>
#include <map>

namespace ordo {
namespace {

using test::Dice;
using test::random_chat_template;
using test::random_text;
using test::random_tokenizer;

// ---- Runs -----------------------------------------------------------------------------------------

struct Tally {
    std::map<std::string, int> ends; // how runs ended
    double slowest = 0;              // seconds of the processor, of one run
    int slowest_run = 0;
};

double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void expect_one_line(const Error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(error.code == ErrorCode::model || error.code == ErrorCode::limit || error.code == ErrorCode::usage)
        << what;
    EXPECT_LT(what.size(), 1000u) << what;
    for (const char* internal : {"\n", "\x1b", "std::", "bad_", "basic_string", "vector::", "bad_function"})
        EXPECT_EQ(what.find(internal), std::string::npos) << what;
}

double began = 0; // the work of a run, once its file is made

void try_tokenizer(Dice& d) {
    const std::string json = random_tokenizer(d);
    began = processor_seconds();
    const auto tokenizer = tokenizer_from_json(json, "sweep");
    const std::vector<Token> tokens = encode_framed(*tokenizer, random_text(d), d.once_in(2));
    std::string decoded;
    for (const Token token : tokens) {
        ASSERT_GE(token, 0);
        ASSERT_LT(token, tokenizer->vocab_size());
        const std::size_t before = decoded.size();
        tokenizer->append(token, decoded, decoded.empty());
        ASSERT_LE(decoded.size() - before, tokenizer->longest());
    }
    const auto again = tokenizer_from_json(tokenizer->to_json(), "written"); // as `convert` writes it
    ASSERT_EQ(encode_framed(*again, decoded.substr(0, 1000), true),
              encode_framed(*tokenizer, decoded.substr(0, 1000), true));
}

void try_chat(Dice& d) {
    const std::string chat_text = random_chat_template(d);
    began = processor_seconds();
    const ChatTemplate chat(chat_text, {{"bos_token", "<s>"}}, "sweep");
    chat.end_of_answer();
    std::vector<ChatMessage> messages;
    for (int i = 0, n = d.below(5); i < n; ++i)
        messages.push_back({d.of({"system", "user", "assistant", "tool"}), random_text(d)});
    chat.write(messages, d.once_in(2));
}

std::string end_of(int run) {
    Dice d(static_cast<std::uint64_t>(run));
    const bool chat = d.once_in(4);
    const std::string name = chat ? "templates" : "tokenizers";
    try {
        chat ? try_chat(d) : try_tokenizer(d);
        return name + " that worked";
    } catch (const Error& error) {
        expect_one_line(error);
        return name + (error.code == ErrorCode::limit ? " over a limit" : " refused");
    } catch (const std::exception& error) {
        ADD_FAILURE() << "the standard library's own words: " << error.what();
        return name + " that failed";
    }
}

int environment(const char* name, int otherwise) {
    const char* const value = std::getenv(name);
    return value ? std::atoi(value) : otherwise;
}

TEST(TextSweep, FilesAndTextsAtRandomEndWell) {
    const int runs = environment("ORDO_TEXT_SWEEP", 300), first = environment("ORDO_TEXT_SWEEP_SEED", 1);
    Tally tally;
    for (int run = first; run < first + runs; ++run) {
        SCOPED_TRACE("ORDO_TEXT_SWEEP=1 ORDO_TEXT_SWEEP_SEED=" + std::to_string(run));
        ++tally.ends[end_of(run)];
        const double took = processor_seconds() - began;
        if (took > tally.slowest) tally.slowest = took, tally.slowest_run = run;
        if (HasFailure()) break;
    }
    if (!std::getenv("ORDO_TEXT_SWEEP")) return;
    EXPECT_LT(tally.slowest, test::is_sanitized() ? 20 : 2) << "run " << tally.slowest_run;
    for (const auto& [end, n] : tally.ends) std::printf("%6d %s\n", n, end.c_str());
    std::printf("%6.2f s for the slowest run, %d\n", tally.slowest, tally.slowest_run);
}

} // namespace
} // namespace ordo
