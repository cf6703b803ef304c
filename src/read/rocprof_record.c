/* Which twin of rocprof_record_hot.c this machine runs. */
#include "read/rocprof_record.h"

#include "base/test.h"

static assay_rocprof_parser *parser_for(assay_isa isa)
{
#define X(isa) assay_rocprof_record_parse_##isa,
	static assay_rocprof_parser *const parsers[] = { ASSAY_ISAS(X) };
#undef X
	return parsers[isa];
}

assay_rocprof_parser *assay_rocprof_record_parser(void)
{
	return parser_for(assay_cpu_isa());
}

static assay_rocprof_record parsed(const char *text, assay_isa isa)
{
	char padded[1024] = {0};
	snprintf(padded, sizeof padded - ASSAY_PAD, "%s", text);
	assay_json j = assay_json_on(padded, strlen(padded));
	assay_rocprof_record r;
	if (!parser_for(isa)(&j, &r))
		r.seen = 0;
	return r;
}

TEST(a_record_is_read_in_any_order_of_members)
{
	for (assay_isa isa = 0; isa <= assay_cpu_isa(); isa++) {
		assay_rocprof_record r = parsed(
			"{\"end_timestamp\":9, "
			"\"start_timestamp\":\"7\",\"new\":{\"kind\":[1]},\"kind\":11,"
			"\"dispatch_info\":{\"grid_size\":{\"z\":3},\"agent_id\":{\"handle\":5},"
			"\"queue_id\":6},"
			"\"correlation_id\":{\"external\":18446744073709551615,\"internal\":1}}",
			isa);
		CHECK_EQ(r.v[ASSAY_SLOT_END], 9);
		CHECK_EQ(r.v[ASSAY_SLOT_START], 7);
		CHECK_EQ(r.v[ASSAY_SLOT_KIND], 11);
		CHECK_EQ(r.v[ASSAY_SLOT_GRID_Z], 3);
		CHECK_EQ(r.v[ASSAY_SLOT_AGENT], 5);
		CHECK_EQ(r.v[ASSAY_SLOT_QUEUE], 6);
		CHECK(r.v[ASSAY_SLOT_EXTERNAL] == UINT64_MAX &&
		      !assay_rocprof_has(&r, ASSAY_SLOT_GRID_X));
	}
	return 0;
}

TEST(wrong_values_of_a_record_are_absent_and_counted)
{
	for (assay_isa isa = 0; isa <= assay_cpu_isa(); isa++) {
		assay_rocprof_record r = parsed(
			"{\"kind\":null,\"operation\":-1,\"thread_id\":\"x\",\"correlation_id\":7,\"agent_id\":{\"handle\":[]}}",
			isa);
		CHECK_EQ(r.seen, 0);
		CHECK_EQ(r.bad_numbers, 3);
		CHECK_EQ(parsed("[1]", isa).seen, 0);
	}
	return 0;
}
