// SPDX-License-Identifier: MIT
// Ctrl-C. By default the first SIGINT or SIGTERM ends the program at once, with 130 or 143; a verb
// that can stop cleanly asks for the first one to be only noted, and the second one ends it.
#pragma once

namespace ordo::tools {

// Called once at the start. Signals that the caller has set to be ignored stay ignored. SIGXFSZ is ignored
// always: a file that may grow no further (ulimit -f) is an error of the write like a full disk.
void install_signal_handlers();

// From now on the first signal is noted and, if given, on_signal called (it must be safe in a handler).
void stop_softly(void (*on_signal)() = nullptr);

// From now on SIGINT is noted, however often it comes, and SIGTERM ends the program: for one that talks to somebody,
// who stops what it does and not itself.
void note_interrupts();

// The signal that was noted, or 0.
int stop_signal();
// As if none had come.
void forget_signal();

// The exit code of a program that was stopped by the noted signal: 130 or 143.
int stop_code();

} // namespace ordo::tools
