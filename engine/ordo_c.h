/* SPDX-License-Identifier: MIT
 * Ordo for C, and for languages that can call C: the functions of ordo.h that generate text. ordo.h explains them, the
 * threads and the limits.
 *
 *   ordo_model* model = ordo_model_load("weights/rope.safetensors", NULL);
 *   if (!model || ordo_generate(model, "Once upon a time", NULL, print, NULL, NULL) != ORDO_OK)
 *       fprintf(stderr, "%s\n", ordo_error_text());
 *   ordo_model_free(model);
 *
 * A function that fails returns NULL, -1 or a status other than ORDO_OK; ordo_error_text() has the reason. Nothing is
 * thrown or printed. Text is UTF-8. A function with a buffer writes as much as fits and returns the whole length, so
 * that a call with a capacity of 0 asks for the size.
 *
 * Structures begin with their size; ordo_..._defaults() or ORDO_GENERATION fills them. New fields are added at the end,
 * so that programs that were compiled with an older header still work. ORDO_ABI_VERSION changes if they do not. */
#ifndef ORDO_C_H
#define ORDO_C_H

#include <stddef.h> /* NOLINT: this is C */
#include <stdint.h> /* NOLINT: likewise */

#if defined(__GNUC__)
#define ORDO_API __attribute__((visibility("default")))
#else
#define ORDO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ORDO_ABI_VERSION 1

/* The ABI version of the library. Programs that load it at run time compare it with ORDO_ABI_VERSION. */
ORDO_API int ordo_abi_version(void);
ORDO_API const char* ordo_version(void); /* "0.1.0" */

typedef enum ordo_status {
    ORDO_OK = 0,
    ORDO_FAILURE = 1, /* anything else */
    ORDO_USAGE = 2,   /* an invalid argument or a null pointer */
    ORDO_MODEL = 3,   /* a malformed or unsupported model file */
    ORDO_LIMIT = 4,   /* the length, the context or the memory is exceeded */
    ORDO_IO = 5       /* the operating system refused a file */
} ordo_status;

/* The error of this thread's last failed call: one line, valid until the next call. "" and ORDO_OK before any. */
ORDO_API const char* ordo_error_text(void);
ORDO_API ordo_status ordo_error_status(void);

/* ---- Models: immutable, for any number of threads and sessions ---- */

typedef struct ordo_model ordo_model;

typedef struct ordo_load_options {
    size_t size;
    const char* encoding;   /* a spec; NULL: the trained encoding */
    int32_t force_encoding; /* 1: allow an encoding that differs from the trained one */
    const char* dtype;      /* type of the matrices, "q8_0" ...; NULL: as stored */
    uint64_t max_memory;    /* bytes for the weights; 0: four fifths of the memory that this process may use */
    const char* rope;       /* keys to set in each rope, such as "scaling=yarn,factor=4"; NULL: none */
    void (*on_warning)(const char* text, void* user); /* NULL: warnings are dropped. It must not throw or jump out */
    void* user;
} ordo_load_options;
ORDO_API void ordo_load_options_defaults(ordo_load_options* options);

/* options: NULL for the defaults. A model must outlive its sessions, batches and writers: free it after them. */
ORDO_API ordo_model* ordo_model_load(const char* path, const ordo_load_options* options);
ORDO_API void ordo_model_free(ordo_model* model); /* NULL is allowed, as for every free */
/* The same weights in memory under another encoding: a model of its own. Either may be freed first. */
ORDO_API ordo_model* ordo_model_with_encoding(const ordo_model* model, const char* spec);
/* The path of a shipped file, such as "rope.safetensors", with a terminating 0 if it fits. Returns the length or -1. */
ORDO_API ptrdiff_t ordo_weights_file(const char* name, char* out, size_t capacity);

ORDO_API int32_t ordo_model_vocab_size(const ordo_model* model);
ORDO_API int32_t ordo_model_context(const ordo_model* model);       /* trained context, in tokens */
ORDO_API int32_t ordo_model_start_of_text(const ordo_model* model); /* comes before a prompt; -1: none */
ORDO_API int32_t ordo_model_end_of_text(const ordo_model* model);   /* -1: none */
/* The canonical spec of the encoding in use, with a terminating 0 if it fits. Returns the length without the 0. */
ORDO_API ptrdiff_t ordo_model_encoding(const ordo_model* model, char* out, size_t capacity);

typedef enum ordo_encode_flag {
    ORDO_SPECIAL = 1, /* the text of a special token becomes that token */
    ORDO_START = 2    /* begin with the start token, if the model has one: a prompt, as ordo_generate() reads it */
} ordo_encode_flag;
/* Text to tokens. flags: a sum of ordo_encode_flag, or 0. Returns the number of tokens, or -1. */
ORDO_API ptrdiff_t ordo_encode(const ordo_model* model, const char* text, size_t length, int32_t flags, int32_t* out,
                               size_t capacity);
/* Tokens to bytes, without a terminating 0; they may end inside a UTF-8 sequence. Returns the number of bytes or -1. */
ORDO_API ptrdiff_t ordo_decode(const ordo_model* model, const int32_t* tokens, size_t count, char* out,
                               size_t capacity);

/* ---- Sessions: one sequence each, for one thread at a time ---- */

typedef struct ordo_session ordo_session;

typedef struct ordo_session_options {
    size_t size;
    int32_t capacity;       /* tokens that fit; 0: the trained context */
    int32_t chunk;          /* tokens processed at once in prefill */
    int32_t first_position; /* position id of the first token */
    int32_t half_cache;     /* 1: store keys and values as f16 */
    int32_t byte_cache;     /* 1: store them as q8_0, blocks of 32 bytes that share a scale */
    int32_t bf16_cache;     /* 1: store them as bf16; at most one of the three */
} ordo_session_options;
ORDO_API void ordo_session_options_defaults(ordo_session_options* options);

ORDO_API ordo_session* ordo_session_new(const ordo_model* model, const ordo_session_options* options);
ORDO_API void ordo_session_free(ordo_session* session);

/* Appends one or more tokens and returns the logits after the last, [vocab_size], valid until the next call. Returns
 * NULL on failure; the session is then as before. */
ORDO_API const float* ordo_session_feed(ordo_session* session, const int32_t* tokens, size_t count);
ORDO_API int32_t ordo_session_size(const ordo_session* session); /* tokens in the cache */
ORDO_API int32_t ordo_session_capacity(const ordo_session* session);
/* The same with the logits after every token: on_logits is called for each, in order. The logits are valid until it
 * returns. It must not throw or jump out. */
typedef void (*ordo_logits_callback)(size_t index, const float* logits, void* user);
ORDO_API ordo_status ordo_session_feed_all(ordo_session* session, const int32_t* tokens, size_t count,
                                           ordo_logits_callback on_logits, void* user);
/* The same with the logits written to out, [count, vocab_size]. */
ORDO_API ordo_status ordo_session_feed_into(ordo_session* session, const int32_t* tokens, size_t count, float* out);
/* Forgets all but the first `size` tokens. */
ORDO_API ordo_status ordo_session_rewind(ordo_session* session, int32_t size);

/* Several sessions of a model that advance together, with max_tokens tokens at most (0: the trained context). */
typedef struct ordo_batch ordo_batch;
ORDO_API ordo_batch* ordo_batch_new(const ordo_model* model, int32_t max_sessions, int32_t max_tokens);
ORDO_API void ordo_batch_free(ordo_batch* batch);
/* Appends tokens[i] to sessions[i] and returns the logits after each, [count, vocab_size], valid until the next call.
 * Returns NULL on failure; the sessions are then as before. */
ORDO_API const float* ordo_batch_feed(ordo_batch* batch, ordo_session* const* sessions, const int32_t* tokens,
                                      size_t count);

/* ---- Sampling ---- */

typedef struct ordo_sampling {
    size_t size;
    float temperature; /* 0: greedy */
    int32_t top_k;     /* 0: off */
    float top_p, min_p, repeat_penalty;
    int32_t repeat_last_n; /* -1: all */
    uint64_t seed;
} ordo_sampling;
ORDO_API void ordo_sampling_defaults(ordo_sampling* sampling);
/* The settings that the model's files recommend, or the defaults. */
ORDO_API ordo_status ordo_model_sampling(const ordo_model* model, ordo_sampling* sampling);

typedef struct ordo_sampler ordo_sampler;
ORDO_API ordo_sampler* ordo_sampler_new(const ordo_sampling* sampling, int32_t vocab_size);
ORDO_API void ordo_sampler_free(ordo_sampler* sampler);
/* logits [vocab_size]; history: all tokens so far, with the prompt; draw: the number of the draw. The seed and draw
 * determine the result. Returns a token, or -1. */
ORDO_API int32_t ordo_sample(ordo_sampler* sampler, const float* logits, const int32_t* history, size_t count,
                             uint64_t draw);

/* ---- Generation ---- */

typedef struct ordo_generate_options {
    size_t size;
    int32_t max_tokens;                  /* -1: until the end of text or a full context */
    const ordo_sampling* sampling;       /* NULL: the defaults */
    const ordo_session_options* session; /* NULL: the defaults */
    const char* const* stop;             /* texts at which to stop, which are not returned */
    size_t stop_count;
    int32_t special;       /* 1: the text of a special token in the prompt becomes that token */
    int32_t context_shift; /* 1: continue when the context is full: evict half of the tokens after the first `keep` */
    int32_t keep;          /* -1: the prompt */
} ordo_generate_options;
ORDO_API void ordo_generate_options_defaults(ordo_generate_options* options);

typedef enum ordo_stop_reason {
    ORDO_STOP_MAX_TOKENS = 0,
    ORDO_STOP_END_OF_TEXT = 1,
    ORDO_STOP_TEXT = 2,
    ORDO_STOP_FULL = 3,
    ORDO_STOP_CALLBACK = 4
} ordo_stop_reason;

typedef struct ordo_generation {
    size_t size;
    ordo_stop_reason reason;
    int32_t prompt_tokens, new_tokens;
    double prefill_seconds, decode_seconds;
} ordo_generation;
/* ordo_generation result = ORDO_GENERATION; */
#define ORDO_GENERATION                                                                                                \
    { sizeof(ordo_generation), ORDO_STOP_MAX_TOKENS, 0, 0, 0, 0 }

/* Receives the continuation in pieces of whole UTF-8 sequences, without a terminating 0. Return 0 to stop. It must not
 * throw or jump out. */
typedef int32_t (*ordo_text_callback)(const char* text, size_t length, void* user);

/* options, on_text and result may be NULL. */
ORDO_API ordo_status ordo_generate(const ordo_model* model, const char* prompt, const ordo_generate_options* options,
                                   ordo_text_callback on_text, void* user, ordo_generation* result);

/* ordo_generate() as a loop of the caller, who may end it after any piece. It suits languages whose exceptions cannot
 * pass through C. The prompt may contain zeros. */
typedef struct ordo_writer ordo_writer;
ORDO_API ordo_writer* ordo_writer_new(const ordo_model* model, const char* prompt, size_t length,
                                      const ordo_generate_options* options);
ORDO_API void ordo_writer_free(ordo_writer* writer); /* before its model */
/* Reads a chunk of the prompt or writes one token. Returns the length of the new text, often 0, and points *text at it
 * until the next call. At the end *text is NULL, and result, unless it is NULL, has the numbers. Returns -1 on failure.
 */
ORDO_API ptrdiff_t ordo_writer_next(ordo_writer* writer, const char** text, ordo_generation* result);

/* ---- Numbers of a text ----
 * These return the number of elements, or -1, and write as many as fit. */

typedef struct ordo_token_score {
    int32_t token;
    float log_probability; /* natural, given the tokens before it */
} ordo_token_score;
ORDO_API ptrdiff_t ordo_score(const ordo_model* model, const char* text, size_t length, ordo_token_score* out,
                              size_t capacity);

typedef enum ordo_pooling { ORDO_POOL_MEAN = 0, ORDO_POOL_FIRST = 1, ORDO_POOL_LAST = 2 } ordo_pooling;
/* The text's vector (embed() of ordo.h), scaled to a length of 1 if normalised is not 0. pooling: an ordo_pooling. */
ORDO_API ptrdiff_t ordo_embed(const ordo_model* model, const char* text, size_t length, int32_t pooling,
                              int32_t normalised, float* out, size_t capacity);

typedef struct ordo_candidate {
    int32_t index; /* of the masked token in the text's tokens */
    int32_t token;
    float probability; /* among all tokens */
} ordo_candidate;
/* For each mask token of a text its likeliest tokens, `candidates` of them, the likeliest first. */
ORDO_API ptrdiff_t ordo_fill(const ordo_model* model, const char* text, size_t length, int32_t candidates,
                             ordo_candidate* out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
