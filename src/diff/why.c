/* What explains most of a change: the code that ran an operator was exchanged for other code, a
 * figure moved, and a field of the environment that is known to matter there differs. */
#include "diff/stages.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fmt.h"
#include "base/test.h"
#include "envs/diff.h"

/* Whose code a kernel is, by words in its name (any case); the first row that fits wins. Among the
 * implementations of a family a lower grade is known to be slower. */
static const struct maker {
	assay_family family;
	const char *word, *name;
	int grade;
} makers[] = {
	{ASSAY_FAMILY_ATTENTION, "fmha_cutlass", "memory-efficient", 2},
	{ASSAY_FAMILY_ATTENTION, "cudnn", "cuDNN", 3},
	{ASSAY_FAMILY_ATTENTION, "flash", "flash", 3},
	{ASSAY_FAMILY_ATTENTION, "aiter", "AITER", 3},
	{ASSAY_FAMILY_ATTENTION, "fmha", "flash (CK)", 3},
	{ASSAY_FAMILY_ATTENTION, "attn_fwd", "flash (AOTriton)", 3},
	{ASSAY_FAMILY_ATTENTION, "attn_bwd", "flash (AOTriton)", 3},
	{ASSAY_FAMILY_ATTENTION, "bwd_kernel_d", "flash (AOTriton)", 3},
	{ASSAY_FAMILY_ATTENTION, "paged", "paged", 3},
	{ASSAY_FAMILY_GEMM, "naive", "naive", 0},
	{ASSAY_FAMILY_GEMM, "fallback", "a generic fallback", 0},
	{ASSAY_FAMILY_GEMM, "userargs", "hipBLASLt", 2}, /* its argument block is in the name */
	{ASSAY_FAMILY_GEMM, "cijk_", "rocBLAS", 2},
	{ASSAY_FAMILY_GEMM, "nvjet", "cuBLAS", 2},
	{ASSAY_FAMILY_GEMM, "xmma", "cuBLAS", 2},
	{ASSAY_FAMILY_GEMM, "triton", "Triton", 2},
	{ASSAY_FAMILY_GEMM, "ck::", "CK", 2},
	{ASSAY_FAMILY_GEMM, "cutlass", "CUTLASS", 2},
	{ASSAY_FAMILY_GEMM, "sgemm", "cuBLAS without tensor cores", 1},
	{ASSAY_FAMILY_CONV, "naive_conv", "naive", 0},
	{ASSAY_FAMILY_CONV, "im2", "GEMM over unfolded input", 1},
	{ASSAY_FAMILY_CONV, "cudnn", "cuDNN", 2},
	{ASSAY_FAMILY_CONV, "xmma", "cuDNN", 2},
	{ASSAY_FAMILY_CONV, "miopen", "MIOpen", 2},
	{ASSAY_FAMILY_CONV, "winograd", "Winograd", 2},
	{ASSAY_FAMILY_CONV, "igemm", "implicit GEMM", 2},
	{ASSAY_FAMILY_CONV, "ck::", "CK", 2},
	{ASSAY_FAMILY_NORM, "triton", "Triton", 2},
	{ASSAY_FAMILY_NORM, "cudnn", "cuDNN", 2},
	{ASSAY_FAMILY_NORM, "miopen", "MIOpen", 2},
	{ASSAY_FAMILY_NORM, "at::native", "PyTorch", 1},
	{ASSAY_FAMILY_COLLECTIVE, "msccl", "MSCCL", 2},
	{ASSAY_FAMILY_COLLECTIVE, "multimem", "NVLink SHARP", 2},
	{ASSAY_FAMILY_COLLECTIVE, "cross_device_reduce", "one-shot", 2},
	{ASSAY_FAMILY_COLLECTIVE, "rccl", "RCCL", 1},
	{ASSAY_FAMILY_COLLECTIVE, "nccl", "NCCL", 1},
};

static const struct maker no_attention = {ASSAY_FAMILY_ATTENTION, "", "math", 0};

/* Words in paths of the environment that bear on a family, most telling first. */
static const struct {
	assay_family family;
	const char *word;
} bearing[] = {
	{ASSAY_FAMILY_ATTENTION, "flash_attn"},
	{ASSAY_FAMILY_ATTENTION, "flash-attn"},
	{ASSAY_FAMILY_ATTENTION, "aotriton"},
	{ASSAY_FAMILY_ATTENTION, "fa_prefer_ck"},
	{ASSAY_FAMILY_ATTENTION, "sdpa"},
	{ASSAY_FAMILY_ATTENTION, "aiter"},
	{ASSAY_FAMILY_ATTENTION, "composable_kernel"},
	{ASSAY_FAMILY_ATTENTION, "cudnn"},
	{ASSAY_FAMILY_ATTENTION, "hipblaslt"},
	{ASSAY_FAMILY_ATTENTION, "cublas"},
	{ASSAY_FAMILY_ATTENTION, "xformers"},
	{ASSAY_FAMILY_ATTENTION, "pytorch"},
	{ASSAY_FAMILY_GEMM, "hipblaslt"},
	{ASSAY_FAMILY_GEMM, "rocblas"},
	{ASSAY_FAMILY_GEMM, "cublas"},
	{ASSAY_FAMILY_GEMM, "blas"},
	{ASSAY_FAMILY_GEMM, "tf32"},
	{ASSAY_FAMILY_GEMM, "tensile"},
	{ASSAY_FAMILY_GEMM, "composable_kernel"},
	{ASSAY_FAMILY_GEMM, "triton"},
	{ASSAY_FAMILY_GEMM, "pytorch"},
	{ASSAY_FAMILY_CONV, "miopen"},
	{ASSAY_FAMILY_CONV, "cudnn"},
	{ASSAY_FAMILY_CONV, "composable_kernel"},
	{ASSAY_FAMILY_CONV, "pytorch"},
	{ASSAY_FAMILY_NORM, "apex"},
	{ASSAY_FAMILY_NORM, "transformer_engine"},
	{ASSAY_FAMILY_NORM, "triton"},
	{ASSAY_FAMILY_NORM, "miopen"},
	{ASSAY_FAMILY_NORM, "pytorch"},
	{ASSAY_FAMILY_ELEMENTWISE, "triton"},
	{ASSAY_FAMILY_ELEMENTWISE, "inductor"},
	{ASSAY_FAMILY_ELEMENTWISE, "pytorch"},
	{ASSAY_FAMILY_REDUCTION, "triton"},
	{ASSAY_FAMILY_REDUCTION, "inductor"},
	{ASSAY_FAMILY_REDUCTION, "pytorch"},
	{ASSAY_FAMILY_OPTIMIZER, "apex"},
	{ASSAY_FAMILY_OPTIMIZER, "pytorch"},
	{ASSAY_FAMILY_EMBEDDING, "fbgemm"},
	{ASSAY_FAMILY_EMBEDDING, "torchrec"},
	{ASSAY_FAMILY_EMBEDDING, "pytorch"},
	{ASSAY_FAMILY_COLLECTIVE, "rccl"},
	{ASSAY_FAMILY_COLLECTIVE, "nccl"},
	{ASSAY_FAMILY_COLLECTIVE, "nics"},
	{ASSAY_FAMILY_COPY, "driver"},
	{ASSAY_FAMILY_COPY, "kmd_version"},
};

/* The same for time no kernel takes: waiting and launching. */
static const char *const host_bearing[] = {
	"launch_blocking", "max_hw_queues", "max_connections", "driver",         "kmd_version",
	"governor",        "hip.version",   "pytorch_version", "python_version",
};

static const struct maker *maker_of(const assay_delta *kernel)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(makers); i++)
		if (makers[i].family == kernel->family &&
		    assay_str_find_nocase(assay_str_of(kernel->name), makers[i].word) >= 0)
			return &makers[i];
	return NULL;
}

/* Only one side ran it. */
static bool is_only_on(const assay_delta *k, int side)
{
	return k->counts[side] > 0 && !k->counts[!side];
}

/* Who made most of what only one side ran; by name, as one maker has many words. Kernels both ran
 * tell no exchange, whoever took longer. */
static const struct maker *main_maker(const assay_diff *d, assay_family family, int side)
{
	const struct maker *best = NULL;
	double most = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(makers); i++) {
		double sum = 0;
		for (size_t k = 0; makers[i].family == family && k < d->kernels.n; k++) {
			const assay_delta *x = &d->kernels.p[k];
			const struct maker *m = is_only_on(x, side) && x->real ? maker_of(x) : NULL;
			if (m && m->family == family && !strcmp(m->name, makers[i].name))
				sum += side ? x->b : x->a;
		}
		if (sum > most) {
			most = sum;
			best = &makers[i];
		}
	}
	return best;
}

static bool is_softmax(const assay_delta *k)
{
	return assay_str_find_nocase(assay_str_of(k->name), "softmax") >= 0;
}

/* Attention without a kernel of its own: the operator says so, or softmax took its place. */
static bool ran_math(const assay_diff *d, const assay_run *run, int side)
{
	if (assay_pool_find(&run->part.strings,
			    ASSAY_S("aten::_scaled_dot_product_attention_math")))
		return true;
	for (size_t i = 0; i < d->kernels.n; i++)
		if (is_softmax(&d->kernels.p[i]) && is_only_on(&d->kernels.p[i], side))
			return true;
	return false;
}

static bool is_math(const char *maker)
{
	return maker == no_attention.name;
}

/* Kernels of the family, and, where attention is made of other families' kernels, those of them
 * that only one side has. */
static bool is_of_switch(const assay_delta *k, int family, bool math)
{
	bool part_of_math =
		math && (k->family == ASSAY_FAMILY_GEMM || k->family == ASSAY_FAMILY_REDUCTION ||
			 k->family == ASSAY_FAMILY_ELEMENTWISE);
	return k->family == family || (part_of_math && (!k->counts[0] || !k->counts[1]));
}

static double switch_cost(const assay_diff *d, int family, bool math)
{
	double sum = 0;
	for (size_t i = 0; i < d->kernels.n; i++)
		if (is_of_switch(&d->kernels.p[i], family, math))
			sum += assay_delta_change(&d->kernels.p[i]);
	return sum;
}

static int by_cost(const void *a, const void *b)
{
	double x = fabs(((const assay_switch *)a)->change),
	       y = fabs(((const assay_switch *)b)->change);
	return ASSAY_CMP(y, x);
}

static void find_switches(assay_diff *d, const assay_run *run[2])
{
	for (int f = 0; f < ASSAY_FAMILY_COUNT; f++) {
		const struct maker *m[2];
		for (int side = 0; side < 2; side++)
			m[side] = main_maker(d, (assay_family)f, side);
		bool math = false;
		for (int side = 0; side < 2 && f == ASSAY_FAMILY_ATTENTION; side++)
			if (!m[side] && m[!side] && ran_math(d, run[side], side)) {
				m[side] = &no_attention;
				math = true;
			}
		if (!m[0] || !m[1] || !strcmp(m[0]->name, m[1]->name))
			continue;
		*assay_push(&d->switches) = (assay_switch){.family = (uint8_t)f,
							   .a = m[0]->name,
							   .b = m[1]->name,
							   .change = switch_cost(d, f, math),
							   .fallback = m[1]->grade < m[0]->grade};
	}
	if (d->switches.n)
		qsort(d->switches.p, d->switches.n, sizeof *d->switches.p, by_cost);
}

/* "hipblaslt.package_version" is hipblaslt to people. */
static const char *field_name(assay_arena *a, const char *path)
{
	static const char *const tails[] = {".package_version", ".bundled_version", ".version",
					    "_version",         ".lib_hash",        ".builds"};
	static const char *const heads[] = {"assay.env_vars.", "env_vars.", "assay.libraries.",
					    "assay.python.packages.", "assay."};
	assay_str s = assay_str_of(path);
	for (size_t i = 0; i < ASSAY_COUNT_OF(heads); i++)
		if (assay_str_starts(s, heads[i])) {
			s = assay_str_of(s.p + strlen(heads[i]));
			break;
		}
	for (size_t i = 0; i < ASSAY_COUNT_OF(tails); i++)
		if (assay_str_ends(s, tails[i])) {
			s.n -= strlen(tails[i]);
			break;
		}
	return assay_dup(a, s);
}

/* The difference that names this word: a version before a digest, a cause before what follows
 * from it. */
static const assay_env_change *change_with(const assay_diff *d, const char *word)
{
	const assay_env_change *best = NULL;
	int most = 0;
	for (size_t i = 0; i < d->env.n; i++) {
		const assay_env_change *e = &d->env.p[i];
		if (assay_str_find_nocase(assay_str_of(e->path), word) < 0)
			continue;
		int grade = 1 + 2 * !e->cause +
			    4 * (assay_str_find(assay_str_of(e->path), "version") >= 0) +
			    (!strcmp(e->kind, "newer") || !strcmp(e->kind, "older"));
		if (grade > most) {
			most = grade;
			best = e;
		}
	}
	return best;
}

static const char *library_text(assay_diff *d, const assay_env_change *e)
{
	return e ? assay_printf(&d->arena, "%s %s -> %s", field_name(&d->arena, e->path), e->a,
				e->b)
		 : NULL;
}

static const char *library_of_family(assay_diff *d, int family)
{
	const assay_env_change *found = NULL;
	for (size_t i = 0; !found && i < ASSAY_COUNT_OF(bearing); i++)
		if (bearing[i].family == (assay_family)family)
			found = change_with(d, bearing[i].word);
	return library_text(d, found);
}

static const char *library_of_host(assay_diff *d)
{
	const assay_env_change *found = NULL;
	for (size_t i = 0; !found && i < ASSAY_COUNT_OF(host_bearing); i++)
		found = change_with(d, host_bearing[i]);
	return library_text(d, found);
}

enum reason_kind { BY_PART, BY_CAUSE, BY_FAMILY, BY_KERNEL };

struct reason {
	const assay_delta *row;
	enum reason_kind kind;
};

static void consider(struct reason *best, const assay_delta *rows, size_t n, double sign,
		     enum reason_kind kind)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].real && assay_delta_change(&rows[i]) * sign > 0 &&
		    (!best->row ||
		     fabs(assay_delta_change(&rows[i])) > fabs(assay_delta_change(best->row))))
			*best = (struct reason){&rows[i], kind};
}

/* The kernel that makes up a family's change, when one does and no other takes its place. */
static const assay_delta *kernel_behind(const assay_diff *d, const assay_delta *family)
{
	const assay_delta *first = NULL; /* largest change: kernels are sorted by it */
	double moved = 0;
	for (size_t i = 0; i < d->kernels.n; i++) {
		const assay_delta *k = &d->kernels.p[i];
		if (k->family != family->family)
			continue;
		first = first ? first : k;
		moved += fabs(assay_delta_change(k));
	}
	return first && fabs(assay_delta_change(first)) > 0.6 * moved ? first : NULL;
}

/* The part, cause, family or kernel that moved most in the direction of the step. Compute is told
 * by its kernels, idle by its causes. */
static struct reason main_reason(const assay_diff *d)
{
	struct reason best = {NULL, BY_PART};
	double sign = assay_delta_change(&d->step) < 0 ? -1 : 1;
	consider(&best, d->causes.p, d->causes.n, sign, BY_CAUSE);
	if (d->parts.n == 4)
		consider(&best, d->parts.p + 1, 2, sign, BY_PART);
	consider(&best, d->families.p, d->families.n, sign, BY_FAMILY);
	const assay_delta *k = best.kind == BY_FAMILY ? kernel_behind(d, best.row) : NULL;
	return k ? (struct reason){k, BY_KERNEL} : best;
}

static const char *signed_time(assay_arena *a, double ns)
{
	char t[ASSAY_FMT];
	return assay_printf(a, "%c%s", ns < 0 ? '-' : '+', assay_fmt_time(t, (int64_t)fabs(ns)));
}

static const char *switch_text(assay_diff *d, const assay_switch *s)
{
	return assay_printf(&d->arena, "%s %s from %s to %s (%s)", assay_family_name[s->family],
			    s->fallback ? "fell back" : "went", s->a, s->b,
			    signed_time(&d->arena, s->change));
}

/* Waits say what the time does not: a call more in every step. */
static const assay_delta *counted_wait(const assay_diff *d)
{
	const assay_delta *best = NULL;
	for (size_t i = 0; i < d->waits.n; i++) {
		const assay_delta *w = &d->waits.p[i];
		if (w->real && (!best || fabs(w->counts[1] - w->counts[0]) >
						 fabs(best->counts[1] - best->counts[0])))
			best = w;
	}
	return best;
}

/* The exchange explains the change when it goes the same way and nothing else moved twice as much,
 * or when what moved most is one of its kernels. */
static bool explains_most(const assay_diff *d, const assay_switch *s, const struct reason *why)
{
	double step = assay_delta_change(&d->step);
	if (d->step.real && s->change * step < 0)
		return false;
	if (!why->row || fabs(s->change) * 2 >= fabs(assay_delta_change(why->row)))
		return true;
	return why->kind >= BY_FAMILY &&
	       is_of_switch(why->row, s->family, is_math(s->a) || is_math(s->b));
}

/* What the environment says to it: the difference that bears on it, else how many there are. */
static const char *env_text(assay_diff *d, const char *library)
{
	if (library)
		return assay_printf(&d->arena, "; %s", library);
	return d->env.n ? assay_printf(&d->arena, "; %zu field%s of the environment differ%s",
				       d->env.n, d->env.n == 1 ? "" : "s", d->env.n == 1 ? "s" : "")
			: "";
}

/* What moved, as a sentence calls it: tables have its name. */
static const char *in_words(assay_diff *d, const struct reason *why)
{
	if (why->kind == BY_PART)
		return why->row == &d->parts.p[1] ? "exposed communication" : "exposed copies";
	if (why->kind == BY_CAUSE)
		return assay_why_rows[why->row - d->causes.p].path;
	return assay_fmt_kernel(&d->arena, assay_str_of(why->row->name), 60);
}

static const char *reason_text(assay_diff *d)
{
	struct reason why = main_reason(d);
	const assay_switch *s = d->switches.n ? d->switches.p : NULL;
	const assay_delta *wait = counted_wait(d);
	if (s && explains_most(d, s, &why))
		return assay_printf(&d->arena, ": %s%s", switch_text(d, s),
				    env_text(d, s->library));
	const char *calls = wait ? assay_printf(&d->arena, "%s %.4g -> %.4g per step", wait->name,
						wait->counts[0], wait->counts[1])
				 : "";
	if (!why.row)
		return wait && !d->step.real ? assay_printf(&d->arena, ": %s", calls) : "";
	const char *library = why.kind >= BY_FAMILY ? library_of_family(d, why.row->family)
			      : why.kind == BY_CAUSE || why.row == &d->parts.p[2]
				      ? library_of_host(d)
				      : library_of_family(d, ASSAY_FAMILY_COLLECTIVE);
	bool told = why.kind == BY_CAUSE && wait; /* idle because of a call that came or went */
	return assay_printf(&d->arena, ": mostly %s%s (%s)%s%s%s", in_words(d, &why),
			    why.kind == BY_FAMILY ? " kernels" : "",
			    signed_time(&d->arena, assay_delta_change(why.row)), told ? "; " : "",
			    told ? calls : "", env_text(d, library));
}

/* Facts of the inputs stand in where there are no snapshots of the environment. */
static const char *facts_text(assay_diff *d)
{
	const char *text = "";
	for (size_t i = 0; d->env_missing && i < d->facts.n; i++)
		if (!d->switches.n || strcmp(d->facts.p[i].name, "attention"))
			text = assay_printf(&d->arena, "%s; %s %s -> %s", text, d->facts.p[i].name,
					    d->facts.p[i].a, d->facts.p[i].b);
	return text;
}

static void write_sentence(assay_diff *d)
{
	char a[ASSAY_FMT], b[ASSAY_FMT], noise[ASSAY_FMT];
	double change = assay_delta_change(&d->step);
	assay_fmt_time(a, (int64_t)d->step.a);
	assay_fmt_time(b, (int64_t)d->step.b);
	if (d->step.real)
		d->sentence = assay_printf(&d->arena, "%s/step (%s -> %s%s)%s%s",
					   signed_time(&d->arena, change), a, b,
					   d->step.a > 0 ? assay_printf(&d->arena, ", %+.1f%%",
									100 * change / d->step.a)
							 : "",
					   reason_text(d), facts_text(d));
	else if (!d->same)
		d->sentence = assay_printf(
			&d->arena,
			"step time is the same within noise (%s, %s), but what it is made of differs%s%s",
			a, b, reason_text(d), facts_text(d));
	else if (d->step.noise < 0)
		d->sentence = assay_printf(
			&d->arena,
			"no difference that matters (%s, %s); one step says nothing about noise", a,
			b);
	else
		d->sentence =
			assay_printf(&d->arena, "no difference beyond noise (%s, %s; noise %s)", a,
				     b, assay_fmt_time(noise, (int64_t)d->step.noise));
	if (d->same && d->env.n)
		d->sentence = assay_printf(
			&d->arena, "%s, though %zu field%s of the environment differ%s",
			d->sentence, d->env.n, d->env.n == 1 ? "" : "s", d->env.n == 1 ? "s" : "");
}

void assay_diff_explain(assay_diff *d, const assay_run *run[2])
{
	find_switches(d, run);
	for (size_t i = 0; i < d->switches.n; i++)
		d->switches.p[i].library = library_of_family(d, d->switches.p[i].family);
	write_sentence(d);
	for (int side = 0; side < 2; side++)
		if (!run[side]->part.t.device_time.n && run[!side]->part.t.device_time.n)
			d->sentence =
				assay_printf(&d->arena, "%s; the run %s has no GPU work in it",
					     d->sentence, side ? "after" : "before");
}

static const char *copy(assay_diff *d, const char *text)
{
	return text ? assay_dup(&d->arena, assay_str_of(text)) : NULL;
}

static void copy_rows(assay_diff *d, assay_env_set *set, const assay_env_result *r)
{
	for (size_t i = 0; i < r->rows.n; i++) {
		const assay_env_row *row = &r->rows.p[i];
		if (row->kind == ASSAY_ENV_UNKNOWN)
			continue;
		*assay_push(&d->env) = (assay_env_change){
			.path = copy(d, row->path),
			.group = assay_env_group_name[row->group],
			.kind = assay_env_kind_name[row->kind],
			.why = row->why,
			.a = copy(d, assay_env_shown(set, row, row->a)),
			.b = copy(d, assay_env_shown(set, row, row->b)),
			.cause = copy(d, row->cause),
		};
	}
	for (int g = 0; g < ASSAY_ENV_GROUPS; g++)
		d->env_same += r->same[g];
	d->env_unknown = r->unknown;
}

/* The snapshot that was read with a run: of several, as jobs of many nodes have them, the one that
 * lies above the others. */
static const char *snapshot_of(const assay_run *run)
{
	const assay_source_table *s = &run->part.t.source;
	const char *best = NULL;
	size_t least = SIZE_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		const char *path = assay_z(run, s->path[i]);
		if (!(s->traits[i] & ASSAY_TRAIT_SNAPSHOT) || strlen(path) > least)
			continue;
		best = strlen(path) < least ? path : NULL;
		least = strlen(path);
	}
	return best;
}

void assay_diff_env(assay_diff *d, const assay_run *const run[2], const char *const given[2])
{
	const char *a = given && given[0] ? given[0] : snapshot_of(run[0]);
	const char *b = given && given[1] ? given[1] : snapshot_of(run[1]);
	assay_env_set set = {0};
	assay_env_result r = {0};
	assay_err err = {0};
	if (!a || !b)
		d->env_missing = !a && !b ? "neither run has an env.json"
				 : !a     ? "the run before has no env.json"
					  : "the run after has no env.json";
	else if (!assay_env_set_add(&set, a, &err) || !assay_env_set_add(&set, b, &err))
		d->env_missing = copy(d, err.text);
	else {
		assay_env_compare(&set, -1, &r);
		copy_rows(d, &set, &r);
	}
	assay_env_result_free(&r);
	assay_env_set_free(&set);
}

static void add_kernel(assay_diff *d, const char *name, assay_family family, double a, double b)
{
	*assay_push(&d->kernels) = (assay_delta){.name = name,
						 .a = a,
						 .b = b,
						 .counts = {a > 0, b > 0},
						 .family = (uint8_t)family,
						 .real = true};
}

TEST(attention_that_became_softmax_and_products_fell_back_to_math)
{
	assay_diff d = {0};
	assay_run *run = assay_run_new();
	add_kernel(&d, "void pytorch_flash::flash_fwd_kernel<>", ASSAY_FAMILY_ATTENTION, 100, 0);
	add_kernel(&d, "softmax_warp_forward", ASSAY_FAMILY_REDUCTION, 0, 150);
	add_kernel(&d, "Cijk_Alik_Bljk_HHS_BH_UserArgs_MT", ASSAY_FAMILY_GEMM, 400, 400);
	find_switches(&d, (const assay_run *[]){run, run});
	CHECK_EQ(d.switches.n, 1);
	CHECK(!strcmp(d.switches.p[0].a, "flash") && !strcmp(d.switches.p[0].b, "math"));
	CHECK(d.switches.p[0].fallback && d.switches.p[0].change == 50);
	assay_vec_free(&d.switches);
	assay_vec_free(&d.kernels);
	assay_run_free(run);
	return 0;
}

TEST(products_of_another_library_are_a_switch_and_no_fallback)
{
	assay_diff d = {0};
	assay_run *run = assay_run_new();
	add_kernel(&d, "Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT", ASSAY_FAMILY_GEMM, 90, 0);
	add_kernel(&d, "Cijk_Ailk_Bljk_BBS_BH_MT", ASSAY_FAMILY_GEMM, 0, 120);
	find_switches(&d, (const assay_run *[]){run, run});
	CHECK(d.switches.n == 1 && !d.switches.p[0].fallback);
	CHECK(!strcmp(d.switches.p[0].a, "hipBLASLt") && !strcmp(d.switches.p[0].b, "rocBLAS"));
	assay_vec_free(&d.switches);
	assay_vec_free(&d.kernels);
	assay_run_free(run);
	return 0;
}

TEST(the_difference_that_bears_on_a_family_is_named)
{
	assay_diff d = {0};
	*assay_push(&d.env) = (assay_env_change){
		.path = "host.kernel_release", .kind = "older", .a = "6.8", .b = "6.5"};
	*assay_push(&d.env) = (assay_env_change){
		.path = "hipblaslt.lib_hash", .kind = "different", .a = "x", .b = "y"};
	*assay_push(&d.env) = (assay_env_change){
		.path = "hipblaslt.package_version", .kind = "older", .a = "0.12", .b = "0.10"};
	CHECK(!strcmp(library_of_family(&d, ASSAY_FAMILY_ATTENTION), "hipblaslt 0.12 -> 0.10"));
	CHECK(!library_of_family(&d, ASSAY_FAMILY_COLLECTIVE));
	assay_vec_free(&d.env);
	assay_arena_free(&d.arena);
	return 0;
}
