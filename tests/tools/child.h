// SPDX-License-Identifier: MIT
// Runs the program `ordo` as a child process.
#pragma once

#include "tests/json.h"
#include "tests/temp_dir.h"

#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace ordo::test {

enum class Stdin { pipe, closed, null, terminal, hung_up, endless };
enum class Stdout { pipe, closed, full, gone };

// The conditions that the child runs under. By default stdin is empty, and ORDO_WEIGHTS is model_directory().
struct Conditions {
    std::string input = {}; // the content of a piped stdin
    Stdin in = Stdin::pipe;
    Stdout out = Stdout::pipe;                                                    // gone: a pipe without a reader
    std::vector<std::pair<std::string, std::string>> environment = {};            // "-" for the value: unset
    std::string directory = {};                                                   // the working directory
    std::string program = {};                                                     // a program other than program_path()
    std::size_t address_space = 0, data = 0, files = 0, stack = 0, file_size = 0; // limits; 0: none
    int signal = 0;                                                               // the signal to send; 0: none
    std::size_t signal_after = 0;                                                 // bytes of stdout or stderr
    std::string signal_file = {};                                                 // and once this file exists
    std::chrono::milliseconds signal_delay{0};                                    // and after this delay
    int signals = 1;                                                              // the number of times
    std::size_t close_after = 0; // stop reading stdout after these bytes; 0: never
    bool ignore_sigpipe = false;
    std::string input_file = {};              // a file as stdin
    bool waits = true;                        // false: reading stdin fails (EAGAIN) instead of waiting
    std::chrono::milliseconds input_delay{0}; // the delay before the input is written
};

struct Outcome {
    int code = -1;     // exit code, or 128 + N if it died of signal N
    bool died = false; // of a signal
    bool hung = false; // and was killed
    std::string out, err;
    long peak_kilobytes = 0; // resident memory, last measured a few milliseconds before the end
    double seconds = 0;      // of processor time, which other programs on the machine do not affect
};

Outcome run_program(const std::vector<std::string>& arguments, const Conditions& conditions = {});

// $ORDO_BINARY, or ordo in the test binary's folder.
std::string program_path();

// True under a sanitizer, and if $ORDO_EMULATED says that an emulator runs the tests. Memory cannot be limited or
// measured in either case.
bool is_instrumented();

// A gtest assertion that finds hangs and quadratic time; a shared machine allows no tighter bound. An instrumented
// program has twenty times as long.
void expect_in_time(const Outcome& outcome, double seconds);
// The same, for files of `bytes` bytes: 2 s and 64 MiB + 4 x their size.
void expect_bounded(const Outcome& outcome, std::uint64_t bytes);

// gtest assertions: the exit code, and an error of exactly one printable line. The line starts with "ordo: ", contains
// the phrase and none of the standard library's words, and stdout is empty.
void expect_error(const Outcome& outcome, int code, const std::string& phrase);
void expect_success(const Outcome& outcome);

// The stdout of a run that must succeed and write nothing to stderr.
std::string out_of(const std::vector<std::string>& words, const Conditions& conditions = {});
Json json_of(const std::vector<std::string>& words);

} // namespace ordo::test
