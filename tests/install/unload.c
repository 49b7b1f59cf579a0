/* SPDX-License-Identifier: MIT
 * Opens the shared library at run time, computes with it on two threads, and closes it. OpenMP's threads, which wait
 * in its code for more work, must survive that.
 *   unload LIBRARY MODEL */
#define _POSIX_C_SOURCE 200809L
#include <ordo/ordo_c.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ISO C cannot convert dlsym()'s result to a function pointer. */
#define FIND(library, name)                                                                                            \
    do {                                                                                                               \
        void* const found = dlsym(library, #name);                                                                     \
        memcpy(&name##_, &found, sizeof found);                                                                        \
        if (found == NULL) return 2;                                                                                   \
    } while (0)

int main(int argc, char** argv) {
    ordo_model* (*ordo_model_load_)(const char*, const ordo_load_options*);
    void (*ordo_model_free_)(ordo_model*);
    ordo_session* (*ordo_session_new_)(const ordo_model*, const ordo_session_options*);
    void (*ordo_session_free_)(ordo_session*);
    const float* (*ordo_session_feed_)(ordo_session*, const int32_t*, size_t);
    const struct timespec some = {0, 200000000};
    int32_t tokens[64] = {0};
    int turn, fed;
    if (argc != 3) return 2;
    for (turn = 0; turn < 3; ++turn) {
        ordo_model* model;
        ordo_session* session;
        void* const library = dlopen(argv[1], RTLD_NOW);
        if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
        FIND(library, ordo_model_load);
        FIND(library, ordo_model_free);
        FIND(library, ordo_session_new);
        FIND(library, ordo_session_free);
        FIND(library, ordo_session_feed);
        model = ordo_model_load_(argv[2], NULL);
        session = ordo_session_new_(model, NULL);
        fed = ordo_session_feed_(session, tokens, 64) != NULL;
        ordo_session_free_(session);
        ordo_model_free_(model);
        dlclose(library);
        if (!fed) return 1;
        nanosleep(&some, NULL); /* for the threads to go on */
    }
    return 0;
}
