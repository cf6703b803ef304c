/* Names and lines out of code objects. */
#include <string.h>

#include "record/py.h"

/* ---- text ---- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	bool lone = c >= 0xd800 && c < 0xe000; /* half of a pair: a file name that is not UTF-8 */
	c = lone || c > 0x10ffff ? 0xfffd : c;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
		       out[2] = (char)(0x80 | (c & 63)), 3;
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* At most as many characters as leave room for the longest. */
static size_t encode(const unsigned char *in, size_t n, size_t wide, char *out, size_t len)
{
	for (size_t i = 0; i < n && len + 4 <= ASSAY_PY_TEXT; i++) {
		uint32_t c = 0;
		memcpy(&c, in + i * wide, wide);
		len += put_utf8(out + len, c);
	}
	return len;
}

/* Bits of the state: 2-4 bytes of a character, 5 compact, 6 ASCII, behind string_shift others. */
size_t assay_py_text(const assay_py *py, assay_py_get *get, int pid, uintptr_t string, char *out)
{
	enum { COMPACT = 1 << 5, ASCII = 1 << 6 };
	unsigned char piece[256]; /* small: it may be on a thread of the program's */
	int64_t length;
	uint32_t state;
	if (!get(pid, string + py->at.object_size, &length, sizeof length) ||
	    !get(pid, string + py->at.string_state, &state, sizeof state))
		return 0;
	state >>= py->at.string_shift;
	size_t wide = state >> 2 & 7, len = 0;
	if (!(state & COMPACT) || length < 0 || (wide != 1 && wide != 2 && wide != 4))
		return 0;
	uintptr_t at = string + (state & ASCII ? py->at.string_ascii : py->at.string_other);
	size_t left = length < ASSAY_PY_TEXT ? (size_t)length : ASSAY_PY_TEXT;
	while (left) {
		size_t n = left < sizeof piece / wide ? left : sizeof piece / wide;
		if (!get(pid, at, piece, n * wide))
			return 0;
		len = encode(piece, n, wide, out, len);
		at += n * wide;
		left -= n;
	}
	return len;
}

/* ---- lines ---- */

/* A line table, read piece by piece. */
typedef struct table {
	assay_py_get *get;
	int pid;
	uintptr_t at, end;
	unsigned char piece[256];
	size_t next, have;
	bool bad;
} table;

static int next_byte(table *t)
{
	if (t->next == t->have) {
		size_t left = t->end - t->at;
		t->next = 0;
		t->have = left < sizeof t->piece ? left : sizeof t->piece;
		if (!t->have || !t->get(t->pid, t->at, t->piece, t->have)) {
			t->bad = true;
			t->have = 0;
			return 0;
		}
		t->at += t->have;
	}
	return t->piece[t->next++];
}

static bool more(const table *t)
{
	return !t->bad && (t->next < t->have || t->at < t->end);
}

/* 3.9: pairs of steps in bytecode and lines. */
static int32_t by_steps(table *t, int32_t line, int64_t offset)
{
	for (int64_t at = 0; more(t);) {
		at += next_byte(t);
		int8_t step = (int8_t)next_byte(t);
		if (at > offset || t->bad)
			break;
		line += step;
	}
	return line;
}

/* 3.10: lengths of bytecode and steps in lines; -128: no line. */
static int32_t by_ranges(table *t, int32_t line, int64_t offset)
{
	for (int64_t end = 0; more(t);) {
		end += next_byte(t);
		int8_t step = (int8_t)next_byte(t);
		line += step == -128 ? 0 : step;
		if (offset < end)
			return step == -128 ? 0 : line;
	}
	return 0;
}

static uint32_t varint(table *t)
{
	uint32_t v = 0;
	for (int shift = 0; shift < 32; shift += 6) {
		int b = next_byte(t);
		v |= (uint32_t)(b & 63) << shift;
		if (!(b & 64) || t->bad)
			break;
	}
	return v;
}

/* 3.11 and newer: an entry's first byte has the top bit, its kind and length in units of 2. */
static int32_t by_locations(table *t, int32_t line, int64_t offset)
{
	enum { SHORT_LAST = 9, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };
	for (int64_t end = 0; more(t);) {
		int head = next_byte(t), kind = head >> 3 & 15;
		if (!(head & 128))
			return 0;
		end += ((head & 7) + 1) * 2;
		if (kind == NO_COLUMNS || kind == LONG) {
			uint32_t v = varint(t);
			line += v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
		} else if (kind > SHORT_LAST && kind <= ONE_LINE_LAST) {
			line += kind - SHORT_LAST - 1;
		}
		if (offset < end)
			return kind == NO_LINE ? 0 : line;
		int rest = kind <= SHORT_LAST ? 1 : kind <= ONE_LINE_LAST ? 2 : 0;
		for (int i = 0; i < rest; i++)
			next_byte(t);
		for (int i = 0; kind == LONG && i < 3; i++)
			varint(t);
	}
	return 0;
}

static int64_t bytecode_size(const assay_py *py, assay_py_get *get, int pid, uintptr_t code)
{
	int64_t n = 0;
	uintptr_t at = code + py->at.code_size;
	if (py->minor <= 10 && (!get(pid, at, &at, sizeof at) || !(at += py->at.object_size)))
		return -1;
	if (!get(pid, at, &n, sizeof n))
		return -1;
	return py->minor <= 10 ? n : n * 2;
}

/* In free-threaded builds threads have bytecode of their own: where that begins which the
 * instruction is in. */
static uintptr_t own_bytecode(const assay_py *py, assay_py_get *get, int pid,
			      const assay_py_frame *f)
{
	enum { COPIES_MAX = 65536 };
	uintptr_t copies, start;
	int64_t n = 0, size = bytecode_size(py, get, pid, f->code);
	if (!get(pid, f->code + py->at.code_copies, &copies, sizeof copies) || !copies ||
	    !get(pid, copies, &n, sizeof n))
		n = 0;
	for (int64_t i = 0; i < n && i < COPIES_MAX; i++)
		if (get(pid, copies + sizeof n + (uintptr_t)i * sizeof start, &start,
			sizeof start) &&
		    start && f->at + 2 >= start && (int64_t)(f->at - start) < size)
			return start;
	return f->code + py->at.code_start;
}

/* Offset of the instruction in the bytecode; below 0: the frame was just made. */
static int64_t offset_of(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f)
{
	if (py->at.code_copies != ASSAY_PY_NONE)
		return (int64_t)(f->at - own_bytecode(py, get, pid, f));
	if (py->at.code_start != ASSAY_PY_NONE)
		return (int64_t)(f->at - (f->code + py->at.code_start));
	int64_t index = (int64_t)(f->at - f->code);
	return py->minor == 10 ? 2 * index : index;
}

static bool has_type(const assay_py *py, assay_py_get *get, int pid, uintptr_t object,
		     uintptr_t type)
{
	uintptr_t got;
	return get(pid, object + py->at.object_type, &got, sizeof got) && got == type;
}

bool assay_py_is_called(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f)
{
	enum { GENERATOR = 0x20, COROUTINE = 0x80, ASYNC_GENERATOR = 0x200 };
	int32_t flags = 0;
	return get(pid, f->code + py->at.code_flags, &flags, sizeof flags) &&
	       flags & (GENERATOR | COROUTINE | ASYNC_GENERATOR);
}

/* Of a function that Nuitka made machine code of the frame is said to be a generator's, which its
 * code is not. The instruction there stands for nothing. */
static bool is_compiled(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f)
{
	enum { GENERATORS = 1 };
	signed char owner = 0;
	return py->at.frame_owner != ASSAY_PY_NONE && f->frame &&
	       get(pid, f->frame + py->at.frame_owner, &owner, 1) && owner == GENERATORS &&
	       !assay_py_is_called(py, get, pid, f);
}

int32_t assay_py_line(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f)
{
	int64_t offset = offset_of(py, get, pid, f), size;
	uintptr_t bytes;
	int32_t first;
	table t = {.get = get, .pid = pid};
	if (is_compiled(py, get, pid, f))
		return 0;
	if (!get(pid, f->code + py->at.code_line, &first, sizeof first))
		return 0;
	if (offset < 0) /* up to 3.10 of Nuitka's frames, too, and they stay so */
		return py->minor > 10 ? first : 0;
	if (!get(pid, f->code + py->at.code_lines, &bytes, sizeof bytes) || !bytes ||
	    !get(pid, bytes + py->at.object_size, &size, sizeof size) || size < 0)
		return first;
	t.at = bytes + py->at.bytes_data;
	t.end = t.at + (uintptr_t)size;
	int32_t line = py->minor == 9    ? by_steps(&t, first, offset)
		       : py->minor == 10 ? by_ranges(&t, first, offset)
					 : by_locations(&t, first, offset);
	return t.bad ? 0 : line;
}

bool assay_py_is_code(const assay_py *py, assay_py_get *get, int pid, const assay_py_frame *f)
{
	uintptr_t file, name;
	int64_t offset = offset_of(py, get, pid, f);
	if (!has_type(py, get, pid, f->code, py->code_type) ||
	    !get(pid, f->code + py->at.code_file, &file, sizeof file) ||
	    !get(pid, f->code + py->at.code_name, &name, sizeof name) ||
	    !has_type(py, get, pid, file, py->string_type) ||
	    !has_type(py, get, pid, name, py->string_type))
		return false;
	return offset >= -2 && offset < bytecode_size(py, get, pid, f->code) &&
	       assay_py_line(py, get, pid, f) >= 0;
}
