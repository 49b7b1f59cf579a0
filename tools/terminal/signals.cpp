// SPDX-License-Identifier: MIT
#include "tools/terminal/signals.h"

#include "tools/terminal/live_line.h"

#include <csignal>
#include <unistd.h>

namespace ordo::tools {

namespace {

volatile std::sig_atomic_t soft = 0, noted = 0, patient = 0;
void (*volatile callback)() = nullptr;

void on_signal(int number) {
    if (patient && number == SIGINT) {
        noted = number;
        return;
    }
    if (!soft || noted) {
        LiveLine::wipe(); // so that the shell's prompt starts on an empty line
        ::_exit(128 + number);
    }
    noted = number;
    if (callback) callback();
}

} // namespace

void install_signal_handlers() {
    ::signal(SIGXFSZ, SIG_IGN);
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction old = {};
        ::sigaction(number, nullptr, &old);
        if (old.sa_handler == SIG_IGN) continue;
        struct sigaction action = {};
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        ::sigaction(number, &action, nullptr);
    }
}

void stop_softly(void (*call)()) {
    callback = call;
    soft = 1;
}

void note_interrupts() {
    patient = 1;
}

int stop_signal() {
    return noted;
}

void forget_signal() {
    noted = 0;
}

int stop_code() {
    return 128 + noted;
}

} // namespace ordo::tools
