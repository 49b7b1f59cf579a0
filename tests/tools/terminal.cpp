// SPDX-License-Identifier: MIT
#include "tests/tools/terminal.h"

#include "tests/tools/models.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ordo::test {

void Screen::write(std::string_view bytes) {
    for (const char c : bytes) put(c);
}

void Screen::remember() {
    if (!rows_.back().text.empty()) history_.push_back(rows_.back().text);
}

void Screen::put(char c) {
    if (!escape_.empty()) {
        escape_ += c;
        if (escape_.size() < 3 || c < '@') return; // wait for the final letter
        if (escape_ == "\033[K") rows_.back().text.resize(std::min(rows_.back().text.size(), column_));
        escape_.clear();
        return;
    }
    if (c == '\n') {
        remember();
        rows_.emplace_back();
        column_ = 0;
        returned_ = false;
        return;
    }
    if (c == '\r') {
        returned_ = true;
        return;
    }
    if (std::exchange(returned_, false)) {
        remember();
        column_ = 0;
        floods_ += rows_.back().wrapped;
    }
    if (c == '\033') {
        escape_ = c;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) { // one column for each code point
        if (column_ == static_cast<std::size_t>(columns_)) {
            remember();
            rows_.push_back({{}, true});
            column_ = 0;
        }
        std::string& text = rows_.back().text;
        if (text.size() <= column_) text.resize(column_ + 1, ' ');
        text[column_++] = static_cast<unsigned char>(c) < 0x80 ? c : '?';
    }
}

std::vector<std::string> Screen::lines() const {
    std::vector<std::string> all;
    for (const Row& row : rows_) all.push_back(row.text.substr(0, row.text.find_last_not_of(' ') + 1));
    while (!all.empty() && all.back().empty()) all.pop_back();
    return all;
}

Watched watch(int columns, const std::function<void()>& work, const std::function<int(const std::string&)>& on_output,
              const std::function<std::string(const std::string&)>& type) {
    const winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) throw std::runtime_error("forkpty failed");
    if (child == 0) {
        for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
        work();
        ::_exit(0);
    }
    Watched watched{-1, {}, Screen(columns)};
    bool sent = false;
    for (;;) { // when the other side closes, a terminal returns an error instead of an end of file
        char buffer[4096];
        pollfd polled{terminal, POLLIN, 0};
        if (::poll(&polled, 1, 120'000) == 0) ::kill(child, SIGKILL);
        const ssize_t n = ::read(terminal, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        watched.written.append(buffer, static_cast<std::size_t>(n));
        const int signal = on_output && !sent ? on_output(watched.written) : 0;
        if (signal != 0) {
            ::kill(child, signal);
            sent = true;
        }
        const std::string typed = type ? type(watched.written) : "";
        if (::write(terminal, typed.data(), typed.size()) < 0) break;
    }
    ::close(terminal);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    watched.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    watched.screen.write(watched.written);
    return watched;
}

Watched run_in_terminal(const std::vector<std::string>& arguments, int columns,
                        const std::function<int(const std::string&)>& on_output, const Environment& environment,
                        const std::function<std::string(const std::string&)>& type) {
    std::vector<std::string> words{program_path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string weights = model_directory().string();
    const auto program = [&] {
        ::setenv("ORDO_WEIGHTS", weights.c_str(), 1);
        ::setenv("OMP_NUM_THREADS", "1", 1);
        ::setenv("TERM", "xterm", 1);
        ::unsetenv("NO_COLOR");
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        ::execv(argv[0], argv.data());
        ::_exit(126);
    };
    return watch(columns, program, on_output, type);
}

} // namespace ordo::test
