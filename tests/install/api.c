/* SPDX-License-Identifier: MIT
 * The parts of the C interface that engine/examples do not use: continues a text token by token, and makes invalid
 * calls. Writes a continuation of at most 48 tokens. The exit code is the number of failed expectations.
 *   api MODEL PROMPT */
#include <ordo/ordo_c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_tokens = 1024, wanted = 48 };

static int failed = 0;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "api.c:%d: expected %s; last error: %s\n", __LINE__, #condition, ordo_error_text());       \
            ++failed;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* The previous call failed with this status, and its message contains these words. */
static int said(ordo_status status, const char* words) {
    return ordo_error_status() == status && strstr(ordo_error_text(), words) != NULL;
}

static int likeliest(const float* logits, int count) {
    int best = 0, i;
    for (i = 1; i < count; ++i)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* A session, a sampler and a history, combined by hand, give the same text as ordo_generate(). */
static void continue_by_hand(const ordo_model* model, const char* prompt) {
    static int32_t tokens[most_tokens];
    static char text[16 * most_tokens];
    const int32_t vocabulary = ordo_model_vocab_size(model);
    ordo_sampling sampling;
    ordo_session* session = ordo_session_new(model, NULL);
    ordo_sampler* sampler;
    const float* logits;
    ptrdiff_t prompt_tokens, count, bytes;
    int32_t first, at_prompt;

    /* As from an older header whose structure ended with the temperature: the rest is not read. */
    memset(&sampling, 0x7f, sizeof sampling);
    sampling.size = offsetof(ordo_sampling, top_k);
    sampling.temperature = 0;
    sampler = ordo_sampler_new(&sampling, vocabulary);
    EXPECT(session && sampler);
    if (!session || !sampler) return;

    prompt_tokens = ordo_encode(model, prompt, strlen(prompt), 0, NULL, 0); /* a capacity of 0 asks for the size */
    EXPECT(prompt_tokens > 0 && prompt_tokens < most_tokens - wanted);
    EXPECT(ordo_encode(model, prompt, strlen(prompt), ORDO_START, tokens, most_tokens) == prompt_tokens + 1);
    EXPECT(tokens[0] == ordo_model_start_of_text(model) && tokens[0] >= 0);
    EXPECT(ordo_encode(model, prompt, strlen(prompt), 4, NULL, 0) == -1 && said(ORDO_USAGE, "flags: expected"));
    ++prompt_tokens;
    logits = ordo_session_feed(session, tokens, (size_t)prompt_tokens);
    at_prompt = ordo_session_size(session);
    EXPECT(at_prompt == prompt_tokens && ordo_session_capacity(session) == ordo_model_context(model));
    first = likeliest(logits, vocabulary);
    for (count = prompt_tokens; count < prompt_tokens + wanted; ++count) {
        const int32_t token = ordo_sample(sampler, logits, tokens, (size_t)count, (uint64_t)(count - prompt_tokens));
        EXPECT(token == likeliest(logits, vocabulary));
        if (token == ordo_model_end_of_text(model)) break;
        tokens[count] = token;
        logits = ordo_session_feed(session, &token, 1);
        EXPECT(logits != NULL);
        if (!logits) return;
    }
    EXPECT(count > prompt_tokens && ordo_session_size(session) == count);
    bytes = ordo_decode(model, tokens + prompt_tokens, (size_t)(count - prompt_tokens), NULL, 0);
    EXPECT(bytes > 0 && bytes < (ptrdiff_t)sizeof text);
    EXPECT(ordo_decode(model, tokens + prompt_tokens, (size_t)(count - prompt_tokens), text, sizeof text) == bytes);
    printf("%.*s\n", (int)bytes, text);

    /* Rewinds to before the last token of the prompt. Feeding this token gives the same scores again. */
    EXPECT(ordo_session_rewind(session, at_prompt - 1) == ORDO_OK && ordo_session_size(session) == at_prompt - 1);
    logits = ordo_session_feed(session, tokens + at_prompt - 1, 1);
    EXPECT(logits && likeliest(logits, vocabulary) == first);
    EXPECT(ordo_session_rewind(session, at_prompt + 1) == ORDO_LIMIT && ordo_session_size(session) == at_prompt);
    EXPECT(ordo_session_rewind(session, -1) == ORDO_LIMIT);
    EXPECT(ordo_session_feed(session, NULL, 1) == NULL && said(ORDO_USAGE, "tokens: expected a pointer"));
    EXPECT(ordo_session_feed(session, tokens, 0) == NULL && said(ORDO_USAGE, "at least one token"));
    EXPECT(ordo_sample(sampler, NULL, NULL, 0, 0) == -1 && said(ORDO_USAGE, "logits: expected a pointer"));
    EXPECT(ordo_sample(NULL, logits, NULL, 0, 0) == -1 && said(ORDO_USAGE, "sampler: expected a pointer"));
    ordo_sampler_free(sampler);
    ordo_session_free(session);
}

/* A cache of less than f32 rounds its values, and has a single type. */
static void keep_less(const ordo_model* model) {
    const int32_t tokens[] = {1, 2, 3};
    float whole, kept[3];
    int i;
    ordo_session_options options;
    ordo_session* session = ordo_session_new(model, NULL);
    whole = ordo_session_feed(session, tokens, 3)[5];
    ordo_session_free(session);
    ordo_session_options_defaults(&options);
    for (i = 0; i < 3; ++i) {
        int32_t* const types[] = {&options.half_cache, &options.byte_cache, &options.bf16_cache};
        *types[i] = 1;
        session = ordo_session_new(model, &options);
        kept[i] = ordo_session_feed(session, tokens, 3)[5];
        EXPECT(kept[i] != whole && kept[i] - whole < 1 && whole - kept[i] < 1);
        ordo_session_free(session);
        *types[(i + 1) % 3] = 1;
        EXPECT(ordo_session_new(model, &options) == NULL && said(ORDO_USAGE, "one of half_cache"));
        *types[i] = *types[(i + 1) % 3] = 0;
    }
    EXPECT(kept[0] != kept[1] && kept[0] != kept[2] && kept[1] != kept[2]);
}

static void count_rows(size_t index, const float* logits, void* user) {
    if (logits != NULL && index == *(size_t*)user) ++*(size_t*)user;
}

/* Many tokens at once, batches, and numbers of a text. */
static void numbers(const ordo_model* model, const char* prompt) {
    const int32_t tokens[] = {1, 2, 3};
    int32_t next = 4;
    size_t rows = 0;
    ordo_token_score scores[most_tokens];
    float vector[4096];
    char path[4096];
    ordo_sampling sampling;
    ordo_model* other = ordo_model_with_encoding(model, "alibi");
    ordo_session* session = ordo_session_new(model, NULL);
    ordo_batch* batch = ordo_batch_new(model, 1, 0);
    ptrdiff_t count;
    EXPECT(ordo_session_feed_all(session, tokens, 3, count_rows, &rows) == ORDO_OK && rows == 3);
    EXPECT(ordo_batch_feed(batch, &session, &next, 1) != NULL && ordo_session_size(session) == 4);
    count = ordo_score(model, prompt, strlen(prompt), scores, most_tokens);
    EXPECT(count == ordo_encode(model, prompt, strlen(prompt), 0, NULL, 0) && scores[0].log_probability < 0);
    EXPECT(ordo_embed(model, prompt, strlen(prompt), ORDO_POOL_MEAN, 1, vector, 4096) > 0);
    EXPECT(ordo_fill(model, prompt, strlen(prompt), 1, NULL, 0) == -1 && said(ORDO_USAGE, "bidirectional"));
    EXPECT(other != NULL && ordo_model_encoding(other, path, sizeof path) > 0 && strncmp(path, "alibi", 5) == 0);
    EXPECT(ordo_weights_file("rope.safetensors", path, sizeof path) > 0);
    ordo_sampling_defaults(&sampling);
    EXPECT(ordo_model_sampling(model, &sampling) == ORDO_OK);
    ordo_batch_free(batch);
    ordo_session_free(session);
    ordo_model_free(other);
}

static int32_t stop_at_once(const char* text, size_t length, void* user) {
    (void)text;
    *(size_t*)user += length;
    return 0;
}

static void stop_and_ask(const ordo_model* model, const char* prompt) {
    ordo_generate_options options;
    ordo_generation result = ORDO_GENERATION;
    size_t seen = 0;
    char spec[64], few[3] = "??";
    ptrdiff_t length;

    ordo_generate_options_defaults(&options);
    EXPECT(ordo_generate(model, prompt, &options, stop_at_once, &seen, &result) == ORDO_OK);
    EXPECT(result.reason == ORDO_STOP_CALLBACK && result.new_tokens >= 1 && result.new_tokens < 8 && seen > 0);
    /* A result from an older header: the bytes after it stay unchanged. */
    memset(&result, 0, sizeof result);
    result.size = offsetof(ordo_generation, new_tokens);
    EXPECT(ordo_generate(model, prompt, NULL, stop_at_once, &seen, &result) == ORDO_OK);
    EXPECT(result.prompt_tokens > 0 && result.new_tokens == 0 && result.size == offsetof(ordo_generation, new_tokens));

    /* A size of no header is refused before anything is computed. */
    seen = 0;
    result.size = sizeof result + 1;
    EXPECT(ordo_generate(model, prompt, NULL, stop_at_once, &seen, &result) == ORDO_USAGE && said(ORDO_USAGE, "result"));
    result.size = 0;
    EXPECT(ordo_generate(model, prompt, NULL, stop_at_once, &seen, &result) == ORDO_USAGE && seen == 0);

    /* The spec of the shipped model: whole, truncated, and only its length. */
    length = ordo_model_encoding(model, spec, sizeof spec);
    EXPECT(length > 4 && length < (ptrdiff_t)sizeof spec && strlen(spec) == (size_t)length);
    EXPECT(strncmp(spec, "rope:theta=", 11) == 0);
    EXPECT(ordo_model_encoding(model, NULL, 0) == length);
    EXPECT(ordo_model_encoding(model, few, 2) == length && strcmp(few, "ro") == 0);

    /* Sizes of no header. */
    options.size = sizeof options + 1;
    EXPECT(ordo_generate(model, prompt, &options, NULL, NULL, NULL) == ORDO_USAGE && said(ORDO_USAGE, "size"));
    options.size = 0;
    EXPECT(ordo_generate(model, prompt, &options, NULL, NULL, NULL) == ORDO_USAGE && said(ORDO_USAGE, "size"));
}

static int32_t append(const char* text, size_t length, void* user) {
    strncat(user, text, length);
    return 1;
}

/* The caller's loop gives the text and the numbers of ordo_generate(). */
static void write_in_steps(const ordo_model* model, const char* prompt) {
    static char whole[16 * most_tokens], text[16 * most_tokens];
    ordo_generation expected = ORDO_GENERATION, found = ORDO_GENERATION;
    ordo_generate_options options;
    const char *stop = " the", *piece = NULL;
    ordo_writer* writer;
    ptrdiff_t length;
    ordo_generate_options_defaults(&options);
    options.stop = &stop;
    options.stop_count = 1;
    EXPECT(ordo_generate(model, prompt, &options, append, whole, &expected) == ORDO_OK && whole[0] != '\0');
    writer = ordo_writer_new(model, prompt, strlen(prompt), &options);
    EXPECT(writer != NULL);
    while ((length = ordo_writer_next(writer, &piece, &found)) >= 0 && piece) strncat(text, piece, (size_t)length);
    EXPECT(length == 0 && strcmp(text, whole) == 0);
    EXPECT(found.reason == expected.reason && found.new_tokens == expected.new_tokens && found.new_tokens > 0);
    EXPECT(ordo_writer_next(writer, NULL, NULL) == -1 && said(ORDO_USAGE, "text: expected a pointer"));
    EXPECT(ordo_writer_next(writer, &piece, NULL) == 0 && piece == NULL);
    ordo_writer_free(writer);
    EXPECT(ordo_writer_new(model, NULL, 1, NULL) == NULL && said(ORDO_USAGE, "text: expected a pointer"));
    EXPECT(ordo_writer_new(NULL, prompt, 1, NULL) == NULL && said(ORDO_USAGE, "model: expected a pointer"));
}

static void null_is_refused(const ordo_model* model) {
    EXPECT(ordo_model_load(NULL, NULL) == NULL && said(ORDO_USAGE, "path: expected a pointer, found NULL"));
    EXPECT(ordo_model_vocab_size(NULL) == -1 && said(ORDO_USAGE, "model: expected a pointer"));
    EXPECT(ordo_model_encoding(NULL, NULL, 0) == -1);
    EXPECT(ordo_model_encoding(model, NULL, 8) == -1 && said(ORDO_USAGE, "out: expected a pointer"));
    EXPECT(ordo_encode(model, NULL, 3, 0, NULL, 0) == -1 && said(ORDO_USAGE, "text: expected a pointer"));
    EXPECT(ordo_encode(model, NULL, 0, 0, NULL, 0) == 0);
    EXPECT(ordo_decode(NULL, NULL, 0, NULL, 0) == -1);
    EXPECT(ordo_session_new(NULL, NULL) == NULL && said(ORDO_USAGE, "model: expected a pointer"));
    EXPECT(ordo_session_size(NULL) == -1 && ordo_session_capacity(NULL) == -1);
    EXPECT(ordo_session_rewind(NULL, 0) == ORDO_USAGE);
    EXPECT(ordo_generate(model, NULL, NULL, NULL, NULL, NULL) == ORDO_USAGE && said(ORDO_USAGE, "prompt: expected"));
    EXPECT(ordo_sampler_new(NULL, 0) == NULL);
    ordo_model_free(NULL);
    ordo_session_free(NULL);
    ordo_sampler_free(NULL);
    ordo_sampling_defaults(NULL);
}

int main(int argc, char** argv) {
    ordo_model* model;
    if (argc != 3) return ORDO_USAGE;
    EXPECT(ordo_error_status() == ORDO_OK && ordo_error_text()[0] == '\0');
    EXPECT(ordo_abi_version() == ORDO_ABI_VERSION);
    model = ordo_model_load(argv[1], NULL);
    EXPECT(model != NULL);
    if (!model) return 1;
    continue_by_hand(model, argv[2]);
    keep_less(model);
    numbers(model, argv[2]);
    stop_and_ask(model, argv[2]);
    write_in_steps(model, argv[2]);
    null_is_refused(model);
    ordo_model_free(model);
    return failed;
}
