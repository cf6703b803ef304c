/* Marks of vLLM 0.32 (gpu_worker.annotate_profile), SGLang 0.5 (build_step_span_name),
 * TensorRT-LLM's PyTorch backend and ATOM, as their sources write them. */
#include "names/serving.h"

#include "base/test.h"

const char *const assay_phase_name[] = {"", "prefill", "decode", "mixed"};

/* The number behind the first `key`; rest moves past it. */
static bool number_after(assay_str *rest, const char *key, double *out)
{
	ptrdiff_t at = assay_str_find(*rest, key);
	if (at < 0)
		return false;
	size_t i = (size_t)at + strlen(key), from = i;
	i += assay_digits_first((assay_str){rest->p + i, rest->n - i});
	if (i == from || !assay_str_f64((assay_str){rest->p + from, i - from}, out))
		return false;
	*rest = (assay_str){rest->p + i, rest->n - i};
	return true;
}

/* One half of vLLM's mark: n(tokens) or n(sq sk sqsq sqsk). */
struct half {
	double n, sq, sk, sqsq, sqsk;
	bool sums;
};

static bool read_half(assay_str *rest, const char *key, struct half *h)
{
	*h = (struct half){0};
	if (!number_after(rest, key, &h->n))
		return false;
	assay_str inside = *rest, sums = *rest;
	ptrdiff_t end = assay_str_find(*rest, ")");
	if (end < 0)
		return false;
	inside.n = sums.n = (size_t)end;
	h->sums = number_after(&sums, "(sq", &h->sq) && number_after(&sums, "sk", &h->sk) &&
		  number_after(&sums, "sqsq", &h->sqsq) && number_after(&sums, "sqsk", &h->sqsk);
	return h->sums || number_after(&inside, "(", &h->sq);
}

static assay_phase phase_of(double context, double generation)
{
	return context > 0      ? generation > 0 ? ASSAY_PHASE_MIXED : ASSAY_PHASE_PREFILL
	       : generation > 0 ? ASSAY_PHASE_DECODE
				: ASSAY_PHASE_NONE;
}

/* A causal context sees half of its own square: q(q+1)/2 pairs instead of q². */
static void add_sums(assay_serving *out, const struct half *c, const struct half *g)
{
	out->sums = c->sums && g->sums;
	out->queries_by_keys = c->sqsk - (c->sqsq - c->sq) / 2 + g->sqsk - (g->sqsq - g->sq) / 2;
	out->keys = c->sk + g->sk;
}

static bool parse_vllm(assay_str name, assay_serving *out)
{
	struct half c, g;
	if (!assay_str_starts(name, "execute_") || !read_half(&name, "context_", &c) ||
	    !read_half(&name, "generation_", &g))
		return false;
	*out = (assay_serving){
		.phase = phase_of(c.n, g.n), .requests = c.n + g.n, .tokens = c.sq + g.sq};
	add_sums(out, &c, &g);
	return true;
}

static bool parse_sglang(assay_str name, assay_serving *out)
{
	static const struct {
		const char *word;
		assay_phase phase;
	} words[] = {{"step[EXTEND", ASSAY_PHASE_PREFILL},
		     {"step[SPLIT_PREFILL", ASSAY_PHASE_PREFILL},
		     {"step[DECODE", ASSAY_PHASE_DECODE},
		     {"step[VERIFY", ASSAY_PHASE_DECODE},
		     {"step[MIXED", ASSAY_PHASE_MIXED}};
	*out = (assay_serving){0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (assay_str_starts(name, words[i].word))
			out->phase = words[i].phase;
	if (!out->phase || !number_after(&name, "bs=", &out->requests))
		return false;
	struct half c = {0}, g = {0};
	assay_str sums = name;
	c.sums = g.sums =
		number_after(&sums, "c_sq=", &c.sq) && number_after(&sums, "c_sk=", &c.sk) &&
		number_after(&sums, "c_sqsq=", &c.sqsq) &&
		number_after(&sums, "c_sqsk=", &c.sqsk) && number_after(&sums, "g_sq=", &g.sq) &&
		number_after(&sums, "g_sk=", &g.sk) && number_after(&sums, "g_sqsq=", &g.sqsq) &&
		number_after(&sums, "g_sqsk=", &g.sqsk);
	add_sums(out, &c, &g);
	if (!number_after(&name, "toks=", &out->tokens))
		out->tokens = out->phase == ASSAY_PHASE_DECODE ? out->requests : 0;
	return true;
}

static bool parse_tensorrt(assay_str name, assay_serving *out)
{
	double context = 0, generation = 0;
	if (!assay_str_starts(name, "[Executor] _forward_step"))
		return false;
	assay_str c = name, g = name;
	if (!number_after(&c, ": ", &context) || assay_str_find(c, "ctx reqs") != 1)
		return false;
	ptrdiff_t last = assay_str_find(g, "gen reqs");
	if (last < 2)
		return false;
	g.n = (size_t)last - 1;
	size_t digits = assay_digits_last(g);
	assay_str_f64((assay_str){g.p + g.n - digits, digits}, &generation);
	*out = (assay_serving){.phase = phase_of(context, generation),
			       .requests = context + generation,
			       .tokens = generation};
	number_after(&c, "ctx reqs, ", &context);
	out->tokens += context;
	return true;
}

static bool parse_atom(assay_str name, assay_serving *out)
{
	bool prefill = assay_str_starts(name, "prefill[bs=");
	if (!prefill && !assay_str_starts(name, "decode[bs="))
		return false;
	*out = (assay_serving){.phase = prefill ? ASSAY_PHASE_PREFILL : ASSAY_PHASE_DECODE};
	return number_after(&name, "bs=", &out->requests) &&
	       number_after(&name, "tok=", &out->tokens);
}

bool assay_serving_parse(assay_str name, assay_serving *out)
{
	return parse_vllm(name, out) || parse_sglang(name, out) || parse_tensorrt(name, out) ||
	       parse_atom(name, out);
}

TEST(step_marks_of_serving_engines_are_read)
{
	assay_serving s;
	CHECK(assay_serving_parse(
		ASSAY_S("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)"),
		&s));
	CHECK(s.phase == ASSAY_PHASE_MIXED && s.requests == 46 && s.tokens == 8192 && s.sums);
	CHECK(s.keys == 8430 + 34489);
	CHECK(s.queries_by_keys == 7671310 - (7475785 - 8155) / 2.0 + 34489);
	CHECK(assay_serving_parse(ASSAY_S("execute_context_0(0)_generation_32(32)"), &s));
	CHECK(s.phase == ASSAY_PHASE_DECODE && s.tokens == 32 && !s.sums);
	CHECK(assay_serving_parse(ASSAY_S("step[EXTEND bs=15 toks=15360]"), &s));
	CHECK(s.phase == ASSAY_PHASE_PREFILL && s.requests == 15 && s.tokens == 15360);
	CHECK(assay_serving_parse(ASSAY_S("step[DECODE bs=8]"), &s) && s.tokens == 8);
	CHECK(assay_serving_parse(
		ASSAY_S("[Executor] _forward_step 12: 2 ctx reqs, 64 ctx tokens, 5 gen reqs"), &s));
	CHECK(s.phase == ASSAY_PHASE_MIXED && s.requests == 7 && s.tokens == 69);
	CHECK(assay_serving_parse(ASSAY_S("decode[bs=117/128 tok=117 d=1]"), &s) &&
	      s.tokens == 117);
	CHECK(!assay_serving_parse(ASSAY_S("ProfilerStep#1"), &s));
	CHECK(!assay_serving_parse(ASSAY_S("execute_context_"), &s));
	return 0;
}
