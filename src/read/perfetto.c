/* Perfetto traces (.pftrace, .perfetto-trace): packets of track events, counters and GPU work, as
 * rocprofv3, rocprof-sys, Perfetto's SDK and our own writer make them. docs/formats/perfetto.md
 *
 * Packets are read once, in order. What a slice is stands in its first packet, so rows are made
 * then; where it ends, and whose track it is on, is known for certain after the last one. */
#include "read/perfetto.h"

#include "base/demangle.h"
#include "base/limits.h"
#include "base/pump.h"
#include "base/test.h"
#include "read/reader.h"

enum { SNIFF_PACKETS = 8 };

/* ------------------------------------------------------------------ which file it is */

/* Fields of a packet: of those we read, the kind of value; of others any, up to the largest. */
static bool fits_packet(const assay_field *f)
{
	enum { LARGEST = 1000 };
	static const uint8_t messages[] = {
		PF_PACKET_PROCESS_TREE, PF_PACKET_CLOCKS,    PF_PACKET_EVENT,
		PF_PACKET_INTERNED,     PF_PACKET_PROCESS,   PF_PACKET_THREAD,
		PF_PACKET_ZLIB,         PF_PACKET_DEFAULTS,  PF_PACKET_TRACK,
		PF_PACKET_GPU_COUNTERS, PF_PACKET_GPU_STAGE, PF_PACKET_ZSTD,
		PF_PACKET_SAMPLE,       PF_PACKET_STREAMED,  PF_PACKET_CHROME,
		PF_PACKET_FTRACE,       PF_PACKET_GPU_INFO};
	static const uint8_t numbers[] = {PF_PACKET_TIMESTAMP, PF_PACKET_SEQUENCE, PF_PACKET_FLAGS,
					  PF_PACKET_CLOCK_ID, PF_PACKET_PID};
	for (size_t i = 0; i < ASSAY_COUNT_OF(messages); i++)
		if (f->number == messages[i])
			return f->wire == ASSAY_WIRE_BYTES;
	for (size_t i = 0; i < ASSAY_COUNT_OF(numbers); i++)
		if (f->number == numbers[i])
			return f->wire == ASSAY_WIRE_VARINT;
	return f->number <= LARGEST;
}

enum { FRAMED = 1, TELLING = 2 };

/* What stands in a packet: a time or a sequence, and something that we read. -1: it is none. */
static int look_at_packet(assay_str message)
{
	assay_proto c = assay_proto_on(message);
	int found = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (!fits_packet(&f))
			return -1;
		if (f.number == PF_PACKET_SEQUENCE || f.number == PF_PACKET_TIMESTAMP)
			found |= FRAMED;
		if (f.number == PF_PACKET_TRACK || f.number == PF_PACKET_EVENT ||
		    f.number == PF_PACKET_CLOCKS || f.number == PF_PACKET_INTERNED ||
		    f.number == PF_PACKET_GPU_STAGE || f.number == PF_PACKET_GPU_COUNTERS ||
		    f.number == PF_PACKET_SAMPLE || f.number == PF_PACKET_STREAMED ||
		    f.number == PF_PACKET_CHROME || f.number == PF_PACKET_GPU_INFO)
			found |= TELLING;
		if (f.number == PF_PACKET_ZLIB || f.number == PF_PACKET_ZSTD)
			found |= FRAMED | TELLING;
	}
	return c.bad ? -1 : found;
}

/* Of a trace whose first packets are all of other data sources only the frames are known. */
static int perfetto_sniff(assay_str head)
{
	assay_proto c = assay_proto_on(head);
	int all = 0, framed = 0;
	for (int i = 0; i < SNIFF_PACKETS && !c.cut; i++) {
		assay_field f;
		if (!assay_proto_next(&c, &f) && !c.cut)
			break;
		if (f.number != PF_TRACE_PACKET || f.wire != ASSAY_WIRE_BYTES)
			return 0;
		int found = look_at_packet(f.bytes);
		if (found < 0)
			return 0;
		all |= found;
		framed += found & FRAMED;
	}
	return c.bad ? 0 : all == (FRAMED | TELLING) ? 90 : framed > 1 ? 40 : 0;
}

/* ------------------------------------------------------------------ what a sequence says */

static uint32_t sequence_at(perfetto *x, uint64_t id)
{
	uint32_t *i = assay_map_at(&x->sequence_of, id);
	if (*i == ASSAY_MAP_ABSENT) {
		*i = (uint32_t)x->sequences.n;
		*assay_push(&x->sequences) =
			(perfetto_sequence){.writer = -1, .pid = -1, .tid = -1};
	}
	return *i;
}

static void forget_defaults(perfetto_sequence *s)
{
	s->extra[0].n = s->extra[1].n = 0;
	s->has_track = false;
	s->clock = 0;
}

static void forget(perfetto *x, perfetto_sequence *s)
{
	x->named++;
	x->notes_named++;
	assay_map_free(&s->interned);
	s->clocks.n = 0;
	forget_defaults(s);
	s->begun = true;
}

static void free_sequence(perfetto_sequence *s)
{
	assay_map_free(&s->interned);
	assay_vec_free(&s->clocks);
	assay_vec_free(&s->extra[0]);
	assay_vec_free(&s->extra[1]);
}

void perfetto_set_interned(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid,
			   uint32_t value)
{
	*assay_map_at(&x->sequences.p[sequence].interned, (uint64_t)kind << 59 ^ iid) = value;
	x->named++;
	x->notes_named += kind == PF_IS_KEY || kind == PF_IS_TEXT;
}

static const struct {
	uint16_t field;
	uint8_t kind;
} named[] = {
	{PF_INTERNED_CATEGORY, PF_IS_CATEGORY}, {PF_INTERNED_NAME, PF_IS_NAME},
	{PF_INTERNED_KEY, PF_IS_KEY},           {PF_INTERNED_TEXT, PF_IS_TEXT},
	{PF_INTERNED_STAGE, PF_IS_STAGE},       {PF_INTERNED_ARG_NAME, PF_IS_ARG_NAME},
	{PF_INTERNED_FUNCTION, PF_IS_FUNCTION}, {PF_INTERNED_PATH, PF_IS_PATH},
	{PF_INTERNED_SOURCE, PF_IS_SOURCE},
};

/* An entry of any list: its number, and what stands in its first fields. */
typedef struct entry {
	uint64_t iid, value[5];
	assay_str text[5]; /* by field number */
} entry;

static entry read_entry(assay_str message)
{
	entry e = {0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_NAMED_IID && f.wire == ASSAY_WIRE_VARINT)
			e.iid = f.value;
		if (f.number >= ASSAY_COUNT_OF(e.text))
			continue;
		e.text[f.number] = f.bytes;
		e.value[f.number] = f.value;
	}
	return e;
}

static void add_kernel(perfetto *x, uint32_t sequence, assay_str message)
{
	entry e = read_entry(message);
	perfetto_kernel k = {0};
	assay_str name = e.text[PF_KERNEL_DEMANGLED];
	assay_arena_reset(&x->scratch);
	if (!name.n)
		name = assay_demangle(&x->scratch, e.text[PF_NAMED_TEXT]);
	k.name = assay_intern(&x->part->strings, name);
	k.arch = assay_intern(&x->part->strings, e.text[PF_KERNEL_ARCH]);
	assay_protow args = {0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == PF_KERNEL_ARGS && f.wire == ASSAY_WIRE_BYTES)
			assay_protow_bytes(&args, PF_LAUNCH_ARGS, f.bytes);
	assay_str all = assay_protow_data(&args);
	assay_vec_reserve(&k.args, all.n + 1);
	if (all.n)
		memcpy(k.args.p, all.p, all.n);
	k.args.n = all.n;
	assay_protow_free(&args);
	perfetto_set_interned(x, sequence, PF_IS_KERNEL, e.iid, (uint32_t)x->kernels.n);
	*assay_push(&x->kernels) = k;
}

static void read_interned(perfetto *x, uint32_t sequence, assay_str message)
{
	bool stacks = false;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		for (size_t i = 0; i < ASSAY_COUNT_OF(named); i++) {
			if (f.number != named[i].field)
				continue;
			entry e = read_entry(f.bytes);
			perfetto_set_interned(
				x, sequence, named[i].kind, e.iid,
				assay_intern(&x->part->strings, e.text[PF_NAMED_TEXT]));
		}
		if (f.number == PF_INTERNED_CONTEXT) {
			entry e = read_entry(f.bytes);
			perfetto_set_interned(x, sequence, PF_IS_CONTEXT, e.iid,
					      (uint32_t)e.value[PF_CONTEXT_PID]);
		} else if (f.number == PF_INTERNED_KERNEL) {
			add_kernel(x, sequence, f.bytes);
		} else if (f.number == PF_INTERNED_COUNTERS) {
			entry e = read_entry(f.bytes);
			perfetto_counter_names(x, (int32_t)e.value[3], e.text[2]);
		}
		stacks |= f.number == PF_INTERNED_MAPPING || f.number == PF_INTERNED_FRAME ||
			  f.number == PF_INTERNED_STACK;
	}
	if (stacks)
		perfetto_stacks_interned(x, sequence, message);
}

/* New ones take the place of all that were there. */
static void read_defaults(perfetto *x, uint32_t sequence, assay_str message)
{
	perfetto_sequence *s = &x->sequences.p[sequence];
	assay_proto c = assay_proto_on(message);
	forget_defaults(s);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_DEFAULT_CLOCK)
			s->clock = (uint32_t)f.value;
		if (f.number != PF_DEFAULT_EVENT || f.wire != ASSAY_WIRE_BYTES)
			continue;
		assay_proto d = assay_proto_on(f.bytes);
		for (assay_field g; assay_proto_next(&d, &g);) {
			if (g.number == PF_EVENT_TRACK) {
				s->track = g.value;
				s->has_track = true;
			} else if (g.number == PF_EVENT_EXTRA_TRACKS) {
				perfetto_numbers_add(&s->extra[0], &g, false);
			} else if (g.number == PF_EVENT_EXTRA_F64_TRACKS) {
				perfetto_numbers_add(&s->extra[1], &g, false);
			}
		}
	}
}

/* Descriptors before there were tracks: the thread whose events the sequence has. */
static void read_thread(perfetto *x, uint32_t sequence, assay_str message)
{
	perfetto_sequence *s = &x->sequences.p[sequence];
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_THREAD_PID)
			perfetto_see_process(x, sequence, (uint32_t)f.value);
		else if (f.number == PF_THREAD_TID)
			s->tid = assay_field_i64(&f);
		else if (f.number == PF_THREAD_REFERENCE_US)
			s->reference_us = assay_field_i64(&f);
	}
}

/* ------------------------------------------------------------------ packets */

/* What tells of the recording itself, or is there for readers to find their place. */
static bool about_trace(uint32_t field)
{
	enum {
		CONFIG = 33,
		STATS = 35,
		SYNC_MARKER = 36,
		SYSTEM = 45,
		TRIGGER = 46,
		EVENTS = 56,
		UUID = 89,
		DESCRIPTORS = 72,
	};
	return field == CONFIG || field == STATS || field == SYNC_MARKER || field == SYSTEM ||
	       field == TRIGGER || field == EVENTS || field == UUID || field == DESCRIPTORS;
}

typedef perfetto_header frame;

static inline void take_number(frame *p, uint32_t field, uint64_t v)
{
	switch (field) {
	case PF_PACKET_SEQUENCE:
		p->sequence = v;
		break;
	case PF_PACKET_TIMESTAMP:
		p->time = v;
		p->has_time = true;
		break;
	case PF_PACKET_CLOCK_ID:
		p->clock = (uint32_t)v;
		break;
	case PF_PACKET_FLAGS:
		p->flags = v;
		break;
	case PF_PACKET_CLEARED:
		p->cleared = v;
		break;
	case PF_PACKET_DROPPED:
		p->dropped = v;
		break;
	case PF_PACKET_PID:
		p->pid = (uint32_t)v;
		break;
	default:
		break;
	}
}

/* Numbers from the cursor on whose tag is one byte, as nearly all are. */
static inline void take_plain_numbers(assay_proto *c, frame *out)
{
	for (const uint8_t *p = c->p; p < c->end && *p >= 8 && !(*p & 0x87); c->p = p) {
		uint32_t field = *p++ >> 3;
		uint64_t v;
		if (!assay_varint_padded(&p, &v) || p > c->end)
			return;
		take_number(out, field, v);
	}
}

bool perfetto_header_read(perfetto *x, assay_str message, perfetto_header *out)
{
	assay_proto c = assay_proto_on(message);
	*out = (frame){.pid = -1};
	x->fields.n = 0;
	for (assay_field f; take_plain_numbers(&c, out), assay_proto_next_padded(&c, &f);) {
		if (f.wire == ASSAY_WIRE_BYTES)
			*assay_push(&x->fields) = f;
		else if (f.wire == ASSAY_WIRE_VARINT)
			take_number(out, f.number, f.value);
	}
	return !c.bad && !c.cut;
}

/* Packets in a packet, one level deep. */
static void read_packed(perfetto *x, assay_field f)
{
	uint64_t room =
		ASSAY_LIMIT_PACKETS + ASSAY_LIMIT_PACKETS_RATIO * assay_input_file_pos(x->in);
	size_t most = room > x->unpacked_bytes ? (size_t)(room - x->unpacked_bytes) : 0;
	if (x->inside) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	x->unpacked.n = 0;
	bool ok = f.number == PF_PACKET_ZLIB ? assay_inflate(&x->unpacked, f.bytes, most)
					     : assay_unzstd(&x->unpacked, f.bytes, most);
	assay_vec_reserve(&x->unpacked, x->unpacked.n + ASSAY_PAD);
	x->unpacked_bytes += x->unpacked.n;
	x->args_left += ASSAY_LIMIT_ARGS_RATIO * (uint64_t)x->unpacked.n;
	x->inside = true;
	assay_proto c = assay_proto_on((assay_str){(const char *)x->unpacked.p, x->unpacked.n});
	for (assay_field g; assay_proto_next(&c, &g);)
		if (g.number == PF_TRACE_PACKET && g.wire == ASSAY_WIRE_BYTES)
			perfetto_packet_read(x, g.bytes);
	assay_count(x->part, ASSAY_ISSUE_bad_record, !ok || c.bad || c.cut);
	x->inside = false;
}

/* What events of the packet itself refer to. */
static void read_state(perfetto *x, uint32_t sequence)
{
	for (size_t i = 0; i < x->fields.n; i++) {
		const assay_field *f = &x->fields.p[i];
		if (f->number == PF_PACKET_INTERNED)
			read_interned(x, sequence, f->bytes);
		else if (f->number == PF_PACKET_DEFAULTS)
			read_defaults(x, sequence, f->bytes);
		else if (f->number == PF_PACKET_CLOCKS)
			perfetto_snapshot(x, sequence, f->bytes);
	}
}

static void read_message(perfetto *x, const perfetto_packet *p, const assay_field *f)
{
	switch (f->number) {
	case PF_PACKET_EVENT:
		perfetto_event_read(x, p, f->bytes);
		break;
	case PF_PACKET_GPU_STAGE:
		perfetto_stage_read(x, p, f->bytes);
		break;
	case PF_PACKET_GPU_COUNTERS:
		perfetto_counters_read(x, p, f->bytes);
		break;
	case PF_PACKET_SAMPLE:
		perfetto_sample_read(x, p, f->bytes);
		break;
	case PF_PACKET_STREAMED:
		perfetto_streamed_read(x, p, f->bytes);
		break;
	case PF_PACKET_TRACK:
		perfetto_describe_track(x, p->sequence, f->bytes);
		break;
	case PF_PACKET_PROCESS_TREE:
		perfetto_describe_tree(x, f->bytes);
		break;
	case PF_PACKET_THREAD:
		read_thread(x, p->sequence, f->bytes);
		break;
	case PF_PACKET_GPU_INFO:
		perfetto_info_read(x, p->sequence, f->bytes);
		break;
	case PF_PACKET_CHROME:
		perfetto_chrome_read(x, f->bytes);
		break;
	case PF_PACKET_CLOCKS:
	case PF_PACKET_INTERNED:
	case PF_PACKET_DEFAULTS:
	case PF_PACKET_PROCESS:
		break;
	default:
		x->other += !about_trace(f->number);
		x->ftrace += f->number == PF_PACKET_FTRACE;
		break;
	}
}

/* True when the packet can be read: its sequence has not lost what it refers to. */
static bool follow_sequence(perfetto *x, const frame *f, uint32_t sequence)
{
	perfetto_sequence *s = &x->sequences.p[sequence];
	if (f->pid > 0 && s->writer != f->pid) /* readers ahead look at it */
		s->writer = f->pid;
	if (f->cleared || f->flags & PF_STATE_CLEARED)
		forget(x, s);
	else if (f->dropped)
		s->begun = false;
	bool lost = f->flags & PF_STATE_NEEDED && !s->begun;
	assay_count(x->part, ASSAY_ISSUE_lost_records, lost);
	return !lost;
}

void perfetto_packet_read(perfetto *x, assay_str message)
{
	frame f;
	if (!perfetto_header_read(x, message, &f)) {
		assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	for (size_t i = 0; i < x->fields.n; i++)
		if (x->fields.p[i].number == PF_PACKET_ZLIB ||
		    x->fields.p[i].number == PF_PACKET_ZSTD) {
			read_packed(x, x->fields.p[i]);
			return;
		}
	perfetto_packet p = {.sequence = sequence_at(x, f.sequence)};
	if (!follow_sequence(x, &f, p.sequence))
		return;
	read_state(x, p.sequence);
	if (f.has_time) {
		p.has_ts = perfetto_time(x, p.sequence, f.clock, f.time, &p.ts);
		assay_count(x->part, ASSAY_ISSUE_wide_value, !p.has_ts);
	}
	for (size_t i = 0; i < x->fields.n; i++)
		read_message(x, &p, &x->fields.p[i]);
}

/* ------------------------------------------------------------------ the file */

bool perfetto_view_read(perfetto *x, assay_view v, size_t most, size_t *used)
{
	assay_proto c = assay_proto_on((assay_str){v.p, v.n});
	assay_field f;
	for (; most && assay_proto_next(&c, &f); most--)
		if (f.number == PF_TRACE_PACKET && f.wire == ASSAY_WIRE_BYTES) {
			x->args_left += ASSAY_LIMIT_ARGS_RATIO * (uint64_t)f.whole.n;
			perfetto_packet_read(x, f.bytes);
		}
	*used = (size_t)((const char *)c.p - v.p);
	assay_count(x->part, ASSAY_ISSUE_bad_record, c.bad);
	assay_count(x->part, ASSAY_ISSUE_truncated, c.cut && v.end);
	return !c.bad && !(c.cut && v.end);
}

void perfetto_tell_progress(const perfetto *x)
{
	const assay_run *run = x->run;
	if (run->progress)
		run->progress(run->progress_ctx, assay_input_path(x->in),
			      assay_input_file_pos(x->in), assay_input_file_bytes(x->in));
}

enum { WINDOW = 1 << 20 };

/* With several threads: some packets, then those behind them that are of the usual form. The less
 * of these there are, the longer it is until the next try. */
static void read_all(perfetto *x, perfetto_crew *crew)
{
	enum {
		LEAST = 1 + 63 / ASSAY_PUMP_SHRINK,
		MOST = 1 << 16,
		WORTH = (64 << 10) / ASSAY_PUMP_SHRINK,
	};
	uint64_t pos = 0;
	size_t many = crew ? LEAST : SIZE_MAX;
	for (size_t used = 0, want = WINDOW;; pos += used) {
		assay_view v = assay_input_view(x->in, pos, want);
		if (!v.n || !perfetto_view_read(x, v, many, &used))
			break;
		if (crew && !(v.end && v.n - used < WORTH)) {
			uint64_t end = perfetto_read_ahead(crew, pos + used);
			many = end - pos - used >= WORTH ? LEAST : many < MOST ? 2 * many : many;
			used = (size_t)(end - pos);
		}
		assay_input_drop(x->in, pos + used);
		/* a packet that is longer than the window */
		v = assay_input_view(x->in, pos + used, ASSAY_PROTO_HEAD);
		want = v.n ? assay_proto_need((assay_str){v.p, v.n}) : 0;
		want = want > WINDOW ? want : WINDOW;
		perfetto_tell_progress(x);
	}
}

void perfetto_free(perfetto *x)
{
	for (size_t i = 0; i < x->sequences.n; i++)
		free_sequence(&x->sequences.p[i]);
	for (size_t i = 0; i < x->kernels.n; i++)
		assay_vec_free(&x->kernels.p[i].args);
	for (int i = 0; i < 2; i++) {
		assay_vec_free(&x->value[i]);
		assay_vec_free(&x->value_track[i]);
	}
	perfetto_clocks_free(&x->clocks);
	assay_vec_free(&x->sequences);
	assay_vec_free(&x->tracks);
	assay_vec_free(&x->kernels);
	assay_vec_free(&x->notes);
	assay_vec_free(&x->shown);
	assay_vec_free(&x->raw);
	for (size_t i = 0; i < PF_MEMBERS; i++)
		assay_vec_free(&x->members[i].raw);
	assay_vec_free(&x->fields);
	assay_vec_free(&x->arg_of);
	assay_vec_free(&x->category_of);
	assay_vec_free(&x->ends.ts);
	assay_vec_free(&x->ends.track);
	assay_vec_free(&x->ends.row);
	assay_vec_free(&x->ends.args);
	assay_vec_free(&x->ends.table);
	assay_vec_free(&x->gpu);
	assay_vec_free(&x->sync);
	assay_vec_free(&x->mark);
	assay_vec_free(&x->device_sequence);
	assay_vec_free(&x->stream_tracks);
	assay_vec_free(&x->unpacked);
	assay_map_free(&x->sequence_of);
	assay_map_free(&x->track_of);
	assay_map_free(&x->counter_name);
	assay_map_free(&x->named_process);
	assay_map_free(&x->named_thread);
	perfetto_stacks_free(x);
	assay_jsonw_free(&x->json);
	assay_json_forms_free(&x->forms);
	assay_arena_free(&x->scratch);
}

static void set_clock(perfetto *x, uint32_t first)
{
	assay_source_table *s = &x->part->t.source;
	int64_t base;
	bool epoch = perfetto_epoch(x, &base);
	for (uint32_t i = first; i < s->n; i++) {
		s->base[i] = epoch ? base : 0;
		s->epoch[i] = epoch;
	}
}

static void tell_other(const perfetto *x)
{
	bool only = true;
	char ftrace[96] = "";
	for (int i = 0; i < ASSAY_T_COUNT; i++)
		only &= i == ASSAY_T_source || i == ASSAY_T_warning || i == ASSAY_T_track ||
			x->first[i] == assay_rows(&x->run->part.t, &assay_table_infos[i]);
	if (!x->other)
		return;
	if (x->ftrace)
		snprintf(ftrace, sizeof ftrace, " (%llu of ftrace, events of the system)",
			 (unsigned long long)x->ftrace);
	assay_warn(
		x->run, "perfetto_packets",
		"%s: %llu packets of other data sources were not read%s: only track events, counters, samples of threads and GPU work are%s",
		assay_input_path(x->in), (unsigned long long)x->other, ftrace,
		only ? ", and it holds none of these" : "");
}

static bool perfetto_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_arena scratch = {0};
	perfetto *x = assay_alloc(&scratch, sizeof *x); /* too large for a small stack */
	*x = (perfetto){.run = run,
			.part = &run->part,
			.in = in,
			.args_left = ASSAY_LIMIT_ARGS,
			.stacks = {.part = &run->part},
			.last = INT64_MIN};
	uint32_t source = run->part.source;
	(void)err;
	for (int i = 0; i < ASSAY_T_COUNT; i++)
		x->first[i] = assay_rows(&run->part.t, &assay_table_infos[i]);
	unsigned threads = assay_run_threads(run);
	perfetto_crew *crew = threads > 1 ? perfetto_crew_new(x, threads, &scratch) : NULL;
	read_all(x, crew);
	if (crew)
		perfetto_crew_free(crew);
	perfetto_finish(x);
	set_clock(x, source);
	run->part.t.source.records[source] += x->events;
	perfetto_chrome_finish(x);
	tell_other(x);
	perfetto_free(x);
	assay_arena_free(&scratch);
	return true;
}

const assay_reader assay_reader_perfetto = {
	.name = "perfetto",
	.ends = {".pftrace", ".perfetto-trace"},
	.about = "Perfetto traces: rocprofv3, rocprof-sys and other writers of .pftrace",
	.waits = "as written",
	.scopes = "ranges",
	.note = "waits as far as calls and waits were written; rocprofv3's cut overlapping kernels",
	.page = "perfetto",
	.sniff = perfetto_sniff,
	.read = perfetto_read,
	.alone = true,
	.ranked = true,
	.traits = ASSAY_TRAIT_BLOCKS,
};
