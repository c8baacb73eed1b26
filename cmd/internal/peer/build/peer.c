// peer: runs llama.cpp through its public C API (llama.h), so that it can be measured beside our own programs.
//
//   peer info                                         what the library was built for, as JSON
//   peer tokenize MODEL TEXT                          {"tokens":[…]}; BOS as the model asks, special tokens parsed
//   peer bench MODEL -t T -p P -n N -r R              R runs of P tokens of prompt and of N tokens of decoding, after a warm-up of each
//   peer first MODEL -t T -x TEXT                     the first token's text as soon as it is known, then a line of JSON
//   peer logits MODEL --tokens A,B,… --prompt P -o F  logits of the steps after the first P tokens, float32; the prompt in one batch, then token
//        [--generate N] [--exact]                     by token. --generate chooses N tokens greedily instead of reading them from the list.
//                                                     --exact: F32 cache, no flash attention, no repacked weights
//   peer dequantise MODEL OUT                         the same model with its matrices as F32
//   peer quantise MODEL OUT --type N                  the same model as file type N of enum llama_ftype; where a type asks which columns matter
//                                                     most, all matter alike: such a file is for measuring speed, not for use
//
// Settings are the library's defaults: mapped file, repacking, flash attention "auto", F16 cache; n_batch and n_ubatch are 512.
// The context is as long as the run needs and no longer, which keeps the library's memory at its smallest.

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "gguf.h"
#include "llama.h"

enum { BATCH = 512, MAX_TOKENS = 1 << 16 };

static struct {
	const char *verb, *model, *text, *tokens, *out;
	int threads, prompt, n, reps, generate, type;
	bool exact;
} opt = {.threads = 1, .prompt = 512, .n = 128, .reps = 1, .text = ""};

static void fail(const char *what, const char *which) {
	fprintf(stderr, "peer: %s%s%s\n", what, which ? ": " : "", which ? which : "");
	exit(1);
}

static double now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// peak_kib is the process's largest resident size so far. Linux counts KiB, macOS bytes.
static long peak_kib(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
#ifdef __APPLE__
	return u.ru_maxrss / 1024;
#else
	return u.ru_maxrss;
#endif
}

// Only errors reach the user; the library's other lines would mix with the measurements.
static void quiet(enum ggml_log_level level, const char *text, void *data) {
	(void)data;
	if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static struct llama_model *load(void) {
	struct llama_model_params p = llama_model_default_params();
	if (opt.exact) p.use_extra_bufts = false;
	struct llama_model *m = llama_model_load_from_file(opt.model, p);
	if (!m) fail("cannot load", opt.model);
	return m;
}

static struct llama_context *context(struct llama_model *m, int length) {
	struct llama_context_params p = llama_context_default_params();
	p.n_ctx = (uint32_t)length;
	p.n_batch = p.n_ubatch = BATCH;
	p.n_threads = p.n_threads_batch = opt.threads;
	if (opt.exact) {
		p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
		p.type_k = p.type_v = GGML_TYPE_F32;
	}
	struct llama_context *c = llama_init_from_model(m, p);
	if (!c) fail("cannot make a context for", opt.model);
	return c;
}

// feed decodes tokens that follow those before them; the last one's logits are wanted.
static void feed(struct llama_context *c, llama_token *ids, int n) {
	while (n > 0) {
		int k = n < BATCH ? n : BATCH;
		if (llama_decode(c, llama_batch_get_one(ids, k)) != 0) fail("decode failed", NULL);
		ids += k;
		n -= k;
	}
	llama_synchronize(c);
}

static llama_token best(const float *logits, int vocab) {
	int b = 0;
	for (int i = 1; i < vocab; i++)
		if (logits[i] > logits[b]) b = i;
	return b;
}

static void print_ids(const char *name, const llama_token *ids, int n) {
	printf("\"%s\":[", name);
	for (int i = 0; i < n; i++) printf("%s%d", i ? "," : "", ids[i]);
	printf("]");
}

static void print_string(const char *name, const char *s) {
	printf("\"%s\":\"", name);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\') putchar('\\');
		if ((unsigned char)*s >= 0x20) putchar(*s);
	}
	printf("\"");
}

static int tokenize(struct llama_model *m, const char *text, llama_token *ids) {
	int n = llama_tokenize(llama_model_get_vocab(m), text, (int32_t)strlen(text), ids, MAX_TOKENS, true, true);
	if (n < 0) fail("text is too long", NULL);
	return n;
}

static void verb_info(void) {
	printf("{");
	print_string("system_info", llama_print_system_info());
	printf("}\n");
}

static void verb_tokenize(void) {
	static llama_token ids[MAX_TOKENS];
	struct llama_model_params p = llama_model_default_params();
	p.vocab_only = true;
	struct llama_model *m = llama_model_load_from_file(opt.model, p);
	if (!m) fail("cannot load", opt.model);
	int n = tokenize(m, opt.text, ids);
	printf("{");
	print_ids("tokens", ids, n);
	printf("}\n");
}

static llama_token some_token(int vocab) { return rand() % vocab; }

static void prompt_run(struct llama_context *c, int vocab, int n) {
	static llama_token ids[MAX_TOKENS];
	for (int i = 0; i < n; i++) ids[i] = some_token(vocab);
	llama_memory_clear(llama_get_memory(c), false);
	feed(c, ids, n);
}

static void decode_run(struct llama_context *c, int vocab, int n) {
	llama_memory_clear(llama_get_memory(c), false);
	for (int i = 0; i < n; i++) {
		llama_token id = some_token(vocab);
		feed(c, &id, 1);
	}
}

// timed runs one kind of work opt.reps times and prints tokens per second of each.
static void timed(struct llama_model *m, const char *name, void (*run)(struct llama_context *, int, int), int n, int warm) {
	int vocab = llama_vocab_n_tokens(llama_model_get_vocab(m));
	struct llama_context *c = context(m, n);
	run(c, vocab, warm);
	printf(",\"%s\":[", name);
	for (int r = 0; r < opt.reps; r++) {
		double t = now_ms();
		run(c, vocab, n);
		printf("%s%.4f", r ? "," : "", n * 1e3 / (now_ms() - t));
	}
	printf("]");
	llama_free(c);
}

static void verb_bench(void) {
	if (opt.prompt > MAX_TOKENS || opt.prompt < 0 || opt.n < 0 || opt.reps < 1) fail("bad -p, -n or -r", NULL);
	srand(1);
	double t = now_ms();
	struct llama_model *m = load();
	printf("{\"load_ms\":%.3f", now_ms() - t);
	if (opt.prompt > 0) timed(m, "pp", prompt_run, opt.prompt, opt.prompt);
	if (opt.n > 0) timed(m, "tg", decode_run, opt.n, 1);
	printf(",\"peak_rss_kib\":%ld,", peak_kib());
	print_string("system_info", llama_print_system_info());
	printf("}\n");
	llama_model_free(m);
}

static void verb_first(void) {
	static llama_token ids[MAX_TOKENS];
	double t = now_ms();
	struct llama_model *m = load();
	double loaded = now_ms();
	const struct llama_vocab *v = llama_model_get_vocab(m);
	int n = tokenize(m, opt.text, ids);
	struct llama_context *c = context(m, n + 1);
	feed(c, ids, n);
	llama_token id = best(llama_get_logits_ith(c, -1), llama_vocab_n_tokens(v));
	char piece[256];
	int k = llama_token_to_piece(v, id, piece, sizeof piece, 0, true);
	if (k > 0) fwrite(piece, 1, (size_t)k, stdout);
	putchar('\n');
	fflush(stdout);
	printf("{\"load_ms\":%.3f,\"ttft_ms\":%.3f,", loaded - t, now_ms() - t);
	print_ids("prompt_tokens", ids, n);
	printf(",\"token\":%d,\"peak_rss_kib\":%ld}\n", id, peak_kib());
}

static void verb_logits(void) {
	static llama_token ids[MAX_TOKENS];
	int n = 0;
	for (const char *s = opt.tokens ? opt.tokens : ""; *s;) {
		char *end;
		long id = strtol(s, &end, 10);
		if (end == s || n == MAX_TOKENS) fail("bad --tokens", NULL);
		ids[n++] = (llama_token)id;
		s = *end == ',' ? end + 1 : end;
	}
	int prompt = opt.prompt, steps = opt.generate ? opt.generate : n - prompt;
	if (prompt < 1 || prompt > n || steps < 1 || (opt.generate && n != prompt) || prompt + steps > MAX_TOKENS)
		fail("--tokens, --prompt and --generate do not fit together", NULL);
	FILE *f = fopen(opt.out ? opt.out : "", "wb");
	if (!f) fail("cannot write", opt.out);
	struct llama_model *m = load();
	int vocab = llama_vocab_n_tokens(llama_model_get_vocab(m));
	for (int i = 0; i < n; i++)
		if (ids[i] < 0 || ids[i] >= vocab) fail("a token is outside the vocabulary", NULL);
	struct llama_context *c = context(m, prompt + steps);
	feed(c, ids, prompt);
	for (int i = 0; i < steps; i++) {
		const float *logits = llama_get_logits_ith(c, -1);
		if (!logits || fwrite(logits, sizeof *logits, (size_t)vocab, f) != (size_t)vocab) fail("cannot write", opt.out);
		if (opt.generate) ids[prompt + i] = best(logits, vocab);
		if (i + 1 < steps) feed(c, ids + prompt + i, 1);
	}
	if (fclose(f) != 0) fail("cannot write", opt.out);
	printf("{\"vocab\":%d,\"steps\":%d,", vocab, steps);
	print_ids("tokens", ids, prompt + steps);
	printf("}\n");
}

static void verb_dequantise(void) {
	llama_model_quantize_params p = llama_model_quantize_default_params();
	p.ftype = LLAMA_FTYPE_ALL_F32;
	p.allow_requantize = true;
	p.pure = true;
	p.nthread = opt.threads;
	if (llama_model_quantize(opt.model, opt.out, &p) != 0) fail("cannot dequantise", opt.model);
	printf("{}\n");
}

// importance gives every matrix of the file columns that matter alike. The list ends with an entry without a name.
static struct llama_model_imatrix_data *importance(void) {
	struct ggml_context *shapes = NULL;
	struct gguf_init_params p = {.no_alloc = true, .ctx = &shapes};
	struct gguf_context *file = gguf_init_from_file(opt.model, p);
	if (!file) fail("cannot read", opt.model);
	int64_t n = gguf_get_n_tensors(file), used = 0, widest = 0;
	struct llama_model_imatrix_data *list = calloc((size_t)n + 1, sizeof *list);
	if (!list) fail("no memory", NULL);
	for (int64_t i = 0; i < n; i++) {
		struct ggml_tensor *t = ggml_get_tensor(shapes, gguf_get_tensor_name(file, i));
		if (!t || t->ne[1] < 2) continue;
		list[used].name = gguf_get_tensor_name(file, i);
		list[used++].size = (size_t)(t->ne[0] * t->ne[2]);
		if (t->ne[0] * t->ne[2] > widest) widest = t->ne[0] * t->ne[2];
	}
	float *ones = malloc((size_t)(widest + 1) * sizeof *ones);
	if (!ones) fail("no memory", NULL);
	for (int64_t i = 0; i <= widest; i++) ones[i] = 1;
	for (int64_t i = 0; i < used; i++) list[i].data = ones;
	return list; // names belong to the file's context, which stays
}

static void verb_quantise(void) {
	llama_model_quantize_params p = llama_model_quantize_default_params();
	p.ftype = (enum llama_ftype)opt.type;
	p.allow_requantize = true;
	p.nthread = opt.threads;
	p.imatrix = importance();
	if (llama_model_quantize(opt.model, opt.out, &p) != 0) fail("cannot quantise", opt.model);
	printf("{}\n");
}

int main(int argc, char **argv) {
	if (argc < 2) fail("usage: peer info | tokenize | bench | first | logits | dequantise | quantise; see the head of peer.c", NULL);
	opt.verb = argv[1];
	for (int i = 2; i < argc; i++) {
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(a, "--exact")) {
			opt.exact = true;
			continue;
		}
		if (a[0] != '-') {
			if (!opt.model) opt.model = a;
			else if (!strcmp(opt.verb, "dequantise") || !strcmp(opt.verb, "quantise")) opt.out = a;
			else opt.text = a;
			continue;
		}
		if (!v) fail("flag without a value", a);
		i++;
		if (!strcmp(a, "-t")) opt.threads = atoi(v);
		else if (!strcmp(a, "-p") || !strcmp(a, "--prompt")) opt.prompt = atoi(v);
		else if (!strcmp(a, "-n")) opt.n = atoi(v);
		else if (!strcmp(a, "-r")) opt.reps = atoi(v);
		else if (!strcmp(a, "-x")) opt.text = v;
		else if (!strcmp(a, "-o")) opt.out = v;
		else if (!strcmp(a, "--type")) opt.type = atoi(v);
		else if (!strcmp(a, "--tokens")) opt.tokens = v;
		else if (!strcmp(a, "--generate")) opt.generate = atoi(v);
		else fail("unknown flag", a);
	}
	llama_log_set(quiet, NULL);
	llama_backend_init();
	if (!strcmp(opt.verb, "info")) {
		verb_info();
		return 0;
	}
	if (!opt.model) fail("which model?", NULL);
	if (!strcmp(opt.verb, "tokenize")) verb_tokenize();
	else if (!strcmp(opt.verb, "bench")) verb_bench();
	else if (!strcmp(opt.verb, "first")) verb_first();
	else if (!strcmp(opt.verb, "logits")) verb_logits();
	else if (!strcmp(opt.verb, "dequantise")) verb_dequantise();
	else if (!strcmp(opt.verb, "quantise")) verb_quantise();
	else fail("unknown verb", opt.verb);
	// The system takes the memory back faster than the library does; nothing is left to be written.
	fflush(stdout);
	_Exit(0);
}
