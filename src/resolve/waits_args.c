#include "resolve/waits_args.h"

#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/test.h"

/* Where a value goes; device and status are signed. */
#define AT(field) offsetof(waits_args, field)
#define NAME(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
static const struct {
	assay_str name;
	size_t value, has; /* has 0: nobody asks */
} names[] = {
	{NAME("hip_stream"), AT(stream), AT(has_stream)},
	{NAME("stream"), AT(stream), AT(has_stream)},
	{NAME("hStream"), AT(stream), AT(has_stream)},
	{NAME("cuda_stream"), AT(stream), AT(has_stream)},
	{NAME("hip_event"), AT(event), AT(has_event)},
	{NAME("event"), AT(event), AT(has_event)},
	{NAME("hEvent"), AT(event), AT(has_event)},
	{NAME("cuda_event"), AT(event), AT(has_event)},
	{NAME("stopEvent"), AT(event), AT(has_event)},
	{NAME("ptr"), AT(event), AT(has_event)},
	{NAME("addr"), AT(event), AT(has_event)},
	{NAME("startEvent"), AT(start_event), 0},
	{NAME("value"), AT(value), 0},
	{NAME("flags"), AT(flags), 0},
	{NAME("mask"), AT(masked), 0}, /* the others */
	{NAME("deviceId"), AT(device), 0},
	{NAME("device"), AT(device), 0},
	{NAME("retval"), AT(status), 0},
	{NAME("status"), AT(status), 0},
	{NAME("return_value"), AT(status), 0},
	{NAME("wait_for"), AT(awaited), 0},
	{NAME("wait_class"), AT(said), 0},
	{NAME("wait_doubt"), AT(doubt), 0},
};

/* "0", "hipSuccess", "hipErrorNotReady", "600"; ASSAY_NO_STATUS for anything else. */
static int32_t status_of(assay_str text)
{
	int64_t code;
	if (assay_str_i64(text, &code))
		return code >= INT32_MIN && code <= INT32_MAX ? (int32_t)code : ASSAY_NO_STATUS;
	if (assay_str_is(text, "hipSuccess") || assay_str_is(text, "cudaSuccess"))
		return 0;
	if (assay_str_ends(text, "ErrorNotReady"))
		return 600;
	return assay_str_starts(text, "hipError") || assay_str_starts(text, "cudaError")
		       ? 999 /* the code of an unknown error */
		       : ASSAY_NO_STATUS;
}

/* Its place in a list of words, or n. */
static uint8_t word_of(assay_str text, const char *const *words, uint8_t n)
{
	uint8_t i = 0;
	while (i < n && !assay_str_is(text, words[i]))
		i++;
	return i;
}

static void take(waits_args *a, size_t i, assay_str raw)
{
	uint64_t v = 0;
	if (names[i].value == AT(status)) {
		a->status = status_of(raw);
		return;
	}
	if (names[i].value == AT(said)) {
		uint8_t class = word_of(raw, assay_wait_class_name, ASSAY_WAIT_CLASS_COUNT);
		a->said = class == ASSAY_WAIT_CLASS_COUNT ? 0 : class + 1;
		return;
	}
	if (names[i].value == AT(doubt)) {
		uint8_t doubt = word_of(raw, assay_wait_doubt_name, ASSAY_WAIT_DOUBT_COUNT);
		a->doubt = doubt == ASSAY_WAIT_DOUBT_COUNT ? ASSAY_WAIT_BY_FILE : doubt;
		return;
	}
	if (!assay_str_u64(raw, &v) || (names[i].value == AT(device) && v > INT32_MAX))
		return;
	v = names[i].value == AT(masked) ? ~v : v;
	memcpy((char *)a + names[i].value, &v, sizeof v);
	if (names[i].has)
		*(bool *)((char *)a + names[i].has) = true;
}

/* Of the members of args, the ROCm design's names and those of rocprofv3's API arguments.
 * scratch is reset. */
static waits_args args_in(assay_arena *scratch, assay_str args)
{
	waits_args a = {.device = -1, .status = ASSAY_NO_STATUS};
	if (!args.n)
		return a;
	assay_arena_reset(scratch);
	assay_json j = assay_json_members(scratch, args);
	for (assay_str key, raw; assay_json_member(&j, &key) && assay_json_skip(&j, &raw);) {
		if (raw.n >= 2 && raw.p[0] == '"')
			raw = (assay_str){raw.p + 1, raw.n - 2};
		for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
			if (assay_str_eq(key, names[i].name))
				take(&a, i, raw);
	}
	return a;
}

waits_args waits_args_of(waits_known_args *k, const assay_run *run, assay_sid text)
{
	enum { KNOWN = 1024 };
	if (!k->known)
		k->known = assay_alloc(&k->arena, KNOWN * sizeof *k->known);
	struct waits_known *at = &k->known[text % KNOWN];
	if (!text || at->text != text)
		*at = (struct waits_known){text, args_in(&k->scratch, assay_text(run, text))};
	return at->args;
}

void waits_known_args_free(waits_known_args *k)
{
	assay_arena_free(&k->arena);
	assay_arena_free(&k->scratch);
}

TEST(what_a_call_returned_is_a_number_or_a_name)
{
	CHECK(status_of(ASSAY_S("0")) == 0 && status_of(ASSAY_S("600")) == 600);
	CHECK(status_of(ASSAY_S("hipSuccess")) == 0);
	CHECK(status_of(ASSAY_S("hipErrorNotReady")) == 600);
	CHECK(status_of(ASSAY_S("hipErrorInvalidHandle")) != 0);
	CHECK(status_of(ASSAY_S("0x7f00 text")) == ASSAY_NO_STATUS);
	return 0;
}

TEST(arguments_of_both_spellings_are_read)
{
	assay_arena arena = {0};
	waits_args a = args_in(
		&arena,
		ASSAY_S("\"stream\": \"0x7f01\",\"ptr\": \"0x50\",\"value\": \"3\",\"flags\": \"1\",\"retval\": \"1\""));
	CHECK(a.has_stream && a.stream == 0x7f01 && a.event == 0x50 && a.value == 3);
	CHECK(a.flags == 1 && a.status == 1 && a.device == -1);
	CHECK_EQ(a.masked, 0);
	a = args_in(&arena, ASSAY_S("\"mask\": \"255\""));
	CHECK_EQ(a.masked, UINT64_MAX - 255);
	a = args_in(&arena, ASSAY_S("\"deviceId\": 2,\"hip_event\": \"0x9\""));
	CHECK(a.device == 2 && a.event == 9 && !a.has_stream && a.status == ASSAY_NO_STATUS);
	assay_arena_free(&arena);
	return 0;
}

TEST(what_is_no_number_or_too_large_is_not_known)
{
	assay_arena arena = {0};
	waits_args a = args_in(
		&arena, ASSAY_S("\"stream\": \"text\",\"deviceId\": \"4294967296\",\"event\": 5"));
	CHECK(!a.has_stream && a.device == -1 && a.has_event && a.event == 5);
	a = args_in(&arena, ASSAY_S("\"deviceId\": text,\"hip_stream\": 7"));
	CHECK(a.device == -1 && a.stream == 7);
	CHECK(status_of(ASSAY_S("2147483648")) == ASSAY_NO_STATUS);
	CHECK(status_of(ASSAY_S("-2147483649")) == ASSAY_NO_STATUS);
	CHECK(status_of(ASSAY_S("2147483647")) == INT32_MAX);
	assay_arena_free(&arena);
	return 0;
}
