// third: answers "bench" as peer.c does, over ik_llama.cpp's llama.h, so that it can be measured in the same alternation.
//
//   third bench MODEL -t T -p P -n N -r R     R runs of P tokens of prompt and of N tokens of decoding, after a warm-up of each
//
// Settings are the library's defaults: mapped file, flash attention and fused operations as they come, F16 cache; n_batch and n_ubatch are 512. With JNS_REPACK=1 in the environment
// weights are repacked at load, as the library's own programs do with -rtr: slower prompts, faster decoding of some models.

#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llama.h"

enum { BATCH = 512, MAX_TOKENS = 1 << 16 };

static struct {
	const char *model;
	int threads, prompt, n, reps;
} opt = {.threads = 1, .prompt = 512, .n = 128, .reps = 1};

static void fail(const char *what, const char *which) {
	fprintf(stderr, "third: %s%s%s\n", what, which ? ": " : "", which ? which : "");
	exit(1);
}

static double now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// Only errors reach the user; the library's other lines would mix with the measurements.
static void quiet(enum ggml_log_level level, const char *text, void *data) {
	(void)data;
	if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static void feed(struct llama_context *c, llama_token *ids, int n, int at) {
	while (n > 0) {
		int k = n < BATCH ? n : BATCH;
		if (llama_decode(c, llama_batch_get_one(ids, k, at, 0)) != 0) fail("decode failed", NULL);
		ids += k;
		at += k;
		n -= k;
	}
	llama_synchronize(c);
}

static void prompt_run(struct llama_context *c, int vocab, int n) {
	static llama_token ids[MAX_TOKENS];
	for (int i = 0; i < n; i++) ids[i] = rand() % vocab;
	llama_kv_cache_clear(c);
	feed(c, ids, n, 0);
}

static void decode_run(struct llama_context *c, int vocab, int n) {
	llama_kv_cache_clear(c);
	for (int i = 0; i < n; i++) {
		llama_token id = rand() % vocab;
		feed(c, &id, 1, i);
	}
}

// timed runs one kind of work opt.reps times and prints tokens per second of each.
static void timed(struct llama_model *m, const char *name, void (*run)(struct llama_context *, int, int), int n, int warm) {
	int vocab = llama_vocab_n_tokens(llama_model_get_vocab(m));
	struct llama_context_params p = llama_context_default_params();
	p.n_ctx = (uint32_t)n;
	p.n_batch = p.n_ubatch = BATCH;
	p.n_threads = p.n_threads_batch = (uint32_t)opt.threads;
	struct llama_context *c = llama_init_from_model(m, p);
	if (!c) fail("cannot make a context for", opt.model);
	run(c, vocab, warm);
	printf("%s\"%s\":[", strcmp(name, "pp") && opt.prompt > 0 ? "," : "", name);
	for (int r = 0; r < opt.reps; r++) {
		double t = now_ms();
		run(c, vocab, n);
		printf("%s%.4f", r ? "," : "", n * 1e3 / (now_ms() - t));
	}
	printf("]");
	llama_free(c);
}

int main(int argc, char **argv) {
	if (argc < 3 || strcmp(argv[1], "bench")) fail("usage: third bench MODEL -t T -p P -n N -r R", NULL);
	opt.model = argv[2];
	for (int i = 3; i < argc; i += 2) {
		const char *a = argv[i];
		if (i + 1 == argc) fail("flag without a value", a);
		int v = atoi(argv[i + 1]);
		if (!strcmp(a, "-t")) opt.threads = v;
		else if (!strcmp(a, "-p")) opt.prompt = v;
		else if (!strcmp(a, "-n")) opt.n = v;
		else if (!strcmp(a, "-r")) opt.reps = v;
		else fail("unknown flag", a);
	}
	if (opt.prompt > MAX_TOKENS || opt.prompt < 0 || opt.n < 0 || opt.reps < 1 || opt.threads < 1) fail("bad -p, -n, -r or -t", NULL);
	llama_log_set(quiet, NULL);
	llama_backend_init();
	srand(1);
	struct llama_model_params p = llama_model_default_params();
	const char *repack = getenv("JNS_REPACK");
	p.repack_tensors = repack && !strcmp(repack, "1");
	struct llama_model *m = llama_model_load_from_file(opt.model, p);
	if (!m) fail("cannot load", opt.model);
	printf("{");
	if (opt.prompt > 0) timed(m, "pp", prompt_run, opt.prompt, opt.prompt);
	if (opt.n > 0) timed(m, "tg", decode_run, opt.n, 1);
	printf("}\n");
	fflush(stdout);
	_Exit(0);
}
