/* The rows of cause.def as tables. */
#include "model/cause.h"

#include <assert.h>
#include <stddef.h>

#include "base/str.h"
#include "base/test.h"

const assay_why_row assay_why_rows[ASSAY_WHY_COUNT] = {
#define CAUSE(id, name, bucket, late, certainty, text, phrase, path, light, dark)                  \
	{name,                                                                                     \
	 ASSAY_BUCKET_##bucket,                                                                    \
	 ASSAY_LATE_##late,                                                                        \
	 certainty,                                                                                \
                                                                                                   \
	 text,                                                                                     \
	 phrase,                                                                                   \
	 path,                                                                                     \
	 light,                                                                                    \
	 dark},
#define ADVICE(id, framework, vendor, text)
#include "model/cause.def"
#undef CAUSE
#undef ADVICE
};
static_assert(ASSAY_WHY_HOST_UNTRACED == ASSAY_WHY_COUNT - 1, "what none of the others is");

const char *const assay_why_name[ASSAY_WHY_COUNT] = {
#define CAUSE(id, name, bucket, late, certainty, text, phrase, path, light, dark) name,
#define ADVICE(id, framework, vendor, text)
#include "model/cause.def"
#undef CAUSE
#undef ADVICE
};

const char *const assay_idle_bucket_name[ASSAY_BUCKET_COUNT] = {
#define X(id, name, how) name,
	ASSAY_IDLE_BUCKETS(X)
#undef X
};
const char *const assay_idle_bucket_how[ASSAY_BUCKET_COUNT] = {
#define X(id, name, how) how,
	ASSAY_IDLE_BUCKETS(X)
#undef X
};

enum { ASSAY_VENDOR_ANY = ASSAY_VENDOR_UNKNOWN };

static const struct {
	uint8_t why, framework, vendor;
	const char *text;
} advice[] = {
#define CAUSE(id, name, bucket, late, certainty, text, phrase, path, light, dark)
#define ADVICE(id, framework, vendor, text)                                                        \
	{ASSAY_WHY_##id, ASSAY_FRAMEWORK_##framework, ASSAY_VENDOR_##vendor, text},
#include "model/cause.def"
#undef CAUSE
#undef ADVICE
};

const char *assay_why_advice(assay_why why, assay_framework framework, assay_vendor vendor)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(advice); i++)
		if (advice[i].why == why &&
		    (!advice[i].framework || advice[i].framework == framework) &&
		    (!advice[i].vendor || advice[i].vendor == vendor))
			return advice[i].text;
	assert(!"every cause has advice for any program");
	return "";
}

TEST(every_cause_has_words_and_advice)
{
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		CHECK(*assay_why_rows[c].name && *assay_why_rows[c].phrase &&
		      *assay_why_rows[c].path);
		CHECK(assay_why_rows[c].certainty > 0 && assay_why_rows[c].certainty <= 1);
		CHECK(*assay_why_advice((assay_why)c, ASSAY_FRAMEWORK_ANY, ASSAY_VENDOR_UNKNOWN));
	}
	return 0;
}

static bool is_colour(const char *text)
{
	return text[0] == '#' && strspn(text + 1, "0123456789abcdef") == 6 && !text[7];
}

TEST(every_cause_has_colours_of_its_own)
{
	for (int c = 0; c < ASSAY_WHY_COUNT; c++) {
		CHECK(is_colour(assay_why_rows[c].light) && is_colour(assay_why_rows[c].dark));
		for (int other = 0; other < c; other++)
			CHECK(strcmp(assay_why_rows[c].light, assay_why_rows[other].light) &&
			      strcmp(assay_why_rows[c].dark, assay_why_rows[other].dark));
	}
	return 0;
}

TEST(advice_fits_the_framework_and_the_vendor)
{
	const char *jax = assay_why_advice(ASSAY_WHY_LAUNCH_LATENCY, ASSAY_FRAMEWORK_JAX,
					   ASSAY_VENDOR_NVIDIA);
	CHECK(!strstr(jax, "torch"));
	const char *amd =
		assay_why_advice(ASSAY_WHY_LAUNCH_CALL, ASSAY_FRAMEWORK_TORCH, ASSAY_VENDOR_AMD);
	CHECK(strstr(amd, "HIP_") && !strstr(amd, "CUDA_"));
	return 0;
}
