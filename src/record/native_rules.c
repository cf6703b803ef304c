/* From .eh_frame_hdr and .eh_frame (the Linux Standard Base's, after DWARF's call frame
 * information) the rule that leads from an address to its function's caller. Only what compilers
 * write for x86-64 is followed; anything else ends a stack instead of guessing. Rules are kept, so
 * that a table is read once for each address. */
#include <string.h>

#include "record/native.h"
#include "record/py.h"

enum { BP = 6, SP = 7, RETURN = 16 }; /* DWARF's numbers of registers */
enum { PCREL_SDATA4 = 0x1b, UDATA4 = 3, DATAREL_SDATA4 = 0x3b, ENCODING_PCREL = 0x10 };
enum { ENTRY = 8, HEAD = 12, PIECE = 4096, KEPT = 8192, STATES = 8, CIE_BYTES = 256 };

/* Bytes, read one after the other; past the end they are 0 and `bad` is set. */
typedef struct bytes {
	const unsigned char *p;
	size_t at, n;
	bool bad;
} bytes;

static uint64_t take(bytes *b, size_t n)
{
	uint64_t v = 0;
	if (b->at > b->n || b->n - b->at < n) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p + b->at, n);
	b->at += n;
	return v;
}

static uint64_t take_unsigned(bytes *b)
{
	uint64_t v = 0, c;
	for (unsigned shift = 0;; shift += 7) {
		c = take(b, 1);
		v |= shift < 64 ? (c & 127) << shift : 0;
		if (!(c & 128) || b->bad)
			return v;
	}
}

static int64_t take_signed(bytes *b)
{
	uint64_t v = 0, c;
	unsigned shift = 0;
	do {
		c = take(b, 1);
		v |= shift < 64 ? (c & 127) << shift : 0;
		shift += 7;
	} while (c & 128 && !b->bad);
	if (c & 64 && shift < 64)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

/* A count of units, whatever a damaged table says. */
static int64_t times(uint64_t n, int64_t unit)
{
	return (int64_t)(n * (uint64_t)unit);
}

static void skip(bytes *b, uint64_t n)
{
	b->bad |= n > b->n - b->at;
	b->at += b->bad ? 0 : n;
}

/* ---- common information ---- */

typedef struct common {
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of addresses */
	bool augmented, signal;
	bytes program;
} common;

/* p: its bytes from the length on, n of them. */
static bool read_common(common *c, const unsigned char *p, size_t n)
{
	bytes b = {p, 0, n, false};
	uint64_t length = take(&b, 4);
	if (length + 4 < n)
		b.n = (size_t)length + 4;
	take(&b, 4);
	uint64_t version = take(&b, 1);
	const char *text = (const char *)p + b.at;
	size_t text_n = b.at < b.n ? strnlen(text, b.n - b.at) : 0;
	skip(&b, text_n + 1);
	*c = (common){.encoding = 0};
	c->code_unit = take_unsigned(&b);
	c->data_unit = take_signed(&b);
	uint64_t ret = version == 1 ? take(&b, 1) : take_unsigned(&b);
	if (b.bad || ret != RETURN || (version != 1 && version != 3))
		return false;
	c->augmented = text_n && text[0] == 'z';
	uint64_t more = c->augmented ? take_unsigned(&b) : 0;
	size_t end = b.at + (size_t)more;
	for (size_t i = 1; i < text_n && !b.bad; i++) {
		if (text[i] == 'R')
			c->encoding = (uint8_t)take(&b, 1);
		else if (text[i] == 'L')
			take(&b, 1);
		else if (text[i] == 'P') /* pointer of 4 bytes, or of 8 */
			skip(&b, (take(&b, 1) & 15) == 0 ? 8 : 4);
		else if (text[i] == 'S')
			c->signal = true;
		else
			break;
	}
	if (b.bad || end > b.n)
		return false;
	c->program = (bytes){p, end, b.n, false};
	return true;
}

/* ---- programs ---- */

typedef struct state {
	int64_t frame, ret, bp; /* ret and bp counted from the frame */
	uint8_t from;
	bool has_ret, has_bp, bp_at_bp;
} state;

typedef struct machine {
	const common *c;
	state now, first, kept[STATES];
	unsigned kept_n;
	uint64_t at, until; /* counted from the function's begin */
	uint64_t pc;
	bool lost;
} machine;

static uint8_t from_of(uint64_t reg)
{
	return reg == SP ? ASSAY_NATIVE_SP : reg == BP ? ASSAY_NATIVE_BP : ASSAY_NATIVE_LOST;
}

/* A register is saved `from the frame`. */
static void saved(machine *m, uint64_t reg, int64_t where)
{
	if (reg == RETURN)
		m->now.ret = where, m->now.has_ret = true;
	else if (reg == BP)
		m->now.bp = where, m->now.has_bp = true, m->now.bp_at_bp = false;
}

/* It is somewhere that is not followed: of a return address that ends the stack. */
static void elsewhere(machine *m, uint64_t reg)
{
	if (reg == RETURN)
		m->now.has_ret = false;
	else if (reg == BP)
		m->lost = true;
}

static void restored(machine *m, uint64_t reg)
{
	if (reg == RETURN)
		m->now.ret = m->first.ret, m->now.has_ret = m->first.has_ret;
	else if (reg == BP)
		m->now.bp = m->first.bp, m->now.has_bp = m->first.has_bp, m->now.bp_at_bp = false;
}

enum { OP_BP = 0x76, OP_LOAD = 0x06 };

/* The frame by an expression, as linkers write it for the stubs that lead to other libraries (sp +
 * 8, and 8 more from the 11th byte of a stub on), or compilers for functions that align their frame
 * (what stands at bp + offset). */
static void by_expression(machine *m, bytes *b)
{
	static const unsigned char stub[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33};
	uint64_t n = take_unsigned(b);
	bytes e = {b->p, b->at, b->at + (size_t)n, false};
	skip(b, n);
	m->now.from = ASSAY_NATIVE_LOST;
	if (b->bad || !n)
		return;
	if (n >= sizeof stub && !memcmp(e.p + e.at, stub, sizeof stub)) {
		m->now.from = ASSAY_NATIVE_SP;
		m->now.frame = (m->pc & 15) >= 11 ? 16 : 8;
	} else if (take(&e, 1) == OP_BP) {
		m->now.frame = take_signed(&e);
		if (take(&e, 1) == OP_LOAD && e.at == e.n)
			m->now.from = ASSAY_NATIVE_AT_BP;
	}
}

/* A register by an expression: where bp points to, or nowhere that is followed. */
static void saved_by_expression(machine *m, bytes *b)
{
	uint64_t reg = take_unsigned(b), n = take_unsigned(b);
	bytes e = {b->p, b->at, b->at + (size_t)n, false};
	skip(b, n);
	if (reg == BP && !b->bad && n == 2 && take(&e, 1) == OP_BP && take(&e, 1) == 0)
		m->now.bp_at_bp = true;
	else
		elsewhere(m, reg);
}

static void advance(machine *m, uint64_t units)
{
	m->at += units * m->c->code_unit;
}

/* Instructions without an operand in their first byte: DWARF 5, table 7.29, and one of GNU's. */
enum {
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
};

/* Where the frame is. False: the instruction is of something else. */
static bool run_frame(machine *m, bytes *b, uint64_t op)
{
	switch (op) {
	case CFA_DEF_CFA:
		m->now.from = from_of(take_unsigned(b));
		m->now.frame = (int64_t)take_unsigned(b);
		return true;
	case CFA_DEF_CFA_SF:
		m->now.from = from_of(take_unsigned(b));
		m->now.frame = times((uint64_t)take_signed(b), m->c->data_unit);
		return true;
	case CFA_DEF_CFA_REGISTER:
		m->now.from = from_of(take_unsigned(b));
		return true;
	case CFA_DEF_CFA_OFFSET:
		m->now.frame = (int64_t)take_unsigned(b);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		m->now.frame = times((uint64_t)take_signed(b), m->c->data_unit);
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		by_expression(m, b);
		return true;
	default:
		return false;
	}
}

/* Where a register of the caller is. False: the instruction is of something else. */
static bool run_register(machine *m, bytes *b, uint64_t op)
{
	uint64_t reg;
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = take_unsigned(b);
		saved(m, reg, times(take_unsigned(b), m->c->data_unit));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		reg = take_unsigned(b);
		saved(m, reg, times((uint64_t)take_signed(b), m->c->data_unit));
		return true;
	case CFA_RESTORE_EXTENDED:
		restored(m, take_unsigned(b));
		return true;
	case CFA_UNDEFINED:
		elsewhere(m, take_unsigned(b));
		return true;
	case CFA_SAME_VALUE:
		if (take_unsigned(b) == BP)
			m->now.has_bp = m->now.bp_at_bp = false;
		return true;
	case CFA_REGISTER:
		elsewhere(m, take_unsigned(b));
		take_unsigned(b);
		return true;
	case CFA_EXPRESSION:
		saved_by_expression(m, b);
		return true;
	case CFA_VAL_EXPRESSION:
		elsewhere(m, take_unsigned(b));
		skip(b, take_unsigned(b));
		return true;
	default:
		return false;
	}
}

static void run_other(machine *m, bytes *b, uint64_t op)
{
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_ADVANCE_LOC1:
		advance(m, take(b, 1));
		break;
	case CFA_ADVANCE_LOC2:
		advance(m, take(b, 2));
		break;
	case CFA_ADVANCE_LOC4:
		advance(m, take(b, 4));
		break;
	case CFA_REMEMBER_STATE:
		m->lost |= m->kept_n == STATES;
		if (!m->lost)
			m->kept[m->kept_n++] = m->now;
		break;
	case CFA_RESTORE_STATE:
		m->lost |= !m->kept_n;
		if (!m->lost)
			m->now = m->kept[--m->kept_n];
		break;
	case CFA_GNU_ARGS_SIZE:
		take_unsigned(b);
		break;
	default:
		m->lost |= !run_frame(m, b, op) && !run_register(m, b, op);
	}
}

static void run(machine *m, bytes b)
{
	while (b.at < b.n && !b.bad && !m->lost) {
		state before = m->now;
		uint64_t op = take(&b, 1), low = op & 63;
		if (op >> 6 == 1)
			advance(m, low);
		else if (op >> 6 == 2)
			saved(m, low, times(take_unsigned(&b), m->c->data_unit));
		else if (op >> 6 == 3)
			restored(m, low);
		else
			run_other(m, &b, op);
		if (m->at > m->until) { /* what holds from there on is not of this address */
			m->now = before;
			return;
		}
	}
	m->lost |= b.bad;
}

/* ---- the table ---- */

static bool at32(uintptr_t at, int32_t *v)
{
	return assay_py_safely(0, at, v, sizeof *v);
}

/* Where the description of the function that holds pc begins; 0 none. */
static uintptr_t description_of(const assay_native_object *o, uintptr_t pc)
{
	unsigned char head[HEAD];
	uint32_t n;
	if (!o->table || !assay_py_safely(0, o->table, head, sizeof head) || head[0] != 1 ||
	    head[1] != PCREL_SDATA4 || head[2] != UDATA4 || head[3] != DATAREL_SDATA4)
		return 0;
	memcpy(&n, head + 8, sizeof n);
	uintptr_t first = o->table + HEAD;
	uint32_t lo = 0, hi = n; /* the last entry that begins at or before pc */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int32_t begin;
		if (!at32(first + (uintptr_t)mid * ENTRY, &begin))
			return 0;
		if (o->table + (uintptr_t)(intptr_t)begin <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	int32_t where;
	if (!lo || !at32(first + (uintptr_t)(lo - 1) * ENTRY + 4, &where))
		return 0;
	return o->table + (uintptr_t)(intptr_t)where;
}

/* Up to n bytes; fewer where a page behind is not there. */
static size_t read_some(uintptr_t at, unsigned char *to, size_t n)
{
	enum { STEP = 64 };
	if (assay_py_safely(0, at, to, n))
		return n;
	size_t done = 0;
	while (done + STEP <= n && assay_py_safely(0, at + done, to + done, STEP))
		done += STEP;
	return done;
}

static assay_native_rule rule_of(const machine *m, uintptr_t function)
{
	const state *s = &m->now;
	assay_native_rule r = {.function = function, .from = s->from};
	bool fits = s->frame == (int32_t)s->frame && s->ret == (int32_t)s->ret &&
		    s->bp == (int32_t)s->bp;
	if (m->lost || !fits || m->c->signal)
		r.from = ASSAY_NATIVE_LOST;
	else if (!s->has_ret)
		r.from = ASSAY_NATIVE_LAST;
	r.frame = (int32_t)s->frame;
	r.ret = (int32_t)s->ret;
	r.bp_at_bp = s->bp_at_bp;
	r.bp = s->has_bp ? (int32_t)s->bp : 0;
	return r;
}

static assay_native_rule find_rule(const assay_native_object *o, uintptr_t pc)
{
	static unsigned char piece[PIECE], of_common[CIE_BYTES];
	const assay_native_rule none = {.from = ASSAY_NATIVE_LOST};
	uintptr_t at = description_of(o, pc);
	bytes b = {piece, 0, at ? read_some(at, piece, PIECE) : 0, false};
	uint64_t length = take(&b, 4);
	if (length < b.n - 4)
		b.n = (size_t)length + 4;
	uintptr_t common_at = at + 4 - (uintptr_t)take(&b, 4);
	common c;
	if (b.bad || length >= 0xfffffff0 ||
	    !read_common(&c, of_common, read_some(common_at, of_common, CIE_BYTES)) ||
	    (c.encoding & ~ENCODING_PCREL) != 0x0b)
		return none;
	uintptr_t pos = at + b.at; /* the address is counted from itself */
	uintptr_t function =
		(c.encoding & ENCODING_PCREL ? pos : 0) + (uintptr_t)(intptr_t)(int32_t)take(&b, 4);
	uint64_t size = take(&b, 4);
	if (c.augmented)
		skip(&b, take_unsigned(&b));
	if (b.bad || pc < function || pc - function >= size)
		return none;
	machine m = {.c = &c, .until = pc - function, .pc = pc};
	run(&m, c.program);
	m.first = m.now;
	m.at = 0;
	run(&m, b);
	return rule_of(&m, function);
}

assay_native_rule assay_native_rule_at(const assay_native_object *o, uintptr_t pc)
{
	static struct {
		uintptr_t pc;
		uint32_t serial;
		assay_native_rule rule;
	} kept[KEPT];
	size_t i = (pc * 0x9e3779b97f4a7c15u >> 40) % KEPT;
	if (kept[i].pc != pc || kept[i].serial != o->serial) {
		kept[i].rule = find_rule(o, pc);
		kept[i].pc = pc;
		kept[i].serial = o->serial;
	}
	return kept[i].rule;
}
