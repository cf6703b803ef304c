/* Chrome's own events in packets of Perfetto (ChromeEventBundle, before there were track events):
 * as messages, or as the JSON text they are in other files. Both become such text, and the reader
 * of that makes the rows. */
#include "read/perfetto.h"

#include "base/test.h"
#include "read/reader.h"

/* protos/perfetto/trace/chrome/chrome_trace_event.proto */
enum { BUNDLE_EVENT = 1, BUNDLE_STRING = 3, BUNDLE_JSON = 5 };
enum { JSON_DATA = 2, STRING_VALUE = 1, STRING_INDEX = 2 };
enum {
	EVENT_NAME = 1,
	EVENT_TIME = 2, /* microseconds */
	EVENT_PHASE = 3,
	EVENT_TID = 4,
	EVENT_LENGTH = 5,
	EVENT_ID = 8,
	EVENT_CATEGORY = 10,
	EVENT_PID = 11,
	EVENT_ARG = 14,
	EVENT_NAME_INDEX = 15,
	EVENT_CATEGORY_INDEX = 16,
	EVENT_FIELDS
};
enum {
	ARG_NAME = 1,
	ARG_BOOL = 2,
	ARG_UINT = 3,
	ARG_INT = 4,
	ARG_DOUBLE = 5,
	ARG_TEXT = 6,
	ARG_POINTER = 7,
	ARG_JSON = 8,
	ARG_NAME_INDEX = 9,
	ARG_FIELDS
};
enum { EVENT_BYTES = 128, ARG_BYTES = 32 }; /* of text, beside names and values */

typedef struct strings {
	assay_map at;
	assay_vec(assay_str) list;
} strings;

static void read_string(strings *s, assay_str message)
{
	assay_str value = {0};
	uint64_t index = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == STRING_VALUE && f.wire == ASSAY_WIRE_BYTES)
			value = f.bytes;
		if (f.number == STRING_INDEX && f.wire == ASSAY_WIRE_VARINT)
			index = f.value;
	}
	*assay_map_at(&s->at, index) = (uint32_t)s->list.n;
	*assay_push(&s->list) = value;
}

static assay_str text_of(const strings *s, const assay_field *own, const assay_field *index)
{
	if (own->wire == ASSAY_WIRE_BYTES && own->number)
		return own->bytes;
	uint32_t at = index->number ? assay_map_get(&s->at, index->value) : ASSAY_MAP_ABSENT;
	return at == ASSAY_MAP_ABSENT ? (assay_str){"", 0} : s->list.p[at];
}

static void put_arg(perfetto *x, const strings *s, assay_str message)
{
	assay_field all[ARG_FIELDS] = {0}, value = {0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number < ARG_FIELDS)
			all[f.number] = f;
		if (f.number >= ARG_BOOL && f.number <= ARG_JSON)
			value = f;
	}
	assay_str name = text_of(s, &all[ARG_NAME], &all[ARG_NAME_INDEX]);
	if (!perfetto_afford(x, ARG_BYTES + name.n + value.bytes.n))
		return;
	assay_jsonw *w = &x->chrome;
	assay_jsonw_key(w, name);
	if (value.number == ARG_BOOL)
		assay_jsonw_bool(w, NULL, value.value);
	else if (value.number == ARG_UINT || value.number == ARG_POINTER)
		assay_jsonw_u64(w, NULL, value.value);
	else if (value.number == ARG_INT)
		assay_jsonw_i64(w, NULL, assay_field_i64(&value));
	else if (value.number == ARG_DOUBLE)
		assay_jsonw_f64(w, NULL, assay_field_f64(&value));
	else if (value.number && value.wire == ASSAY_WIRE_BYTES)
		assay_jsonw_str(w, NULL, value.bytes);
	else
		assay_jsonw_null(w, NULL);
}

static void put_args(perfetto *x, const strings *s, assay_str event)
{
	assay_jsonw_open(&x->chrome, "args", '{');
	assay_proto c = assay_proto_on(event);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == EVENT_ARG && f.wire == ASSAY_WIRE_BYTES)
			put_arg(x, s, f.bytes);
	assay_jsonw_close(&x->chrome, '}');
}

static void put_event(perfetto *x, const strings *s, assay_str event)
{
	static const struct {
		uint8_t field;
		const char *key;
	} numbers[] = {{EVENT_PID, "pid"},
		       {EVENT_TID, "tid"},
		       {EVENT_TIME, "ts"},
		       {EVENT_LENGTH, "dur"},
		       {EVENT_ID, "id"}};
	assay_field all[EVENT_FIELDS] = {0};
	assay_proto c = assay_proto_on(event);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number < EVENT_FIELDS)
			all[f.number] = f;
	char phase = (char)all[EVENT_PHASE].value;
	assay_str name = text_of(s, &all[EVENT_NAME], &all[EVENT_NAME_INDEX]);
	assay_str cat = text_of(s, &all[EVENT_CATEGORY], &all[EVENT_CATEGORY_INDEX]);
	if (c.bad || !perfetto_afford(x, EVENT_BYTES + name.n + cat.n)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	assay_jsonw *w = &x->chrome;
	w->compact = true;
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_str(w, "ph", (assay_str){&phase, 1});
	assay_jsonw_str(w, "name", name);
	if (cat.n)
		assay_jsonw_str(w, "cat", cat);
	for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++)
		if (all[numbers[i].field].number && all[numbers[i].field].wire == ASSAY_WIRE_VARINT)
			assay_jsonw_i64(w, numbers[i].key, assay_field_i64(&all[numbers[i].field]));
	put_args(x, s, event);
	assay_jsonw_close(w, '}');
}

/* Chunks of one text, over all packets. */
static void read_text(perfetto *x, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == JSON_DATA && f.wire == ASSAY_WIRE_BYTES && f.bytes.n) {
			assay_vec_reserve(&x->chrome_text, x->chrome_text.n + f.bytes.n);
			memcpy(x->chrome_text.p + x->chrome_text.n, f.bytes.p, f.bytes.n);
			x->chrome_text.n += f.bytes.n;
		}
}

void perfetto_chrome_read(perfetto *x, assay_str bundle)
{
	strings s = {0};
	assay_proto c = assay_proto_on(bundle);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == BUNDLE_STRING && f.wire == ASSAY_WIRE_BYTES)
			read_string(&s, f.bytes);
	c = assay_proto_on(bundle);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == BUNDLE_EVENT && f.wire == ASSAY_WIRE_BYTES)
			put_event(x, &s, f.bytes);
		else if (f.number == BUNDLE_JSON && f.wire == ASSAY_WIRE_BYTES)
			read_text(x, f.bytes);
	assay_map_free(&s.at);
	assay_vec_free(&s.list);
}

static void read_json(perfetto *x, const char *p, size_t n)
{
	assay_err err = {0};
	if (!n)
		return;
	assay_input *in = assay_input_memory(p, n);
	if (!assay_reader_chrome.read(x->run, in, &err))
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
	assay_input_close(in);
}

void perfetto_chrome_finish(perfetto *x)
{
	read_json(x, x->chrome.out.p, x->chrome.out.n);
	read_json(x, x->chrome_text.p, x->chrome_text.n);
	assay_jsonw_free(&x->chrome);
	assay_vec_free(&x->chrome_text);
}

/* ------------------------------------------------------------------ tests */

static assay_run *read_bundle(const assay_protow *bundle)
{
	assay_protow packet = {0}, trace = {0};
	assay_protow_varint(&packet, PF_PACKET_SEQUENCE, 1);
	assay_protow_bytes(&packet, PF_PACKET_CHROME, assay_protow_data(bundle));
	assay_protow_bytes(&trace, PF_TRACE_PACKET, assay_protow_data(&packet));
	assay_run *run = assay_read_bytes(&assay_reader_perfetto, trace.out.p, trace.out.n);
	assay_protow_free(&packet);
	assay_protow_free(&trace);
	return run;
}

TEST(events_of_chrome_are_read_from_packets)
{
	assay_protow string = {0}, arg = {0}, event = {0}, bundle = {0};
	assay_protow_text(&string, STRING_VALUE, ASSAY_S("kernel"));
	assay_protow_varint(&string, STRING_INDEX, 4);
	assay_protow_bytes(&bundle, BUNDLE_STRING, assay_protow_data(&string));
	assay_protow_text(&arg, ARG_NAME, ASSAY_S("correlation"));
	assay_protow_varint(&arg, ARG_INT, 9);
	assay_protow_text(&event, EVENT_NAME, ASSAY_S("gemm"));
	assay_protow_varint(&event, EVENT_TIME, 1000);
	assay_protow_varint(&event, EVENT_PHASE, 'X');
	assay_protow_varint(&event, EVENT_TID, 7);
	assay_protow_varint(&event, EVENT_LENGTH, 50);
	assay_protow_varint(&event, EVENT_PID, 0);
	assay_protow_bytes(&event, EVENT_ARG, assay_protow_data(&arg));
	assay_protow_varint(&event, EVENT_CATEGORY_INDEX, 4);
	assay_protow_bytes(&bundle, BUNDLE_EVENT, assay_protow_data(&event));
	assay_run *run = read_bundle(&bundle);
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->n == 1 && g->ts[0] == 1000000 && g->dur[0] == 50000 && g->corr[0] == 9);
	CHECK(assay_str_is(assay_text(run, g->name[0]), "gemm"));
	CHECK_EQ(run->part.t.track.tid[g->track[0]], 7);
	assay_run_free(run);
	assay_protow_free(&string);
	assay_protow_free(&arg);
	assay_protow_free(&event);
	assay_protow_free(&bundle);
	return 0;
}

TEST(json_of_chrome_is_read_from_packets)
{
	static const char *const chunks[] = {
		"", "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,",
		"\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"name\":\"b\",\"ts\":4,\"dur\":2,\"pid\":1,\"tid\":1}]"};
	assay_protow bundle = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(chunks); i++) {
		assay_protow json = {0};
		assay_protow_text(&json, JSON_DATA, assay_str_of(chunks[i]));
		assay_protow_bytes(&bundle, BUNDLE_JSON, assay_protow_data(&json));
		assay_protow_free(&json);
	}
	assay_run *run = read_bundle(&bundle);
	CHECK(run->part.t.host.n == 2 && run->part.t.host.ts[1] == 4000);
	assay_run_free(run);
	assay_protow_free(&bundle);
	return 0;
}
