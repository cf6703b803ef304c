/* FlashAttention 2: head size, tiles and mask are template arguments, and the grid is [tiles of a
 * sequence, batch, heads]. Keys are taken to be as many as queries: nothing tells their number. */
#include "work/kernel_call.h"

#include "base/chars.h"
#include "base/test.h"

enum { HEAD_SIZE, TILE_OF_QUERIES, TILE_OF_KEYS, NUMBERS };
enum { CAUSAL = 1, WINDOW = 2, MOST_FLAGS = 8 };

static const struct flash {
	const char *kernel;
	int tile; /* which number the grid counts */
	uint8_t flags,
		even_at; /* how many flags there are, and the first that says tiles are full */
} versions[] = {
	/* dropout, causal, window, slopes, lengths are even, head size is even, capped, keeps */
	{"flash_fwd_kernel", TILE_OF_QUERIES, 8, 4},
	{"flash_fwd_kernel", TILE_OF_QUERIES, 7, 4},
	{"flash_fwd_kernel", TILE_OF_QUERIES, 6, 3},
	{"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", TILE_OF_KEYS, 7, 4},
	{"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", TILE_OF_KEYS, 6, 4},
	{"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", TILE_OF_KEYS, 5, 3},
};

/* What stands in the brackets behind a word; empty when there are none. */
static assay_str in_brackets(assay_str text, const char *word)
{
	ptrdiff_t at = assay_str_find(text, word);
	size_t from = (size_t)(at < 0 ? 0 : at) + strlen(word), depth = 0;
	if (at < 0 || from >= text.n || text.p[from] != '<')
		return (assay_str){0};
	for (size_t i = from; i < text.n; i++) {
		depth += text.p[i] == '<';
		depth -= text.p[i] == '>';
		if (!depth)
			return (assay_str){text.p + from + 1, i - from - 1};
	}
	return (assay_str){0};
}

/* The next argument; Nsight writes "(int)128" and "(bool)1". */
static assay_str next_argument(assay_str *rest)
{
	size_t depth = 0, i = 0;
	if (!rest->n)
		return *rest;
	for (; i < rest->n && (depth || rest->p[i] != ','); i++) {
		depth += rest->p[i] == '<';
		depth -= rest->p[i] == '>';
	}
	assay_str one = assay_str_trim((assay_str){rest->p, i});
	size_t skip = i < rest->n ? i + 1 : i;
	*rest = (assay_str){rest->p + skip, rest->n - skip};
	ptrdiff_t cast = one.n && one.p[0] == '(' ? assay_str_find(one, ")") : -1;
	return cast < 0 ? one : (assay_str){one.p + cast + 1, one.n - (size_t)cast - 1};
}

static bool numbers_of(assay_str traits, int64_t out[NUMBERS])
{
	for (int i = 0; i < NUMBERS; i++)
		if (!assay_str_i64(next_argument(&traits), &out[i]) || out[i] <= 0 || out[i] > 4096)
			return false;
	return true;
}

static size_t flags_of(assay_str arguments, bool out[MOST_FLAGS])
{
	size_t n = 0;
	while (arguments.n) {
		assay_str one = next_argument(&arguments);
		bool yes = assay_str_is(one, "true") || assay_str_is(one, "1");
		if (n == MOST_FLAGS ||
		    (!yes && !assay_str_is(one, "false") && !assay_str_is(one, "0")))
			return 0;
		out[n++] = yes;
	}
	return n;
}

/* Sequences that fill their tiles are as long as the grid says. Of others a lone one is known but
 * for its last tile; of several, some may be shorter. */
static double length_of(const uint32_t grid[3], int64_t tile, bool even)
{
	enum { TILES_ENOUGH = 8 };
	if (even)
		return (double)grid[0] * (double)tile;
	return grid[1] == 1 && grid[0] >= TILES_ENOUGH ? ((double)grid[0] - 0.5) * (double)tile : 0;
}

static bool call_of(const struct flash *v, assay_str name, const uint32_t grid[3], assay_arena *a,
		    assay_kernel_call *out)
{
	assay_str arguments = in_brackets(name, v->kernel), rest = arguments;
	assay_str traits = in_brackets(next_argument(&rest), "kernel_traits");
	int64_t number[NUMBERS];
	bool flag[MOST_FLAGS];
	const char *type = assay_str_find(traits, "bfloat16_t") >= 0 ? "c10::BFloat16"
			   : assay_str_find(traits, "half_t") >= 0   ? "c10::Half"
								     : NULL;
	if (!type || !numbers_of(traits, number) || flags_of(rest, flag) != v->flags ||
	    flag[WINDOW] || !flag[v->even_at + 1])
		return false;
	double length = length_of(grid, number[v->tile], flag[v->even_at]);
	if (length < 1 || !grid[1] || !grid[2])
		return false;
	const char *one = assay_printf(a, "[%u, %.0f, %u, %lld]", grid[1], length, grid[2],
				       (long long)number[HEAD_SIZE]);
	out->op = v->kernel;
	out->args = assay_printf(
		a,
		"\"Input Dims\": [%s, %s, %s, []], \"Input type\": [\"%s\", \"%s\", \"%s\", \"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"%s\"]",
		one, one, one, type, type, type, flag[CAUSAL] ? "True" : "False");
	return true;
}

const char *assay_kernel_tells(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(versions); i++)
		if (in_brackets(name, versions[i].kernel).n)
			return versions[i].kernel;
	return NULL;
}

bool assay_kernel_call_of(assay_str name, const uint32_t grid[3], assay_arena *a,
			  assay_kernel_call *out)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(versions); i++)
		if (call_of(&versions[i], name, grid, a, out))
			return true;
	return false;
}

#define TRAITS                                                                                     \
	"pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >"
#define BACK "Flash_bwd_kernel_traits<64, 64, 128, 8, 4, 2, 4, false, false, cutlass::half_t>"

TEST(flash_kernels_tell_their_shapes)
{
	static const struct {
		const char *name;
		uint32_t grid[3];
		const char *shape; /* NULL: nothing is told */
		bool causal;
	} cases[] = {
		{"void pytorch_flash::flash_fwd_kernel<" TRAITS
		 ", false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
		 {4, 16, 12},
		 "[16, 512, 12, 64]",
		 true},
		/* older, without capped scores */
		{"flash_fwd_kernel<" TRAITS ", false, false, false, false, true, true, false>",
		 {4, 16, 12},
		 "[16, 512, 12, 64]",
		 false},
		/* one long sequence that does not fill its last tile, as Nsight spells it */
		{"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t, Flash_kernel_traits<(int)128, (int)128, (int)64, (int)4, cutlass::bfloat16_t>>, (bool)0, (bool)0, (bool)0, (bool)0, (bool)0, (bool)1, (bool)0, (bool)0>(flash::Flash_fwd_params)",
		 {244, 1, 6},
		 "[1, 31168, 6, 128]",
		 false},
		{"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<" BACK
		 ", false, true, false, false, true, true, false>",
		 {4, 2, 8},
		 "[2, 512, 8, 64]",
		 true},
		/* several sequences that may be shorter; a window; padded heads; keys in a cache */
		{"flash_fwd_kernel<" TRAITS
		 ", false, true, false, false, false, true, false, false>",
		 {4, 16, 12},
		 NULL,
		 false},
		{"flash_fwd_kernel<" TRAITS ", false, true, true, false, true, true, false, false>",
		 {4, 16, 12},
		 NULL,
		 false},
		{"flash_fwd_kernel<" TRAITS
		 ", false, true, false, false, true, false, false, false>",
		 {4, 16, 12},
		 NULL,
		 false},
		{"flash_fwd_splitkv_kernel<" TRAITS
		 ", false, true, false, false, true, true, false, false>",
		 {4, 16, 12},
		 NULL,
		 false},
		{"flash_fwd_kernel<", {4, 16, 12}, NULL, false},
		{"flash_fwd_kernel<a<1,2,3", {4, 16, 12}, NULL, false},
		{"flash_fwd_kernel<>>>>,<<", {4, 16, 12}, NULL, false},
	};
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_kernel_call call = {0};
		bool told =
			assay_kernel_call_of(assay_str_of(cases[i].name), cases[i].grid, &a, &call);
		CHECK_EQ(told, cases[i].shape != NULL);
		CHECK(!told || strstr(call.args, cases[i].shape));
		CHECK(!told || (strstr(call.args, "True") != NULL) == cases[i].causal);
	}
	assay_arena_free(&a);
	return 0;
}
