/* The formulas of `--like goblin`: doubles, and operations in the order of docs/formats/goblin.md,
 * so that results agree to the last bit with the same formulas in any language. */
#include "like/goblin.h"

#include <math.h>

#include "base/test.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

static const double hbm_total_gb = 192.0, healthy_fill = 0.70, headroom_weight = 0.05,
		    precision_weight = 0.10, wait_util = 0.30, wait_host_busy = 0.5;

enum { WORDS_MAX = 6 };
typedef enum name_flag { COLLECTIVE, GEMM, GENERIC, FP16, BF16, FLAGS } name_flag;

/* '~' is an optional '_' or '-'. */
static const char *const flag_words[FLAGS][WORDS_MAX] = {
	[COLLECTIVE] = {"rccl", "nccl", "all~reduce", "broadcast", "reduce~scatter"},
	[GEMM] = {"gemm", "matmul", "hgemm", "sgemm", "hipblaslt"},
	[GENERIC] = {"generic", "fallback", "naive", "reference"},
	[FP16] = {"fp16", "half", "f16"},
	[BF16] = {"bf16", "bfloat16"},
};

/* Bytes of text from at that the word covers, or 0. */
static size_t word_length(assay_str text, size_t at, const char *word)
{
	size_t i = at;
	for (; *word; word++) {
		if (*word == '~') {
			i += i < text.n && (text.p[i] == '_' || text.p[i] == '-');
			continue;
		}
		bool letter = *word >= 'a';
		if (i >= text.n || (letter ? (text.p[i] | 0x20) : text.p[i]) != *word)
			return 0;
		i++;
	}
	return i - at;
}

/* One of the words stands in text with no letter or digit beside it: '_' separates. */
static bool has_word(assay_str text, name_flag flag)
{
	for (size_t at = 0; at < text.n; at++) {
		if (at && assay_is_letter_or_digit(text.p[at - 1]))
			continue;
		for (const char *const *w = flag_words[flag]; *w; w++) {
			size_t n = word_length(text, at, *w);
			if (n && (at + n == text.n || !assay_is_letter_or_digit(text.p[at + n])))
				return true;
		}
	}
	return false;
}

static bool has(assay_str text, const char *part)
{
	return assay_str_find_nocase(text, part) >= 0;
}

static const char *attention_of(assay_str name)
{
	if (has(name, "flash_attn") && has(name, "rocm"))
		return "flash_rocm";
	if (has(name, "flash") && has(name, "attn"))
		return "flash";
	return has(name, "scaled_dot_product_attention") ? "sdpa" : NULL;
}

/* One kernel name; names are judged once however often they run. */
typedef struct name_sum {
	__uint128_t ns;
	bool flag[FLAGS];
	bool listed;
} name_sum;

typedef struct sums {
	name_sum *by_name;          /* index: name id */
	size_t names;               /* ids are 1 .. names - 1 */
	__uint128_t all, of[FLAGS]; /* ns */
} sums;

static void judge_name(assay_str name, name_sum *n)
{
	for (name_flag f = 0; f < FLAGS; f++)
		n->flag[f] = has_word(name, f);
	n->flag[GENERIC] &= n->flag[GEMM];
}

static sums sum_kernels(const assay_goblin_input *in, assay_arena *a)
{
	sums s = {.names = in->names.str.n ? in->names.str.n : 1};
	s.by_name = assay_alloc(a, s.names * sizeof *s.by_name);
	for (size_t i = 0; i < in->kernels.n; i++)
		s.by_name[in->kernels.p[i].name].ns += (uint64_t)in->kernels.p[i].ns;
	for (size_t i = 1; i < s.names; i++) {
		name_sum *n = &s.by_name[i];
		judge_name(assay_pool_get(&in->names, (assay_sid)i), n);
		s.all += n->ns;
		for (name_flag f = 0; f < FLAGS; f++)
			s.of[f] += n->flag[f] ? n->ns : 0;
	}
	return s;
}

/* part / whole, rounded once: doubles would round both first when they are beyond 2^53. */
static double ratio(__uint128_t part, __uint128_t whole)
{
	const __uint128_t exact = (__uint128_t)1 << 53;
	if (part >= whole || (part < exact && whole < exact))
		return (double)part / (double)whole;
	int places = 0;
	uint64_t bits = 0;
	for (; bits >> 53 == 0 && part; places++) {
		part <<= 1;
		bits = bits << 1 | (part >= whole);
		part -= part >= whole ? whole : 0;
	}
	return ldexp((double)(bits << 1 | (part != 0)), -places - 1);
}

/* The most expensive names; of equals the one that ran first. */
static void list_top(const assay_goblin_input *in, sums *s, assay_goblin *g)
{
	while (g->tops < ASSAY_GOBLIN_TOP) {
		size_t best = 0;
		for (size_t i = 1; i < s->names; i++)
			if (!s->by_name[i].listed &&
			    s->by_name[i].ns > (best ? s->by_name[best].ns : 0))
				best = i;
		if (!best)
			return;
		s->by_name[best].listed = true;
		g->top[g->tops].name = assay_pool_get(&in->names, (assay_sid)best);
		g->top[g->tops++].pct_time = ratio(s->by_name[best].ns, s->all) * 100.0;
	}
}

static const char *attention_label(const assay_goblin_input *in)
{
	for (size_t i = 1; i < in->names.str.n; i++) { /* ids are in order of first use */
		const char *label = attention_of(assay_pool_get(&in->names, (assay_sid)i));
		if (label)
			return label;
	}
	return in->kernels.n ? "eager" : "unknown";
}

static double utilisation(const assay_goblin_input *in, const sums *s)
{
	if (in->gpu_util_pct.known)
		return in->gpu_util_pct.value;
	if (!in->step_seconds.known || in->step_seconds.value <= 0 || !in->kernels.n)
		return 0;
	double pct = (double)s->all / (in->step_seconds.value * 1e9) * 100.0;
	return pct < 100.0 ? pct : 100.0;
}

static bool may_waste_precision(const char *precision)
{
	return !precision || !strcmp(precision, "fp16") || !strcmp(precision, "fp32");
}

static assay_goblin_budget budget_of(const assay_goblin_input *in, const sums *s, double util_pct)
{
	assay_goblin_budget b = {0};
	double t = in->step_seconds.value, u = util_pct / 100.0;
	double h = in->host_busy.known ? in->host_busy.value : 0.0;
	if (!in->step_seconds.known || t <= 0)
		return b;
	if (u < wait_util && h > wait_host_busy)
		b.data_wait = t * (1.0 - u) * h;
	b.host_gap = t * (1.0 - u) * (1.0 - h);
	b.comm_excess = (double)s->of[COLLECTIVE] / 1e9;
	b.kernel_shape = ratio(s->of[GENERIC], s->of[GEMM] ? s->of[GEMM] : 1) * t * u;
	__uint128_t tagged = s->of[FP16] + s->of[BF16];
	if (may_waste_precision(in->precision) && tagged)
		b.precision_path = ratio(s->of[FP16], tagged) * t * u * precision_weight;
	double p = (in->hbm_peak_gb.known ? in->hbm_peak_gb.value : 0.0) / hbm_total_gb;
	if (p > 0 && p < healthy_fill)
		b.memory_headroom = (healthy_fill - p) / healthy_fill * t * headroom_weight;
	double waste = b.data_wait + b.host_gap + b.comm_excess + b.kernel_shape +
		       b.precision_path + b.memory_headroom;
	b.useful_gpu = t - waste > 0 ? t - waste : 0.0;
	return b;
}

static double value_or_zero(assay_goblin_number n)
{
	return n.known ? n.value : 0.0;
}

assay_goblin assay_goblin_compute(const assay_goblin_input *in)
{
	assay_arena scratch = {0};
	sums s = sum_kernels(in, &scratch);
	assay_goblin g = {
		.input = in,
		.tokens_per_sec = value_or_zero(in->tokens_per_sec),
		.mfu_pct = value_or_zero(in->mfu_pct),
		.hbm_peak_gb = value_or_zero(in->hbm_peak_gb),
		.hbm_avg_gb = value_or_zero(in->hbm_avg_gb),
		.gpu_util_pct = utilisation(in, &s),
		.attention = attention_label(in),
	};
	list_top(in, &s, &g);
	g.budget = budget_of(in, &s, g.gpu_util_pct);
	double total = 0;
#define X(name) total += g.budget.name;
	ASSAY_GOBLIN_BUCKETS(X)
#undef X
	g.budget.total = total;
	g.budget.recoverable = total - g.budget.useful_gpu;
	assay_arena_free(&scratch);
	return g;
}

static bool is_word_of(const char *name, name_flag flag)
{
	return has_word(assay_str_of(name), flag);
}

TEST(words_are_bounded_by_anything_but_letters_and_digits)
{
	CHECK(!is_word_of("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", COLLECTIVE));
	CHECK(!is_word_of("ncclDevKernel_AllGather_RING_LL(x)", COLLECTIVE));
	CHECK(!is_word_of("ncclDevKernel_SendRecv(x)", COLLECTIVE));
	CHECK(is_word_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", COLLECTIVE));
	CHECK(is_word_of("rccl_all_reduce_kernel", COLLECTIVE));
	CHECK(is_word_of("op_reduce-scatter", COLLECTIVE) && is_word_of("allreduce", COLLECTIVE));
	CHECK(is_word_of("vector_broadcast_copy", COLLECTIVE));
	CHECK(!is_word_of("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", GEMM));
	CHECK(!is_word_of("cutlass_80_tensorop_s1688gemm_128x128_nn", GEMM));
	CHECK(is_word_of("ampere_sgemm_128x64_tn", GEMM) && is_word_of("GEMM", GEMM));
	CHECK(is_word_of("batched_transpose_16x32_half", FP16));
	CHECK(!is_word_of("kernel_bf16", FP16) && is_word_of("kernel_bf16", BF16));
	CHECK(!is_word_of("kernel_f160", FP16) && is_word_of("x[f16]", FP16));
	CHECK(!is_word_of("", GEMM) && !is_word_of("gem", GEMM));
	return 0;
}

TEST(attention_is_labelled_by_the_first_kernel_that_tells)
{
	CHECK(!strcmp(attention_of(ASSAY_S("rocm_Flash_Attn_fwd")), "flash_rocm"));
	CHECK(!strcmp(attention_of(ASSAY_S("flash_fwd_attn")), "flash"));
	CHECK(!strcmp(attention_of(ASSAY_S("_scaled_dot_product_attention_math")), "sdpa"));
	CHECK(!attention_of(ASSAY_S("pytorch_flash::flash_fwd_kernel")));
	return 0;
}

static void add_kernel(assay_goblin_input *in, const char *name, int64_t ns)
{
	*assay_push(&in->kernels) = (assay_goblin_launch){assay_intern_z(&in->names, name), ns};
}

static void free_input(assay_goblin_input *in)
{
	assay_vec_free(&in->kernels);
	assay_pool_free(&in->names);
}

TEST(ratios_of_large_sums_are_rounded_once)
{
	CHECK(ratio(1, 3) == 1.0 / 3 && ratio(0, 7) == 0 && ratio(7, 7) == 1);
	const __uint128_t big = (__uint128_t)1 << 70;
	CHECK(ratio(big, big * 3) == 1.0 / 3 && ratio(big * 2, big * 3) == 2.0 / 3);
	CHECK(ratio(big, big * 4) == 0.25 && ratio(1, big) == ldexp(1, -70));
	/* 9007199254740993 / 18014398509481987 by exact arithmetic */
	CHECK(ratio(9007199254740993, 18014398509481987) == 0.5);
	return 0;
}

static bool near(double got, double want)
{
	return fabs(got - want) < 1e-9;
}

/* T 0.5 s, utilisation 21, host busy 0.6, peak 75 GB; 2 of 7 parts of GEMM time generic, all
 * fp16. */
TEST(the_worked_example_comes_out)
{
	assay_goblin_input in = {.step_seconds = {0.5, true},
				 .host_busy = {0.6, true},
				 .gpu_util_pct = {21, true},
				 .hbm_peak_gb = {75, true}};
	add_kernel(&in, "rccl_all_reduce", 1000000);
	add_kernel(&in, "hipblaslt_gemm_half", 2500000);
	add_kernel(&in, "generic_gemm_half", 1000000);
	assay_goblin g = assay_goblin_compute(&in);
	CHECK(near(g.budget.data_wait, 0.237) && near(g.budget.host_gap, 0.158));
	CHECK(near(g.budget.comm_excess, 0.001) && near(g.budget.kernel_shape, 0.03));
	CHECK(near(g.budget.precision_path, 0.0105) &&
	      fabs(g.budget.memory_headroom - 0.0110491071) < 1e-10);
	CHECK(fabs(g.budget.useful_gpu - 0.0524508929) < 1e-10 && near(g.budget.total, 0.5));
	in.precision = "bf16";
	CHECK(assay_goblin_compute(&in).budget.precision_path == 0);
	free_input(&in);
	return 0;
}

TEST(top_kernels_are_stable_and_at_most_five)
{
	assay_goblin_input in = {0};
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	for (int i = 0; i < 6; i++)
		add_kernel(&in, names[i], i == 5 ? 20 : 10);
	assay_goblin g = assay_goblin_compute(&in);
	CHECK(g.tops == 5 && assay_str_is(g.top[0].name, "f") && assay_str_is(g.top[1].name, "a"));
	CHECK(assay_str_is(g.top[4].name, "d") && near(g.top[0].pct_time, 2000.0 / 70));
	CHECK(!strcmp(g.attention, "eager") && g.gpu_util_pct == 0 && g.budget.total == 0);
	free_input(&in);
	return 0;
}

TEST(an_empty_input_gives_zeros)
{
	assay_goblin_input in = {0};
	assay_goblin g = assay_goblin_compute(&in);
	CHECK(g.tops == 0 && !strcmp(g.attention, "unknown") && g.budget.total == 0);
	return 0;
}

TEST(utilisation_falls_back_to_kernel_time_over_one_step)
{
	assay_goblin_input in = {.step_seconds = {0.001, true}};
	add_kernel(&in, "k", 250000);
	CHECK(near(assay_goblin_compute(&in).gpu_util_pct, 25));
	add_kernel(&in, "k", 2500000);
	CHECK(assay_goblin_compute(&in).gpu_util_pct == 100);
	free_input(&in);
	return 0;
}
