/* Annotations of Perfetto's events: those with a column by name, the rest as JSON members. */
#include "read/perfetto.h"

#include <assert.h>
#include <inttypes.h>

/* How a value is taken: a number; three of them ("1 x 2 x 3" or "n (x=1, y=2, z=3)"); the first
 * number in a text ("Agent-2"). */
enum { NUMBER, THREE, IN_TEXT };

/* Names as Kineto and our writer, rocprofv3, rocpd and rocprof-sys, and Perfetto's CUDA and HIP
 * producers have them. */
static const struct {
	const char *name;
	uint8_t arg, how;
} known[] = {
	{"correlation", PF_CORR, NUMBER},
	{"corr_id", PF_CORR, NUMBER},
	{"correlation_id", PF_CORR, NUMBER},
	{"External id", PF_EXTERNAL, NUMBER},
	{"external id", PF_EXTERNAL, NUMBER},
	{"Ev Idx", PF_EV_IDX, NUMBER},
	{"Sequence number", PF_SEQ, NUMBER},
	{"Fwd thread id", PF_FWD_THREAD, NUMBER},
	{"Python id", PF_PY_ID, NUMBER},
	{"Python parent id", PF_PY_PARENT, NUMBER},
	{"cbid", PF_CBID, NUMBER},
	{"stream", PF_STREAM, NUMBER},
	{"stream_ID", PF_STREAM, NUMBER},
	{"stream_id", PF_STREAM, NUMBER},
	{"device", PF_DEVICE, NUMBER},
	{"agent", PF_DEVICE, IN_TEXT},
	{"context", PF_CONTEXT, NUMBER},
	{"queue", PF_QUEUE, NUMBER},
	{"dispatch", PF_DISPATCH, NUMBER},
	{"dispatch_id", PF_DISPATCH, NUMBER},
	{"grid", PF_GRID, THREE},
	{"grid_size", PF_GRID_ITEMS, THREE},
	{"block", PF_BLOCK, THREE},
	{"workgroup_size", PF_BLOCK, THREE},
	{"registers per thread", PF_REGS, NUMBER},
	{"registers_per_thread", PF_REGS, NUMBER},
	{"VGPR_Count", PF_REGS, NUMBER},
	{"accumulation registers per thread", PF_ACC_REGS, NUMBER},
	{"Accum_VGPR_Count", PF_ACC_REGS, NUMBER},
	{"scalar registers per thread", PF_SCALAR_REGS, NUMBER},
	{"SGPR_Count", PF_SCALAR_REGS, NUMBER},
	{"shared memory", PF_SHARED, NUMBER},
	{"LDS_Block_Size", PF_SHARED, NUMBER},
	{"group_segment_size", PF_SHARED, NUMBER},
	{"scratch memory", PF_SCRATCH, NUMBER},
	{"Scratch_Size", PF_SCRATCH, NUMBER},
	{"private_segment_size", PF_SCRATCH, NUMBER},
	{"bytes", PF_BYTES, NUMBER},
	{"copy_bytes", PF_BYTES, NUMBER},
	{"graph id", PF_GRAPH, NUMBER},
	{"graph node id", PF_GRAPH_NODE, NUMBER},
	{"wait_on_stream", PF_WAIT_STREAM, NUMBER},
	{"wait_on_cuda_event_record_corr_id", PF_RECORD_CORR, NUMBER},
	{"wait_on_cuda_event_id", PF_EVENT, NUMBER},
	{"sync_id", PF_SYNC_ID, NUMBER},
	{"status", PF_STATUS, NUMBER},
	{"begin_ns", PF_TIMES, NUMBER},
	{"end_ns", PF_TIMES, NUMBER},
	{"delta_ns", PF_TIMES, NUMBER},
	{"assay_found", PF_FOUND, NUMBER},
	{"assay_derived", PF_DERIVED, NUMBER},
};

enum { MEMBER_BYTES = 24, NOT_KNOWN = 255, DEPTH_MAX = 8, REMEMBERED = 4096 };

uint32_t perfetto_interned_look(perfetto *x, perfetto_asked *a, uint32_t sequence,
				perfetto_interned kind, uint64_t iid)
{
	const assay_map *interned = &x->sequences.p[sequence].interned;
	*a = (perfetto_asked){iid, x->named + 1, sequence,
			      assay_map_get(interned, (uint64_t)kind << 59 ^ iid), kind};
	return a->value;
}

bool perfetto_afford(perfetto *x, size_t n)
{
	if (n > x->args_left) {
		assay_count(x->part, ASSAY_ISSUE_wide_value, 1);
		return false;
	}
	x->args_left -= n;
	return true;
}

static uint8_t look_up_arg(perfetto *x, assay_sid key)
{
	assay_str name = perfetto_text(x, key);
	unsigned i = 0;
	while (x->arg_of.n <= key)
		*assay_push(&x->arg_of) = 0;
	while (i < ASSAY_COUNT_OF(known) && !assay_str_is(name, known[i].name))
		i++;
	return x->arg_of.p[key] = (uint8_t)(i < ASSAY_COUNT_OF(known) ? i + 1 : NOT_KNOWN);
}

/* Index in known, remembered by the string's id. */
static inline unsigned known_arg(perfetto *x, assay_sid key)
{
	uint8_t i = key < x->arg_of.n ? x->arg_of.p[key] : 0;
	if (!i)
		i = look_up_arg(x, key);
	return i == NOT_KNOWN ? NOT_KNOWN : i - 1u;
}
static_assert(ASSAY_COUNT_OF(known) < NOT_KNOWN, "one byte a name");

/* The next run of digits; false when there is none. */
static bool digits(assay_str *s, int64_t *out)
{
	const char *p = s->p, *end = p + s->n;
	while (p < end && !assay_is_digit(*p))
		p++;
	const char *from = p;
	uint64_t v = 0;
	for (; p < end && assay_is_digit(*p); p++)
		v = v * 10 + (uint64_t)(*p - '0');
	*s = (assay_str){p, (size_t)(end - p)};
	*out = (int64_t)v;
	if (p - from < ASSAY_DIGITS_MAX - 1) /* so many always fit */
		return p > from;
	return assay_str_i64((assay_str){from, (size_t)(p - from)}, out);
}

static bool take_three(perfetto_args *a, unsigned arg, assay_str text)
{
	ptrdiff_t open = assay_str_find(text, "(");
	int64_t v[3];
	if (open >= 0) /* "64 (x=64, y=1, z=1)": the product stands in front */
		text = (assay_str){text.p + open, text.n - (size_t)open};
	for (int i = 0; i < 3; i++)
		if (!digits(&text, &v[i]) || v[i] > UINT32_MAX)
			return false;
	uint32_t *to = arg == PF_BLOCK ? a->block : a->grid;
	for (int i = 0; i < 3; i++)
		to[i] = (uint32_t)v[i];
	return true;
}

typedef struct note {
	assay_sid key;
	assay_field value;
	bool has;
	assay_str text; /* of interned and plain text */
	assay_str message;
} note;

/* The same before it is known what it means, if it is as most are: numbers of its key and of the
 * value's field, and the value or its length. */
typedef struct plain_note {
	uint64_t key, value;
	uint32_t tag;
	assay_str bytes; /* of a text */
} plain_note;

#define TAG(field, wire) ((field) << 3 | ASSAY_WIRE_##wire)

static assay_str named_text(perfetto *x, uint32_t sequence, uint64_t iid)
{
	uint32_t sid = perfetto_interned_get(x, sequence, PF_IS_TEXT, iid);
	return perfetto_text(x, sid == ASSAY_MAP_ABSENT ? 0 : sid);
}

static inline bool is_plain(assay_str message, plain_note *n)
{
	const uint8_t *at = (const uint8_t *)message.p, *end = at + message.n;
	if (message.n < 4 || *at++ != TAG(PF_NOTE_NAME_IID, VARINT) ||
	    !assay_varint_padded(&at, &n->key))
		return false;
	n->tag = *at++;
	if (n->tag >= 0x80)
		n->tag = (n->tag & 0x7f) | (uint32_t)*at++ << 7;
	if (!assay_varint_padded(&at, &n->value) || at > end)
		return false;
	n->bytes = (assay_str){(const char *)at, (size_t)(end - at)};
	return n->tag == TAG(PF_NOTE_UINT, VARINT) || n->tag == TAG(PF_NOTE_INT, VARINT) ||
			       n->tag == TAG(PF_NOTE_TEXT_IID, VARINT)
		       ? !n->bytes.n
		       : (n->tag == TAG(PF_NOTE_TEXT, BYTES) ||
			  n->tag == TAG(PF_NOTE_JSON, BYTES)) &&
				 n->bytes.n == n->value;
}

static inline assay_sid key_of(perfetto *x, uint32_t sequence, uint64_t iid)
{
	uint32_t sid = perfetto_interned_get(x, sequence, PF_IS_KEY, iid);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

static void read_parts(perfetto *x, uint32_t sequence, assay_str message, note *n)
{
	*n = (note){.message = message};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next_padded(&c, &f);) {
		if (f.number == PF_NOTE_NAME_IID && f.wire == ASSAY_WIRE_VARINT) {
			n->key = key_of(x, sequence, f.value);
		} else if (f.number == PF_NOTE_NAME && f.wire == ASSAY_WIRE_BYTES) {
			if (!perfetto_is_beyond(x))
				n->key = assay_intern(&x->part->strings, f.bytes);
		} else {
			n->value = f;
			n->has = true;
		}
	}
	n->text = n->value.bytes;
	if (n->has && n->value.number == PF_NOTE_TEXT_IID)
		n->text = named_text(x, sequence, n->value.value);
}

static bool is_text(const note *n)
{
	return n->value.number == PF_NOTE_TEXT || n->value.number == PF_NOTE_TEXT_IID;
}

static bool take_number(const note *n, unsigned how, int64_t *out)
{
	assay_str text = n->text;
	if (n->value.wire == ASSAY_WIRE_VARINT && n->value.number != PF_NOTE_TEXT_IID) {
		*out = (int64_t)n->value.value;
		return n->value.number != PF_NOTE_BOOL;
	}
	if (!is_text(n))
		return false;
	return how == IN_TEXT ? digits(&text, out) : assay_str_i64(text, out);
}

/* Columns in which 0 is none. */
static const uint64_t none_is_zero = 1ull << PF_CORR | 1ull << PF_EXTERNAL | 1ull << PF_GRAPH |
				     1ull << PF_GRAPH_NODE | 1ull << PF_SYNC_ID;

/* False: it says 0, not nothing. */
static bool put_number(unsigned arg, int64_t v, perfetto_args *out)
{
	if (none_is_zero >> arg & 1 && !v)
		return false;
	out->num[arg] = v;
	out->has |= 1ull << arg;
	return true;
}

/* False: it has no column here, or no value of its kind. */
static bool take(perfetto *x, const note *n, uint64_t places, perfetto_args *out)
{
	unsigned i = known_arg(x, n->key);
	if (i == NOT_KNOWN || !(places >> known[i].arg & 1))
		return false;
	unsigned arg = known[i].arg;
	int64_t v = 1;
	bool is = known[i].how == THREE ? is_text(n) && take_three(out, arg, n->text)
					: take_number(n, known[i].how, &v);
	return is && put_number(arg, v, out);
}

static void put_value(perfetto *x, uint32_t sequence, const note *n, unsigned depth);

/* Dictionaries and arrays are annotations themselves. */
static void put_nested(perfetto *x, uint32_t sequence, const note *n, unsigned depth)
{
	bool dict = n->value.number == PF_NOTE_DICT;
	if (depth == DEPTH_MAX) {
		assay_jsonw_null(&x->json, NULL);
		return;
	}
	assay_jsonw_open(&x->json, NULL, dict ? '{' : '[');
	assay_proto c = assay_proto_on(n->message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number != n->value.number || f.wire != ASSAY_WIRE_BYTES)
			continue;
		note inner;
		read_parts(x, sequence, f.bytes, &inner);
		assay_str key = perfetto_text(x, inner.key);
		if (!perfetto_afford(x, MEMBER_BYTES + key.n + inner.text.n))
			break;
		if (dict)
			assay_jsonw_key(&x->json, key);
		put_value(x, sequence, &inner, depth + 1);
	}
	assay_jsonw_close(&x->json, dict ? '}' : ']');
}

static void put_text(perfetto *x, assay_str text, bool json)
{
	assay_arena_reset(&x->scratch);
	if (!json || !assay_jsonw_copy_known(&x->json, text, &x->scratch, &x->forms))
		assay_jsonw_str(&x->json, NULL, text);
}

static void put_value(perfetto *x, uint32_t sequence, const note *n, unsigned depth)
{
	switch (n->has ? n->value.number : 0) {
	case PF_NOTE_BOOL:
		assay_jsonw_bool(&x->json, NULL, n->value.value);
		break;
	case PF_NOTE_UINT:
	case PF_NOTE_POINTER:
		assay_jsonw_u64(&x->json, NULL, n->value.value);
		break;
	case PF_NOTE_INT:
		assay_jsonw_i64(&x->json, NULL, assay_field_i64(&n->value));
		break;
	case PF_NOTE_DOUBLE:
		assay_jsonw_f64(&x->json, NULL, assay_field_f64(&n->value));
		break;
	case PF_NOTE_TEXT:
		assay_jsonw_str(&x->json, NULL, n->text);
		break;
	case PF_NOTE_TEXT_IID: /* as our writer and others put lists and objects */
		put_text(x, n->text, PF_IS_STRUCTURE(n->text));
		break;
	case PF_NOTE_JSON:
		put_text(x, n->text, true);
		break;
	case PF_NOTE_DICT:
	case PF_NOTE_ARRAY:
		put_nested(x, sequence, n, depth);
		break;
	default:
		assay_jsonw_null(&x->json, NULL);
		break;
	}
}

static void put_member(perfetto *x, uint32_t sequence, const note *n)
{
	assay_str key = perfetto_text(x, n->key);
	if (!key.n || !perfetto_afford(x, MEMBER_BYTES + key.n + n->text.n))
		return;
	assay_jsonw_key(&x->json, key);
	put_value(x, sequence, n, 0);
}

static void forget_args(perfetto_args *out)
{
	out->has = 0;
	out->rest = 0;
	memset(out->grid, 0, sizeof out->grid);
	memset(out->block, 0, sizeof out->block);
}

static void begin_members(perfetto *x)
{
	x->json.out.n = 0;
	x->json.comma = false;
	x->json.compact = true;
	assay_jsonw_open(&x->json, NULL, '{');
}

void perfetto_args_begin(perfetto *x, perfetto_args *out)
{
	forget_args(out);
	begin_members(x);
}

/* Work-items to blocks: all rows of this format count blocks. */
static void grid_to_blocks(perfetto_args *a)
{
	if (!perfetto_has(a, PF_GRID_ITEMS))
		return;
	for (int i = 0; i < 3; i++)
		if (a->block[i])
			a->grid[i] =
				(uint32_t)(((uint64_t)a->grid[i] + a->block[i] - 1) / a->block[i]);
}

void perfetto_args_end(perfetto *x, perfetto_args *out)
{
	assay_jsonw_close(&x->json, '}');
	assay_str s = assay_jsonw_text(&x->json);
	out->rest = s.n <= 2 ? 0 : assay_intern(&x->part->strings, (assay_str){s.p + 1, s.n - 2});
	grid_to_blocks(out);
}

/* The bytes of what is shown, each with its length in front; where one stands behind the other, as
 * nearly always, as they are. */
static assay_str collect_raw(perfetto *x)
{
	enum { HEAD = 2 }; /* of a short one */
	size_t n = 0, next = 1;
	const assay_str *s = x->shown.p;
	while (next < x->shown.n && s[next - 1].p + s[next - 1].n + HEAD == s[next].p)
		next++;
	if (next == x->shown.n)
		return (assay_str){s[0].p, (size_t)(s[next - 1].p - s[0].p) + s[next - 1].n};
	for (size_t i = 0; i < x->shown.n; i++)
		n += sizeof(uint32_t) + s[i].n;
	assay_vec_reserve(&x->raw, n + 1);
	x->raw.n = 0;
	for (size_t i = 0; i < x->shown.n; i++) {
		uint32_t length = (uint32_t)s[i].n;
		memcpy(x->raw.p + x->raw.n, &length, sizeof length);
		if (s[i].n)
			memcpy(x->raw.p + x->raw.n + sizeof length, s[i].p, s[i].n);
		x->raw.n += sizeof length + s[i].n;
	}
	return (assay_str){x->raw.p, x->raw.n};
}

static assay_sid write_members(perfetto *x, uint32_t sequence, perfetto_args *out)
{
	begin_members(x);
	for (size_t i = 0; i < x->shown.n; i++) {
		note n;
		read_parts(x, sequence, x->shown.p[i], &n);
		put_member(x, sequence, &n);
	}
	perfetto_args_end(x, out);
	return out->rest;
}

/* What is shown, as members. */
static void take_rest(perfetto *x, uint32_t sequence, perfetto_args *out)
{
	assay_str raw = collect_raw(x);
	size_t first = x->shown.p[0].n; /* where the second begins, and so on */
	uint64_t hash = assay_hash(raw.p, raw.n, sequence), left = x->args_left;
	uint64_t wide = x->part->issues[ASSAY_ISSUE_wide_value];
	perfetto_members *m = &x->members[hash % PF_MEMBERS];
	if (m->hash == hash && m->state == x->notes_named + 1 && m->sequence == sequence &&
	    m->first == first && m->count == x->shown.n && m->cost <= left && m->raw.n == raw.n &&
	    !memcmp(m->raw.p, raw.p, raw.n)) {
		x->args_left -= m->cost;
		out->rest = m->args;
		grid_to_blocks(out);
		return;
	}
	m->state = 0;
	assay_sid args = write_members(x, sequence, out);
	if (raw.n > REMEMBERED || x->part->issues[ASSAY_ISSUE_wide_value] != wide)
		return;
	assay_vec_reserve(&m->raw, raw.n + 1);
	memcpy(m->raw.p, raw.p, raw.n);
	m->raw.n = raw.n;
	m->first = first;
	m->count = x->shown.n;
	m->hash = hash;
	m->state = x->notes_named + 1; /* 0: nothing is remembered */
	m->sequence = sequence;
	m->cost = left - x->args_left;
	m->args = args;
}

static bool take_any(perfetto *x, uint32_t sequence, assay_str message, uint64_t places,
		     perfetto_args *out)
{
	note n;
	read_parts(x, sequence, message, &n);
	return take(x, &n, places, out);
}

/* The same for most: numbers that have a column, and what has none. */
static inline bool take_note(perfetto *x, uint32_t sequence, assay_str message, uint64_t places,
			     perfetto_args *out)
{
	plain_note n;
	if (!is_plain(message, &n))
		return take_any(x, sequence, message, places, out);
	unsigned i = known_arg(x, key_of(x, sequence, n.key));
	if (i == NOT_KNOWN || !(places >> known[i].arg & 1))
		return false;
	bool number = n.tag == TAG(PF_NOTE_UINT, VARINT) || n.tag == TAG(PF_NOTE_INT, VARINT);
	unsigned arg = known[i].arg;
	if (!number || known[i].how != NUMBER)
		return take_any(x, sequence, message, places, out);
	return put_number(arg, (int64_t)n.value, out);
}

void perfetto_args_read(perfetto *x, uint32_t sequence, uint64_t places, perfetto_args *out)
{
	forget_args(out);
	x->shown.n = 0;
	for (size_t i = 0; i < x->notes.n; i++)
		if (!take_note(x, sequence, x->notes.p[i], places, out))
			*assay_push(&x->shown) = x->notes.p[i];
	if (x->shown.n)
		take_rest(x, sequence, out);
	else
		grid_to_blocks(out);
}

/* GpuRenderStageEvent.ExtraComputeArg: the same kinds of value under other numbers. */
void perfetto_launch_arg(perfetto *x, uint32_t sequence, assay_str message, perfetto_args *out)
{
	enum { NAME_IID = 1, NAME, INT, UINT, DOUBLE, TEXT, TEXT_IID };
	static const uint8_t as[] = {[INT] = PF_NOTE_INT,
				     [UINT] = PF_NOTE_UINT,
				     [DOUBLE] = PF_NOTE_DOUBLE,
				     [TEXT] = PF_NOTE_TEXT,
				     [TEXT_IID] = PF_NOTE_TEXT_IID};
	note n = {.message = message};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == NAME_IID && f.wire == ASSAY_WIRE_VARINT) {
			uint32_t sid = perfetto_interned_get(x, sequence, PF_IS_ARG_NAME, f.value);
			n.key = sid == ASSAY_MAP_ABSENT ? 0 : sid;
		} else if (f.number == NAME && f.wire == ASSAY_WIRE_BYTES) {
			n.key = assay_intern(&x->part->strings, f.bytes);
		} else if (f.number >= INT && f.number <= TEXT_IID) {
			n.value = f;
			n.value.number = as[f.number];
			n.has = true;
		}
	}
	n.text = n.value.bytes;
	if (n.has && n.value.number == PF_NOTE_TEXT_IID)
		n.text = named_text(x, sequence, n.value.value);
	if (!take(x, &n, ~0ull, out))
		put_member(x, sequence, &n);
}

assay_sid perfetto_join_args(perfetto *x, assay_sid a, assay_sid b)
{
	assay_str s = assay_pool_get(&x->part->strings, a),
		  t = assay_pool_get(&x->part->strings, b);
	if (!s.n || !t.n)
		return s.n ? a : b;
	if (!perfetto_afford(x, s.n + t.n))
		return a;
	assay_arena_reset(&x->scratch);
	return assay_intern_z(&x->part->strings, assay_printf(&x->scratch, "%s, %s", s.p, t.p));
}
