/* SPDX-License-Identifier: MIT
 * Loads a model and lets it continue a text, in C.
 *   cc generate.c $(pkg-config --cflags --libs ordo) */
#include <ordo/ordo_c.h>

#include <stdio.h>

static int32_t print(const char* text, size_t length, void* user) {
    fwrite(text, 1, length, (FILE*)user);
    return 1; /* 0 stops */
}

int main(int argc, char** argv) {
    ordo_sampling sampling;
    ordo_generate_options options;
    ordo_model* model;
    ordo_status status;
    if (argc != 3) return ORDO_USAGE;
    ordo_sampling_defaults(&sampling);
    sampling.temperature = 0; /* always the likeliest token */
    ordo_generate_options_defaults(&options);
    options.max_tokens = 48;
    options.sampling = &sampling;

    model = ordo_model_load(argv[1], NULL);
    status = model ? ordo_generate(model, argv[2], &options, print, stdout, NULL) : ordo_error_status();
    if (status != ORDO_OK) fprintf(stderr, "%s\n", ordo_error_text());
    if (status == ORDO_OK) putchar('\n');
    ordo_model_free(model);
    return (int)status;
}
