// SPDX-License-Identifier: MIT
#include "tools/terminal/line_reader.h"

#include "core/error.h"
#include "tools/terminal/output.h"
#include "tools/terminal/signals.h"
#include "tools/terminal/terminal.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#ifdef ORDO_LIBEDIT
#include <clocale>
#include <cwchar>
#include <histedit.h>
#endif

namespace ordo::tools {

namespace {

constexpr std::size_t longest_line = 16u << 20; // bytes

} // namespace

#ifdef ORDO_LIBEDIT

struct LineReader::Editor {
    Editor() {
        std::setlocale(LC_CTYPE, "C.UTF-8"); // the terminal's encoding, in every language
        line = el_init("ordo", stdin, stdout, stderr);
        past = history_init();
        if (!line || !past) return;
        HistEvent event;
        history(past, &event, H_SETSIZE, 1000);
        el_set(line, EL_CLIENTDATA, this);
        el_set(
            line, EL_PROMPT, +[](EditLine* edited) {
                void* self = nullptr;
                el_get(edited, EL_CLIENTDATA, &self);
                return static_cast<Editor*>(self)->prompt.data();
            });
        el_set(line, EL_EDITOR, "emacs");
        el_set(line, EL_HIST, history, past);
        el_set(line, EL_SIGNAL, 1); // restores the terminal's settings while a handler runs
        el_set(line, EL_ADDFN, "ordo-paste", "Insert a pasted text", paste);
        el_set(line, EL_BIND, "\\e[200~", "ordo-paste", nullptr);
    }
    ~Editor() {
        if (past) history_end(past);
        if (line) el_end(line);
    }
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;

    // The terminal puts ESC [ 200 ~ and ESC [ 201 ~ around a pasted text (bracketed paste), so that its newlines become
    // a part of the line.
    static unsigned char paste(EditLine* edited, int) {
        constexpr std::wstring_view end = L"\033[201~";
        std::wstring text;
        for (wchar_t c = 0; !text.ends_with(end);) {
            if (text.size() > longest_line || el_wgetc(edited, &c) != 1) return CC_EOF;
            if (c != 0) text += c == L'\r' ? L'\n' : c;
        }
        text.resize(text.size() - end.size());
        if (text.ends_with(L'\n')) text.pop_back();
        el_winsertstr(edited, text.c_str());
        return CC_REFRESH;
    }

    std::optional<std::string> read() {
        while (true) {
            int count = 0;
            write_styled("\033[?2004h"); // only here: other programs know nothing of the two marks
            const char* text = el_gets(line, &count);
            write_styled("\033[?2004l");
            if (text && count > 0) {
                HistEvent event;
                if (count > 1) history(past, &event, H_ENTER, text);
                std::string result(text, static_cast<std::size_t>(count));
                if (result.ends_with('\n')) result.pop_back();
                return result;
            }
            if (!stop_signal()) return {};
            forget_signal();
            el_reset(line);
            write_out("\n");
        }
    }

    EditLine* line = nullptr;
    History* past = nullptr;
    std::string prompt;
};

#else

struct LineReader::Editor {
    std::optional<std::string> read() { return {}; }

    void* line = nullptr;
    std::string prompt;
};

#endif

LineReader::LineReader() : terminal_(::isatty(STDIN_FILENO) == 1 && stdout_is_terminal()) {
    const char* kind = std::getenv("TERM");
    if (terminal_ && kind && std::string_view(kind) != "dumb") editor_ = std::make_unique<Editor>();
    if (editor_ && !editor_->line) editor_.reset();
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::read(const std::string& prompt) {
    forget_signal(); // it stopped the previous work
    if (!editor_) return read_plain(prompt);
    editor_->prompt = prompt;
    return editor_->read();
}

std::optional<std::string> LineReader::read_plain(const std::string& prompt) {
    if (terminal_) write_out(prompt);
    while (true) {
        if (const std::size_t end = arrived_.find('\n'); end != std::string::npos) {
            std::string line = arrived_.substr(0, end);
            arrived_.erase(0, end + 1);
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        if (arrived_.size() > longest_line)
            fail(ErrorCode::limit, "standard input: expected a line of at most ", longest_line, " bytes, found more");
        // read() would resume after a signal, so poll() waits first.
        pollfd wait{STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&wait, 1, -1);
        if (stop_signal()) {
            forget_signal();
            arrived_.clear();
            write_out("\n");
            if (terminal_) write_out(prompt);
            continue;
        }
        if (ready < 0) continue;
        char buffer[4096];
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
        if (n < 0) fail(ErrorReason::standard_stream, ErrorCode::io, "standard input: ", std::strerror(errno));
        arrived_.append(buffer, static_cast<std::size_t>(n));
        if (n > 0) continue;
        if (arrived_.empty()) return {};
        return std::exchange(arrived_, {});
    }
}

} // namespace ordo::tools
