// SPDX-License-Identifier: MIT
// Ctrl-C. By default the first SIGINT or SIGTERM ends the program at once, with 130 or 143. A verb that can stop
// cleanly has the first signal noted; the second one ends the program.
#pragma once

namespace ordo::tools {

// Call it once at the start. Signals that the parent process ignores stay ignored. SIGXFSZ is always ignored, so that a
// limit on the file size (ulimit -f) becomes a write error, as on a full disk.
void install_signal_handlers();

// After this call the first signal is noted, and on_signal is called if given. on_signal must be safe in a handler.
void stop_softly(void (*on_signal)() = nullptr);

// After this call every SIGINT is noted, and SIGTERM ends the program. An interactive program can so stop its current
// work and continue.
void note_interrupts();

// The noted signal, or 0.
int stop_signal();
// Forgets the noted signal.
void forget_signal();

// The exit code after the noted signal: 130 or 143.
int stop_code();

} // namespace ordo::tools
