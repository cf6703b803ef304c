/* Kineto writes an operator's arguments as four lists of equal length: "Input Dims", "Input type",
 * "Input Strides" and "Concrete Inputs". Which of dims [] is a number, a 0-d tensor or nothing, the
 * type tells. */
#include "analyze/op_args.h"

#include <assert.h>

#include "base/input.h"
#include "base/json.h"
#include "base/test.h"

static const struct {
	int number;
	double bytes;
	assay_dtype_kind kind;
	assay_math math;
	const char *name, *old;
} dtypes[ASSAY_DTYPE_COUNT] = {
#define DTYPE(id, number, bits, kind, math, name, old)                                             \
	[ASSAY_DTYPE_##                                                                            \
		id] = {number, (bits) / 8.0, ASSAY_DTYPE_IS_##kind, ASSAY_MATH_##math, name, old},
#include "analyze/dtype.def"
#undef DTYPE
};

double assay_dtype_bytes(assay_dtype type)
{
	return dtypes[type].bytes;
}

assay_math assay_dtype_math(assay_dtype type)
{
	return dtypes[type].math;
}

assay_dtype_kind assay_dtype_kind_of(assay_dtype type)
{
	return dtypes[type].kind;
}

/* Kinds win in their order, wider types over narrower ones; fp16 with bf16 makes fp32. */
assay_dtype assay_dtype_promote(assay_dtype a, assay_dtype b)
{
	if ((a == ASSAY_DTYPE_HALF && b == ASSAY_DTYPE_BFLOAT16) ||
	    (a == ASSAY_DTYPE_BFLOAT16 && b == ASSAY_DTYPE_HALF))
		return ASSAY_DTYPE_FLOAT;
	if (dtypes[a].kind != dtypes[b].kind)
		return dtypes[a].kind > dtypes[b].kind ? a : b;
	return dtypes[a].bytes >= dtypes[b].bytes ? a : b;
}

assay_dtype assay_dtype_numbered(int64_t number)
{
	for (int i = 1; i < ASSAY_DTYPE_COUNT; i++)
		if (dtypes[i].number == number)
			return (assay_dtype)i;
	return ASSAY_DTYPE_NONE;
}

static assay_dtype dtype_named(assay_str name)
{
	for (int i = 1; i < ASSAY_DTYPE_COUNT; i++)
		if (assay_str_is(name, dtypes[i].name) || assay_str_is(name, dtypes[i].old))
			return (assay_dtype)i;
	return ASSAY_DTYPE_NONE;
}

typedef assay_vec(assay_str) texts;

/* The elements of a JSON list as text; strings without their quotes. */
static void split_list(assay_arena *a, assay_str list, texts *out)
{
	out->n = 0;
	if (!list.n)
		return;
	char *padded = assay_alloc(a, list.n + ASSAY_PAD);
	memcpy(padded, list.p, list.n);
	assay_json j = assay_json_on(padded, list.n);
	assay_json_enter(&j, '[');
	for (assay_str v; assay_json_element(&j) && assay_json_skip(&j, &v);)
		*assay_push(out) = v.n >= 2 && v.p[0] == '"' ? (assay_str){v.p + 1, v.n - 2} : v;
}

/* "[8, 16]" into out, as many as there is room for; the number of elements, or -1 when one of them
 * is no number or negative. */
static ptrdiff_t read_numbers(assay_str list, int64_t *out, size_t max)
{
	size_t n = 0;
	list = assay_str_trim(list);
	if (list.n < 2 || list.p[0] != '[' || list.p[list.n - 1] != ']')
		return -1;
	list = (assay_str){list.p + 1, list.n - 2};
	while (assay_str_trim(list).n) {
		int64_t v;
		if (!assay_str_i64(assay_str_trim(assay_str_cut(&list, ',')), &v))
			return -1;
		if (n < max)
			out[n] = v;
		n++;
	}
	return (ptrdiff_t)n;
}

static const int64_t *numbers_of(assay_arena *a, assay_str list, uint32_t *n)
{
	ptrdiff_t count = read_numbers(list, NULL, 0);
	if (count < 0)
		return NULL;
	int64_t *v = assay_alloc(a, (size_t)(count ? count : 1) * sizeof *v);
	read_numbers(list, v, (size_t)count);
	*n = (uint32_t)count;
	return v;
}

static bool set_tensor(assay_arena *a, assay_tensor *t, assay_str dims, assay_str strides,
		       assay_dtype type)
{
	uint32_t rank;
	t->type = type;
	t->dim = numbers_of(a, dims, &t->rank);
	for (uint32_t i = 0; t->dim && i < t->rank; i++)
		if (t->dim[i] < 0)
			return false;
	const int64_t *stride = strides.n ? numbers_of(a, strides, &rank) : NULL;
	t->stride = stride && rank == t->rank ? stride : NULL;
	return t->dim != NULL;
}

static void set_list(assay_arena *a, assay_arg *arg, assay_str dims)
{
	texts each = {0};
	split_list(a, dims, &each);
	assay_tensor *t = assay_alloc(a, (each.n + 1) * sizeof *t);
	arg->kind = ASSAY_ARG_TENSORS;
	arg->tensor = t;
	for (size_t i = 0; i < each.n; i++)
		arg->n += set_tensor(a, &t[arg->n], each.p[i], (assay_str){0}, ASSAY_DTYPE_NONE);
	assay_vec_free(&each);
}

static void set_arg(assay_arena *a, assay_arg *arg, assay_str dims, assay_str type,
		    assay_str strides, assay_str value)
{
	arg->value = value;
	if (assay_str_is(type, "TensorList") || assay_str_is(type, "GenericList") ||
	    assay_str_starts(dims, "[[")) {
		set_list(a, arg, dims);
		return;
	}
	if (!type.n || assay_str_is(type, "Scalar") || assay_str_is(type, "ScalarList")) {
		arg->kind = value.n ? ASSAY_ARG_VALUE : ASSAY_ARG_NONE;
		return;
	}
	assay_tensor *t = assay_alloc(a, sizeof *t);
	if (!set_tensor(a, t, dims, strides, dtype_named(type)))
		return;
	arg->kind = ASSAY_ARG_TENSOR;
	arg->tensor = t;
	arg->n = 1;
}

/* Some writers break lists over lines: equal lists get equal text. */
static assay_str one_line(assay_arena *a, assay_str json)
{
	char *out = assay_alloc(a, 2 * json.n + ASSAY_PAD);
	size_t n = 0;
	bool quoted = false;
	for (size_t i = 0; i < json.n; i++) {
		char c = json.p[i];
		if (!quoted && (c == ' ' || c == '\n' || c == '\r' || c == '\t'))
			continue;
		quoted ^= c == '"' && (!i || json.p[i - 1] != '\\');
		out[n++] = c;
		if (c == ',' && !quoted)
			out[n++] = ' ';
	}
	return (assay_str){out, n};
}

static void find_lists(assay_op_args *out, assay_arena *a, assay_str members)
{
	assay_json j = assay_json_members(a, members);
	for (assay_str key, v; assay_json_member(&j, &key) && assay_json_skip(&j, &v);) {
		if (!v.n || v.p[0] != '[')
			continue;
		if (assay_str_same(key, ASSAY_S("Input Dims")))
			out->dims = one_line(a, v);
		else if (assay_str_same(key, ASSAY_S("Input type")))
			out->types = one_line(a, v);
		else if (assay_str_same(key, ASSAY_S("Input Strides")))
			out->strides = one_line(a, v);
		else if (assay_str_same(key, ASSAY_S("Concrete Inputs")))
			out->values = one_line(a, v);
	}
}

static assay_str item(const texts *t, size_t i)
{
	return i < t->n ? t->p[i] : (assay_str){0};
}

bool assay_op_args_parse(assay_op_args *out, assay_arena *a, assay_str members)
{
	texts dims = {0}, types = {0}, strides = {0}, values = {0};
	*out = (assay_op_args){0};
	if (!members.n)
		return false;
	find_lists(out, a, members);
	split_list(a, out->dims, &dims);
	split_list(a, out->types, &types);
	split_list(a, out->strides, &strides);
	split_list(a, out->values, &values);
	out->n = dims.n < types.n ? dims.n : types.n;
	out->arg = assay_alloc(a, (out->n + 1) * sizeof *out->arg);
	for (size_t i = 0; i < out->n; i++)
		set_arg(a, &out->arg[i], dims.p[i], types.p[i], item(&strides, i),
			item(&values, i));
	assay_vec_free(&dims);
	assay_vec_free(&types);
	assay_vec_free(&strides);
	assay_vec_free(&values);
	return out->n > 0;
}

const assay_tensor *assay_arg_tensor(const assay_op_args *args, int i)
{
	bool there = i >= 0 && (size_t)i < args->n && args->arg[i].kind == ASSAY_ARG_TENSOR;
	return there ? args->arg[i].tensor : NULL;
}

static assay_str value_of(const assay_op_args *args, int i)
{
	return i >= 0 && (size_t)i < args->n ? args->arg[i].value : (assay_str){0};
}

bool assay_arg_number(const assay_op_args *args, int i, double *out)
{
	assay_str v = value_of(args, i);
	return v.n && assay_str_f64(v, out);
}

bool assay_arg_has_value(const assay_op_args *args, int i)
{
	return value_of(args, i).n > 0;
}

bool assay_arg_flag(const assay_op_args *args, int i, bool otherwise)
{
	assay_str v = value_of(args, i);
	return v.n ? assay_str_same(v, ASSAY_S("true")) || assay_str_is(v, "1") : otherwise;
}

bool assay_arg_flag_of(const assay_op_args *args, int i, int n, bool otherwise)
{
	assay_str list = value_of(args, i), each = {0};
	if (!list.n)
		return otherwise;
	for (int k = 0; k <= n; k++)
		each = assay_str_cut(&list, ',');
	return assay_str_find_nocase(each, "true") >= 0;
}

size_t assay_arg_numbers(const assay_op_args *args, int i, int64_t *out, size_t max)
{
	ptrdiff_t n = read_numbers(value_of(args, i), out, max);
	return n < 0 ? 0 : (size_t)n < max ? (size_t)n : max;
}

double assay_tensor_elements(const assay_tensor *t)
{
	double n = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		n *= (double)t->dim[i];
	return n;
}

double assay_tensor_bytes(const assay_tensor *t)
{
	double distinct = 1, reach = 1;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (!t->stride || t->stride[i] || !t->dim[i])
			distinct *= (double)t->dim[i];
		if (t->stride)
			reach += (double)(t->dim[i] ? t->dim[i] - 1 : 0) * (double)t->stride[i];
	}
	if (t->stride && reach < distinct && reach >= 0 && distinct > 0)
		distinct = reach;
	return distinct * assay_dtype_bytes(t->type);
}

TEST(arguments_are_told_apart_by_their_types)
{
	assay_arena a = {0};
	assay_op_args args;
	CHECK(assay_op_args_parse(
		&args, &a,
		ASSAY_S("\"Concrete Inputs\": [\"\", \"\", \"[1, -1]\", \"6\", \"\", \"True\"], "
			"\"Input type\": [\"c10::BFloat16\", \"\", \"ScalarList\", \"Scalar\", "
			"\"double\", \"Scalar\"], \"Input Strides\": [[0, 1], [], [], [], [], []], "
			"\"Input Dims\": [[4, 8], [], [], [], [], []]")));
	int64_t v[4];
	double number;
	CHECK(args.n == 6 && args.arg[1].kind == ASSAY_ARG_NONE);
	CHECK(args.arg[4].kind == ASSAY_ARG_TENSOR && args.arg[4].tensor->rank == 0);
	CHECK(assay_arg_numbers(&args, 2, v, 4) == 2 && v[1] == -1);
	CHECK(assay_arg_number(&args, 3, &number) && number == 6);
	CHECK(assay_arg_flag(&args, 5, false) && !assay_arg_flag(&args, 1, false));
	CHECK(assay_tensor_elements(args.arg[0].tensor) == 32);
	CHECK(assay_tensor_bytes(args.arg[0].tensor) == 16); /* expanded over its first dimension */
	CHECK(!assay_arg_tensor(&args, -1) && !assay_arg_tensor(&args, 6));
	assay_arena_free(&a);
	return 0;
}

TEST(lists_of_tensors_have_shapes_unless_they_are_long)
{
	assay_arena a = {0};
	assay_op_args args;
	CHECK(assay_op_args_parse(
		&args, &a,
		ASSAY_S("\"Input type\": [\"TensorList\", \"TensorList\"], \"Input Dims\": [[[2, 3], [5]], []]")));
	CHECK(args.arg[0].n == 2 && assay_tensor_elements(&args.arg[0].tensor[0]) == 6);
	CHECK(args.arg[1].kind == ASSAY_ARG_TENSORS && args.arg[1].n == 0);
	CHECK(!assay_op_args_parse(&args, &a, ASSAY_S("\"Record function id\": 0")));
	CHECK(!assay_op_args_parse(&args, &a, ASSAY_S("\"Input Dims\": [[2, ")));
	assay_arena_free(&a);
	return 0;
}

TEST(lists_over_several_lines_are_the_same)
{
	assay_arena a = {0};
	assay_op_args args;
	CHECK(assay_op_args_parse(&args, &a,
				  ASSAY_S("\"Input type\": [\n"
					  " \"long int\" ],\n"
					  "\"Input Dims\": [\n"
					  "  [\n"
					  " 2,3 ]\n"
					  "]")));
	CHECK(assay_str_is(args.dims, "[[2, 3]]") && assay_str_is(args.types, "[\"long int\"]"));
	assay_arena_free(&a);
	return 0;
}

TEST(hostile_dimensions_are_no_tensor)
{
	assay_arena a = {0};
	assay_op_args args;
	CHECK(assay_op_args_parse(
		&args, &a,
		ASSAY_S("\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[-3, 2], [99999999999999999999]]")));
	CHECK(!assay_arg_tensor(&args, 0) && !assay_arg_tensor(&args, 1));
	assay_arena_free(&a);
	return 0;
}
