// SPDX-License-Identifier: MIT
#include "tests/tools/child.h"

#include "tests/sanitizer.h"
#include "tests/tools/models.h"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ordo::test {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{120}; // a hang, not mere slowness

// A descriptor that closes itself and is not inherited.
class Fd {
public:
    explicit Fd(int fd = -1) : fd_(fd) {
        if (fd_ >= 0) ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
    }
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() { reset(); }
    int get() const { return fd_; }
    void reset() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_;
};

struct Pipe {
    Fd read, write;
};

Pipe make_pipe() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
    return {Fd(ends[0]), Fd(ends[1])};
}

Pipe make_terminal() { // read: the program's side, write: the test's
    int ours = 0, theirs = 0;
    if (::openpty(&ours, &theirs, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("openpty failed");
    return {Fd(theirs), Fd(ours)};
}

void limit(__rlimit_resource what, std::size_t value) {
    if (value == 0) return;
    const rlimit both{value, value};
    ::setrlimit(what, &both);
}

// Runs in the child, and makes only calls that are safe after fork.
[[noreturn]] void start(char* const* argv, char* const* environment, const Conditions& conditions, int in, int out,
                        int err) {
    const auto place = [](int from, int to) { from < 0 ? ::close(to) : ::dup2(from, to); };
    place(in, 0);
    place(out, 1);
    place(err, 2);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
    if (conditions.ignore_sigpipe) ::signal(SIGPIPE, SIG_IGN);
    if (!conditions.directory.empty() && ::chdir(conditions.directory.c_str()) != 0) ::_exit(125);
    limit(RLIMIT_AS, conditions.address_space);
    limit(RLIMIT_DATA, conditions.data);
    limit(RLIMIT_NOFILE, conditions.files);
    limit(RLIMIT_STACK, conditions.stack);
    limit(RLIMIT_FSIZE, conditions.file_size);
    ::execve(argv[0], argv, environment);
    ::_exit(126);
}

std::vector<std::string> environment_of(const Conditions& conditions) {
    std::vector<std::pair<std::string, std::string>> changes = {{"ORDO_WEIGHTS", model_directory().string()},
                                                                {"OMP_NUM_THREADS", "1"}};
    changes.insert(changes.end(), conditions.environment.begin(), conditions.environment.end());
    std::vector<std::string> result;
    for (char** at = environ; *at; ++at) {
        const std::string entry = *at, name = entry.substr(0, entry.find('='));
        bool changed = false;
        for (const auto& change : changes) changed = changed || change.first == name;
        if (!changed) result.push_back(entry);
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
        bool later = false;
        for (std::size_t j = i + 1; j < changes.size(); ++j) later = later || changes[j].first == changes[i].first;
        if (!later && changes[i].second != "-") result.push_back(changes[i].first + "=" + changes[i].second);
    }
    return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// The process's peak resident memory, once it runs the program; else 0. wait4() would also count the memory of the
// process that forked it.
long peak_of(pid_t process, const std::string& program) {
    std::ifstream in("/proc/" + std::to_string(process) + "/status");
    const std::string name = "Name:\t" + std::filesystem::path(program).filename().string().substr(0, 15);
    std::string line;
    if (!std::getline(in, line) || line != name) return 0;
    while (std::getline(in, line))
        if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
    return 0;
}

// Exchanges data with the child until it has closed its ends and exited.
class Conversation {
public:
    Conversation(pid_t child, const std::string& program, const Conditions& conditions, Fd in, Fd out, Fd err)
        : child_(child), program_(program), conditions_(conditions), in_(std::move(in)), out_(std::move(out)),
          err_(std::move(err)) {}

    Outcome run() {
        const Clock::time_point deadline = Clock::now() + patience;
        while (!wait()) {
            exchange();
            send_signals();
            outcome_.peak_kilobytes = std::max(outcome_.peak_kilobytes, peak_of(child_, program_));
            if (Clock::now() > deadline) {
                outcome_.hung = true;
                ::kill(child_, SIGKILL);
            }
        }
        take(out_, outcome_.out);
        take(err_, outcome_.err);
        return outcome_;
    }

private:
    bool wait() {
        int status = 0;
        rusage used{};
        if (::wait4(child_, &status, WNOHANG, &used) != child_) return false;
        const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
        outcome_.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
        outcome_.died = WIFSIGNALED(status);
        outcome_.code = outcome_.died ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return true;
    }

    void exchange() {
        pollfd polled[] = {{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
        if (conditions_.in == Stdin::terminal || Clock::now() < start_ + conditions_.input_delay) polled[0].fd = -1;
        ::poll(polled, 3, 5);
        if (polled[0].revents) give();
        if (polled[1].revents) take(out_, outcome_.out);
        if (polled[2].revents) take(err_, outcome_.err);
        if (conditions_.close_after > 0 && outcome_.out.size() >= conditions_.close_after) out_.reset();
    }

    void give() {
        static const std::string chunk(65'536, 'y');
        const std::string_view rest = conditions_.in == Stdin::endless
                                          ? std::string_view(chunk)
                                          : std::string_view(conditions_.input).substr(given_);
        const ssize_t n = rest.empty() ? -1 : ::write(in_.get(), rest.data(), rest.size());
        if (n < 0 && errno == EAGAIN && !rest.empty()) return;
        if (n > 0) given_ += static_cast<std::size_t>(n);
        if (n <= 0 || (conditions_.in == Stdin::pipe && given_ == conditions_.input.size())) in_.reset();
    }

    static void take(Fd& from, std::string& to) {
        char buffer[65'536];
        while (from.get() >= 0) {
            const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (n <= 0) return from.reset();
            to.append(buffer, static_cast<std::size_t>(n));
        }
    }

    void send_signals() {
        if (conditions_.signal == 0 || sent_ == conditions_.signals) return;
        if (std::max(outcome_.out.size(), outcome_.err.size()) < conditions_.signal_after) return;
        if (!conditions_.signal_file.empty() && !std::filesystem::exists(conditions_.signal_file)) return;
        if (ready_ == Clock::time_point{}) ready_ = Clock::now();
        if (Clock::now() < ready_ + conditions_.signal_delay) return;
        ::kill(child_, conditions_.signal);
        ++sent_;
    }

    pid_t child_;
    const std::string& program_;
    const Conditions& conditions_;
    Fd in_, out_, err_;
    Outcome outcome_;
    std::size_t given_ = 0;
    int sent_ = 0;
    const Clock::time_point start_ = Clock::now();
    Clock::time_point ready_{};
};

} // namespace

std::string program_path() {
    if (const char* path = std::getenv("ORDO_BINARY")) return std::filesystem::absolute(path).string();
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "ordo").string();
}

bool is_instrumented() {
    return is_sanitized() || std::getenv("ORDO_EMULATED");
}

Outcome run_program(const std::vector<std::string>& arguments, const Conditions& conditions) {
    std::vector<std::string> words{conditions.program.empty() ? program_path() : conditions.program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> environment = environment_of(conditions);
    const std::vector<char*> argv = pointers_to(words), environ_pointers = pointers_to(environment);

    const bool terminal = conditions.in == Stdin::terminal || conditions.in == Stdin::hung_up;
    Pipe in = terminal ? make_terminal() : make_pipe(), out = make_pipe(), err = make_pipe();
    if (conditions.in == Stdin::hung_up) in.write.reset();
    if (conditions.in == Stdin::null) in.read = Fd(::open("/dev/null", O_RDONLY));
    if (conditions.in == Stdin::closed) in.read.reset();
    if (conditions.in == Stdin::null || conditions.in == Stdin::closed) in.write.reset();
    if (conditions.out == Stdout::full) out.write = Fd(::open("/dev/full", O_WRONLY));
    if (conditions.out == Stdout::closed) out.write.reset();
    if (conditions.out == Stdout::gone) out.read.reset();

    if (!conditions.input_file.empty()) in = {Fd(::open(conditions.input_file.c_str(), O_RDONLY)), Fd()};
    if (!conditions.waits) ::fcntl(in.read.get(), F_SETFL, O_NONBLOCK);
    ::signal(SIGPIPE, SIG_IGN); // the child may exit before it has read everything
    Pipe started = make_pipe(); // closed by execve()
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0)
        start(argv.data(), environ_pointers.data(), conditions, in.read.get(), out.write.get(), err.write.get());
    in.read.reset();
    out.write.reset();
    err.write.reset();
    // Waits until the child has reset its signal handlers. An earlier signal would be lost if the tests run in the
    // background, because a shell without job control makes them ignore SIGINT.
    started.write.reset();
    for (char none = 0; ::read(started.read.get(), &none, 1) < 0 && errno == EINTR;) {
    }
    for (const Fd* fd : {&in.write, &out.read, &err.read})
        if (fd->get() >= 0) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    return Conversation(child, words[0], conditions, std::move(in.write), std::move(out.read), std::move(err.read))
        .run();
}

void expect_error(const Outcome& outcome, int code, const std::string& phrase) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_FALSE(outcome.died);
    EXPECT_FALSE(outcome.hung);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("ordo: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    for (const char c : outcome.err.substr(0, outcome.err.size() - 1))
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << outcome.err;
    for (const char* internal : {"std::", "bad_alloc", "bad_function", "basic_string", "vector::", "what():"})
        EXPECT_EQ(outcome.err.find(internal), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(phrase), std::string::npos) << outcome.err << "lacks: " << phrase;
    EXPECT_LT(outcome.err.size(), 1000u);
}

void expect_in_time(const Outcome& outcome, double seconds) {
    EXPECT_LE(outcome.seconds, is_instrumented() ? 20 * seconds : seconds);
}

// Memory resident before a file is opened, 7 MB of it the code of OpenBLAS, OpenMP and other libraries. The reading
// alone stays within the bound (malformed_test.cpp). Together with the libraries, the file of a million keys uses 99.4%
// of the bound, and another version of a library would exceed it.
constexpr long libraries = 8 << 10;

void expect_bounded(const Outcome& outcome, std::uint64_t bytes) {
    expect_in_time(outcome, 2);
    if (is_instrumented()) return;
    EXPECT_LT(outcome.peak_kilobytes, (64l << 10) + static_cast<long>(4 * bytes / 1024) + libraries);
}

void expect_success(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(outcome.hung);
}

std::string out_of(const std::vector<std::string>& words, const Conditions& conditions) {
    const Outcome outcome = run_program(words, conditions);
    expect_success(outcome);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
}

Json json_of(const std::vector<std::string>& words) {
    return read_json(out_of(words));
}

} // namespace ordo::test
