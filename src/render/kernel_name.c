/* Names of kernels in tables. Libraries have a few templates that do everything; what they do
 * stands in their arguments, behind wrappers and types: elementwise_kernel<128, 4,
 * gpu_kernel_impl_nocast<direct_copy_kernel_cuda(...)::{lambda...}>>. */
#include <ctype.h>
#include <string.h>

#include "base/demangle.h"
#include "base/fmt.h"
#include "base/test.h"
#include "render/printout.h"
#include "render/report.h"

/* Words of C++ and types: they tell nothing of what a kernel does. */
static const char *const plain_words[] = {
	"anonymous",  "namespace",    "bool",           "char",
	"const",      "double",       "false",          "float",
	"int",        "lambda",       "long",           "operator",
	"short",      "signed",       "true",           "unsigned",
	"void",       "enum",         "BFloat16",       "Half",
	"complex",    "nullptr",      "__half",         "int8_t",
	"uint8_t",    "int16_t",      "uint16_t",       "int32_t",
	"uint32_t",   "int64_t",      "uint64_t",       "size_t",
	"Tensor",     "Scalar",       "OpaqueType",     "ul",
	"u",          "hip_bfloat16", "__hip_bfloat16", "__nv_bfloat16",
	"bfloat16_t", "half_t",
};
/* Wrappers of PyTorch, and parts of names that say how and not what. */
static const char *const wrappers[] = {
	"gpu_kernel_impl", "gpu_kernel_impl_nocast", "BinaryFunctor", "AUnaryFunctor",
	"BUnaryFunctor",   "UnaryOpFunctor",         "ReduceOp",      "func_wrapper_t",
};
static const char *const wrapper_parts[] = {"Metadata", "raits",  "olicy",      "arams",
					    "config",   "Float8", "TensorInfo", "TensorIterator"};

static bool is_one_of(assay_str word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (assay_str_is(word, words[i]))
			return true;
	return false;
}

#define IS_ONE_OF(word, words) is_one_of(word, words, sizeof(words) / sizeof *(words))

static bool says_what(assay_str word)
{
	if (IS_ONE_OF(word, plain_words) || IS_ONE_OF(word, wrappers))
		return false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(wrapper_parts); i++)
		if (assay_str_find(word, wrapper_parts[i]) >= 0)
			return false;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The last part of the qualified name at the front of rest, which is cut off; std:: is left out. */
static assay_str take_name(assay_str *rest)
{
	assay_str last = {rest->p, 0};
	bool is_std = assay_str_starts(*rest, "std::");
	for (size_t i = 0;;) {
		size_t from = i;
		while (i < rest->n && is_word(rest->p[i]))
			i++;
		last = (assay_str){rest->p + from, i - from};
		if (i + 2 < rest->n && rest->p[i] == ':' && rest->p[i + 1] == ':' &&
		    is_word(rest->p[i + 2])) {
			i += 2;
			continue;
		}
		*rest = (assay_str){rest->p + i, rest->n - i};
		bool is_space = assay_str_starts(*rest, "::"); /* at::native::(anonymous ... */
		return is_std || is_space ? (assay_str){last.p, 0} : last;
	}
}

/* The first name in the template's arguments that says what is done. */
static assay_str what_it_does(assay_str name)
{
	int64_t open = assay_str_find(name, "<");
	if (open <= 0)
		return (assay_str){0};
	assay_str rest = {name.p + open + 1, name.n - (size_t)open - 1};
	for (int depth = 1; rest.n && depth > 0;) {
		char c = *rest.p;
		if (isalpha((unsigned char)c) || c == '_') {
			assay_str word = take_name(&rest);
			if (word.n && says_what(word))
				return word;
			continue;
		}
		bool number = isdigit((unsigned char)c);
		depth += c == '<' ? 1 : c == '>' ? -1 : 0;
		do /* 3ul is no name */
			rest = (assay_str){rest.p + 1, rest.n - 1};
		while (number && rest.n && is_word(*rest.p));
	}
	return (assay_str){0};
}

/* Behind the last "::" outside of brackets, which assay_fmt_kernel() left out. */
static const char *without_spaces(const char *base)
{
	const char *last = base;
	for (const char *at = base; (at = strstr(at, "::")); at += 2)
		if (is_word(at[2]))
			last = at + 2;
	return last;
}

const char *assay_kernel_label(assay_arena *a, assay_str mangled, size_t width)
{
	enum { LONGEST = 4096 };
	if (assay_str_find(mangled, ".<") >= 0) /* Python's make.<locals>.step is no template */
		return assay_cut(a, assay_fmt_safe(a, mangled), width);
	assay_str name = assay_demangle(a, mangled), what = what_it_does(name);
	const char *base = assay_fmt_kernel(a, name, LONGEST), *does = "";
	if (what.n && !assay_str_starts(name, "Memcpy "))
		does = assay_cut(a, assay_fmt_safe(a, what), width / 2);
	size_t more = *does ? assay_columns(does) + 2 : 0;
	if (assay_columns(base) + more > width)
		base = without_spaces(base);
	size_t room = width > more + 8 ? width - more : 8;
	/* what differs stands at the end more often than in the middle */
	base = assay_cut_middle(a, base, room, room / 3);
	return more ? assay_printf(a, "%s<%s>", base, does) : base;
}

TEST(labels_say_what_a_template_does)
{
	static const char *const cases[][2] = {
		{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int)::{lambda(int)#1}>(int)",
		 "at::native::elementwise_kernel<direct_copy_kernel_cuda>"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)",
		 "at::native::vectorized_elementwise_kernel<MulFunctor>"},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float>::operator()(X)>>>(X)",
		 "at::native::reduce_kernel<sum_functor>"},
		{"void multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<c10::Half, 2, 2, 0>, std::plus<float>>(int)",
		 "multi_tensor_apply_kernel<BinaryOpListAlphaFunctor>"},
		{"void vectorized_layer_norm_kernel<c10::Half, float, false>(int, float)",
		 "vectorized_layer_norm_kernel"},
		{"nvjet_sm90_hsh_256x128", "nvjet_sm90_hsh_256x128"},
		{"void f<std::array<char*, 3ul>", "f"},
		{"<eval> x", "<eval> x"},
		{"make.<locals>.step", "make.<locals>.step"},
		{"train.py:9 run.<locals>.<lambda>", "train.py:9 run.<locals>.<lambda>"},
		{"", "(no name)"},
	};
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK(!strcmp(assay_kernel_label(&a, assay_str_of(cases[i][0]), 60), cases[i][1]));
	assay_str name = ASSAY_S("void a::b::k<a_name_too_long_for_any_table>(int)");
	CHECK(!strcmp(assay_kernel_label(&a, name, 16), "k<a_nam...>"));
	CHECK(!strcmp(assay_kernel_label(&a, ASSAY_S("nvjet_sm90_hsh_256x128_64x4_NNT"), 24),
		      "nvjet_sm90_hs...64x4_NNT"));
	CHECK(!strcmp(assay_kernel_label(&a, ASSAY_S("_Z5saxpyfPfS_"), 24), "saxpy"));
	assay_arena_free(&a);
	return 0;
}
