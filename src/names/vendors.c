/* Makers by their own names and by what they make. */
#include "names/vendors.h"

#include "base/test.h"

static const char *const NVIDIA_WORDS[] = {"nvidia", "geforce", "tesla", "quadro", "sm_",   "a100",
					   "h100",   "h200",    "b200",  "v100",   "gb200", NULL};
static const char *const AMD_WORDS[] = {"amd",   "radeon", "instinct", "gfx",   "mi210", "mi250",
					"mi300", "mi325",  "mi350",    "mi355", NULL};
static const char *const INTEL_WORDS[] = {"intel", "ponte vecchio", "gaudi", NULL};

const char *const assay_vendor_name[ASSAY_VENDOR_COUNT] = {
#define X(id, name, title, words) name,
	ASSAY_VENDORS(X)
#undef X
};
const char *const assay_vendor_title[ASSAY_VENDOR_COUNT] = {
#define X(id, name, title, words) title,
	ASSAY_VENDORS(X)
#undef X
};
static const char *const *const words[ASSAY_VENDOR_COUNT] = {
#define X(id, name, title, words) words,
	ASSAY_VENDORS(X)
#undef X
};

assay_vendor assay_vendor_of(assay_str name)
{
	for (int v = 1; v < ASSAY_VENDOR_COUNT; v++)
		if (assay_str_same(name, assay_str_of(assay_vendor_name[v])))
			return (assay_vendor)v;
	return ASSAY_VENDOR_UNKNOWN;
}

assay_vendor assay_vendor_of_product(assay_str product)
{
	for (int v = 1; v < ASSAY_VENDOR_COUNT; v++)
		for (const char *const *w = words[v]; *w; w++)
			if (assay_str_find_nocase(product, *w) >= 0)
				return (assay_vendor)v;
	return ASSAY_VENDOR_UNKNOWN;
}

assay_str assay_gfx_in(assay_str *text)
{
	enum { SHORTEST = 6, LONGEST = 8 };
	for (ptrdiff_t at; (at = assay_str_find(*text, "gfx")) >= 0;) {
		assay_str name = {text->p + at, 3};
		size_t left = text->n - (size_t)at;
		while (name.n < left && assay_hex_digit(name.p[name.n]) >= 0)
			name.n++;
		*text = (assay_str){name.p + name.n, left - name.n};
		if (name.n >= SHORTEST && name.n <= LONGEST)
			return name;
	}
	return (assay_str){"", 0};
}

bool assay_gfx_parts(assay_str arch, int64_t part[3])
{
	if (!assay_str_starts(arch, "gfx") || arch.n < 6 ||
	    !assay_str_i64((assay_str){arch.p + 3, arch.n - 5}, &part[0]) || part[0] < 0)
		return false;
	part[1] = assay_hex_digit(arch.p[arch.n - 2]);
	part[2] = assay_hex_digit(arch.p[arch.n - 1]);
	return part[1] >= 0 && part[2] >= 0;
}

TEST(architectures_are_found_in_names_and_taken_apart)
{
	assay_str text = ASSAY_S("gfx942130.db gfx90a-xnack+ gfx9 gfx1100");
	CHECK(assay_str_is(assay_gfx_in(&text), "gfx90a"));
	CHECK(assay_str_is(assay_gfx_in(&text), "gfx1100") && !assay_gfx_in(&text).n);
	int64_t part[3];
	CHECK(assay_gfx_parts(ASSAY_S("gfx90a"), part) && part[0] == 9 && !part[1] &&
	      part[2] == 10);
	CHECK(assay_gfx_parts(ASSAY_S("gfx1201"), part) && part[0] == 12 && part[2] == 1);
	CHECK(!assay_gfx_parts(ASSAY_S("sm_90"), part) && !assay_gfx_parts(ASSAY_S("gfx9"), part));
	return 0;
}

TEST(products_tell_their_maker_and_unknown_ones_tell_none)
{
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("NVIDIA H100 80GB HBM3")), ASSAY_VENDOR_NVIDIA);
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("A100-PG509-200")), ASSAY_VENDOR_NVIDIA);
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("AMD Instinct MI300X")), ASSAY_VENDOR_AMD);
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("gfx942")), ASSAY_VENDOR_AMD);
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("Intel Data Center GPU Max 1550")),
		 ASSAY_VENDOR_INTEL);
	CHECK_EQ(assay_vendor_of_product(ASSAY_S("MTIA v2")), ASSAY_VENDOR_UNKNOWN);
	CHECK_EQ(assay_vendor_of(ASSAY_S("AMD")), ASSAY_VENDOR_AMD);
	CHECK_EQ(assay_vendor_of(ASSAY_S("")), ASSAY_VENDOR_UNKNOWN);
	return 0;
}
