#include "model/streams.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/test.h"

void assay_stream_put(assay_jsonw *w, const assay_run *run, uint32_t row, int64_t created,
		      int64_t destroyed)
{
	const assay_stream_table *s = &run->part.t.stream;
	char handle[24];
	snprintf(handle, sizeof handle, "0x%" PRIx64, s->handle[row]);
	assay_jsonw_i64(w, "id", s->id[row]);
	assay_jsonw_i64(w, "device", s->device[row]);
	assay_jsonw_z(w, "handle", handle);
	if (s->context[row] != UINT32_MAX)
		assay_jsonw_u64(w, "context", s->context[row]);
	assay_jsonw_i64(w, "priority", s->priority[row]);
	assay_jsonw_u64(w, "flags", s->flags[row]);
	if (created)
		assay_jsonw_i64(w, "created_ns", created);
	if (destroyed)
		assay_jsonw_i64(w, "destroyed_ns", destroyed);
}

static void take_number(assay_stream_table *s, uint32_t row, assay_str key, int64_t v)
{
	if (assay_str_is(key, "id"))
		s->id[row] = v;
	else if (assay_str_is(key, "device"))
		s->device[row] = (int32_t)v;
	else if (assay_str_is(key, "context"))
		s->context[row] = (uint32_t)v;
	else if (assay_str_is(key, "priority"))
		s->priority[row] = (int32_t)v;
	else if (assay_str_is(key, "flags"))
		s->flags[row] = (uint32_t)v;
	else if (assay_str_is(key, "created_ns"))
		s->created[row] = v;
	else if (assay_str_is(key, "destroyed_ns"))
		s->destroyed[row] = v;
}

uint32_t assay_stream_take(assay_part *p, assay_json *j)
{
	assay_stream_table *s = &p->t.stream;
	uint32_t row = assay_add(&p->t, ASSAY_T_stream);
	s->source[row] = p->source;
	for (assay_str key; assay_json_member(j, &key);) {
		int64_t v;
		uint64_t handle;
		if (assay_str_is(key, "handle")) {
			if (assay_json_u64(j, &handle))
				s->handle[row] = handle;
		} else if (assay_json_i64(j, &v)) {
			take_number(s, row, key, v);
		}
	}
	return row;
}

TEST(a_stream_that_was_written_reads_back_the_same)
{
	assay_run *run = assay_run_new();
	assay_stream_table *s = &run->part.t.stream;
	uint32_t row = assay_add(&run->part.t, ASSAY_T_stream);
	s->id[row] = 7;
	s->device[row] = 1;
	s->handle[row] = 0xfedcba9876543210;
	s->context[row] = 3;
	s->priority[row] = -5;
	s->flags[row] = 2;
	assay_jsonw w = {0};
	assay_arena scratch = {0};
	assay_stream_put(&w, run, row, 100, 0);
	assay_json j = assay_json_members(&scratch, assay_jsonw_text(&w));
	uint32_t back = assay_stream_take(&run->part, &j);
	CHECK(s->id[back] == 7 && s->device[back] == 1 && s->handle[back] == s->handle[row]);
	CHECK(s->context[back] == 3 && s->priority[back] == -5 && s->flags[back] == 2);
	CHECK(s->created[back] == 100 && s->destroyed[back] == 0);
	assay_jsonw_free(&w);
	assay_arena_free(&scratch);
	assay_run_free(run);
	return 0;
}
