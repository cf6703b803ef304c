/* Rows as rocprofv3 writes them, read without looking at every byte. Compiled once per instruction
 * set.
 *
 * Anything unusual in a row (a literal quote, an empty or odd number, the end of the text) makes
 * the fast functions give up, and assay_csv_row() reads that row by all rules. What they do accept,
 * they read as it would. */
#include "read/rocprof_csv.h"

#include "base/simd.h"

/* Names are jumped over, so the processor's own prefetch falls behind: fetch about one row of
 * bytes, a few rows ahead. */
enum { AHEAD = 2048, AHEAD_BYTES = 576 };

/* Up to 19 digits that fit in int64_t; NULL for anything else. */
static inline const char *fast_number(const char *p, uint64_t *out)
{
	static const uint64_t power[] = {1,      10,      100,      1000,     10000,
					 100000, 1000000, 10000000, 100000000};
	uint64_t high = 0, low = 0, last = 0;
	unsigned n = simd_digits8(p, &high);
	if (n < 8) {
		*out = high;
		return n ? p + n : NULL;
	}
	n = simd_digits8(p + 8, &low);
	*out = high * power[n] + low;
	if (n < 8)
		return p + 8 + n;
	n = simd_digits8(p + 16, &last);
	*out = *out * power[n] + last;
	return n < 3 || (n == 3 && *p < '9') ? p + 16 + n : NULL;
}

/* n digits (1 to 8) at p; *bad becomes nonzero when other bytes are among them. */
static inline uint64_t few_digits(const char *p, size_t n, uint64_t *bad)
{
	uint64_t w;
	memcpy(&w, p, 8);
	w = (w ^ 0x3030303030303030u) << (64 - 8 * n); /* right-aligned, zeros before */
	*bad |= (w + 0x7676767676767676u) | w;
	return simd_parse8(w);
}

/* count number cells with a comma behind each, 16 digits at most; behind the last comma. NULL when
 * 128 bytes do not hold them. The commas are found first, so that no cell waits for the one before
 * it. Not inline: it needs all the registers. */
static __attribute__((noinline)) const char *
fast_numbers(uint64_t *v, const uint8_t *field, size_t count, const char *p, const char *end)
{
	const char *block = p;
	uint64_t commas = simd_eq(simd_load(p), ','), bad = 0;
	uint64_t more = end - p > 64 ? simd_eq(simd_load(p + 64), ',') : 0;
	for (const uint8_t *last = field + count; field < last; field++) {
		if (!commas) {
			commas = more;
			block += 64;
			more = 0;
			if (!commas)
				return NULL;
		}
		const char *q = block + __builtin_ctzll(commas);
		commas &= commas - 1;
		size_t n = (size_t)(q - p);
		if (n - 1 < 8)
			v[*field] = few_digits(p, n, &bad);
		else if (n - 9 < 8)
			v[*field] =
				few_digits(p, n - 8, &bad) * 100000000 + few_digits(q - 8, 8, &bad);
		else
			return NULL;
		p = q + 1;
	}
	return bad & 0x8080808080808080u ? NULL : p;
}

static inline const char *fast_agent(const char *p, uint64_t *out)
{
	if (*p != '"')
		return fast_number(p, out);
	if (memcmp(p, "\"Agent ", 7))
		return NULL;
	p = fast_number(p + 7, out);
	return p && *p == '"' && p[2] != ' ' ? p + 1 : NULL;
}

/* The closing quote of a cell whose text starts at p and holds no quote and no line break; else
 * NULL. */
static inline const char *closing_quote(const char *p, const char *end)
{
	for (; p < end; p += 64) {
		simd64 b = simd_load(p);
		uint64_t stop = simd_eq(b, '"') | simd_eq(b, '\n');
		if (!stop)
			continue;
		p += __builtin_ctzll(stop);
		bool closes = *p == '"' && p + 2 < end &&
			      ((p[1] == ',' && p[2] != ' ') || p[1] == '\n' ||
			       (p[1] == '\r' && p[2] == '\n'));
		return closes ? p : NULL;
	}
	return NULL;
}

/* Both have n bytes; 64 bytes behind p may be loaded, behind q only what is in its n. */
static inline bool same_text(const char *p, const char *q, size_t n)
{
	if (n < 64)
		return memcmp(p, q, n) == 0;
	for (size_t i = 0; i + 64 < n; i += 64)
		if (~simd_same(simd_load(p + i), simd_load(q + i)))
			return false;
	return !~simd_same(simd_load(p + n - 64), simd_load(q + n - 64));
}

static assay_sid new_name(csv_worker *w, csv_seen_name *seen, const char *p, size_t n)
{
	assay_sid id = assay_intern(&w->part.strings, (assay_str){p, n});
	assay_str kept = assay_pool_get(&w->part.strings, id);
	if (n <= UINT32_MAX)
		*seen = (csv_seen_name){kept.p, (uint32_t)n, id};
	return id;
}

/* A name from its first and last bytes: enough to tell most apart, verified by the caller. */
static inline size_t name_slot(const char *p, size_t n)
{
	uint64_t a, b;
	memcpy(&a, p, 8);
	memcpy(&b, p + (n > 8 ? n - 8 : 0), 8);
	if (n < 8)
		a = b = a << (64 - 8 * n);
	uint64_t h = (a ^ (b << 17 | b >> 47) ^ n) * 0x9E3779B97F4A7C15u;
	return h >> 32 & (CSV_NAMES - 1);
}

/* p is at the opening quote. */
static inline const char *fast_name(csv_worker *w, csv_field field, const char *p, const char *end)
{
	if (*p++ != '"')
		return NULL;
	bool by_id = field == CSV_NAME && w->plan->has_kernel_id;
	csv_seen_name *seen = &w->names[w->v[CSV_KERNEL_ID] & (CSV_NAMES - 1)];
	if (by_id && seen->n && (size_t)(end - p) > seen->n + 2u) {
		const char *q = p + seen->n;
		if (q[0] == '"' && q[1] == ',' && q[2] != ' ' &&
		    same_text(p, seen->text, seen->n)) {
			w->v[field] = seen->id;
			return q + 1;
		}
	}
	const char *q = closing_quote(p, end);
	if (!q)
		return NULL;
	size_t n = (size_t)(q - p);
	if (!n) {
		w->v[field] = 0;
		return q + 1;
	}
	if (!by_id)
		seen = &w->names[name_slot(p, n)];
	bool known = !by_id && seen->n == n && same_text(p, seen->text, n);
	w->v[field] = known ? seen->id : new_name(w, seen, p, n);
	return q + 1;
}

static void keep_same(csv_same *same, const char *p, size_t n)
{
	same->mask = 0;
	if (n > CSV_SAME_MAX)
		return;
	memcpy(same->text, p, n);
	same->n = (uint32_t)n;
	same->mask = ~(uint64_t)0 >> (64 - n);
}

/* A cell that is kept as text or not at all: mostly the same text in every row. */
static inline const char *fast_text(csv_worker *w, size_t col, const char *p, const char *end)
{
	csv_same *same = &w->same[col];
	csv_field field = w->plan->field[col];
	if (same->mask && !(same->mask & ~simd_same(simd_load(p), simd_load(same->text))) &&
	    p[same->n] != ' ') {
		w->text[field] = (assay_str){p + 1, same->n - 3u};
		return p + same->n - 1;
	}
	if (*p == '"') {
		const char *q = closing_quote(p + 1, end);
		if (!q)
			return NULL;
		/* the separator is kept too: without it, "a" would be found at the start of
		 * "a"b" */
		if (q[1] == ',')
			keep_same(same, p, (size_t)(q - p) + 2);
		w->text[field] = (assay_str){p + 1, (size_t)(q - p) - 1};
		return q + 1;
	}
	for (const char *q = p; q < end; q += 64) {
		simd64 b = simd_load(q);
		uint64_t stop = simd_eq(b, ',') | simd_eq(b, '\n') | simd_eq(b, '\r');
		uint64_t before = (stop & -stop) - 1; /* all of them when nothing stops */
		if (simd_eq(b, '"') & before)
			return NULL;
		if (stop) {
			q += __builtin_ctzll(stop);
			w->text[field] = (assay_str){p, (size_t)(q - p)};
			return q;
		}
	}
	return NULL;
}

/* To the separator behind the cell, or NULL. */
static inline const char *fast_cell(csv_worker *w, size_t col, const char *p, const char *end)
{
	csv_field field = w->plan->field[col];
	switch (w->plan->type[col]) {
	case CSV_AS_NUMBER:
		return fast_number(p, &w->v[field]);
	case CSV_AS_AGENT:
		return fast_agent(p, &w->v[field]);
	case CSV_AS_COUNTER:
		return NULL;
	case CSV_AS_NAME:
		return fast_name(w, field, p, end);
	default:
		return fast_text(w, col, p, end);
	}
}

/* Behind the row, or NULL. Reads less than ASSAY_PAD bytes past end, believes none of them. */
static inline const char *fast_row(csv_worker *w, const char *p, const char *end)
{
	const csv_plan *plan = w->plan;
	for (size_t col = 0; col + 1 < plan->cols;) {
		if (p >= end)
			return NULL;
		size_t numbers = plan->numbers[col];
		const char *q = NULL;
		if (numbers > 1)
			q = fast_numbers(w->v, &plan->field[col], numbers, p, end);
		if (q) {
			col += numbers;
			p = q;
			continue;
		}
		p = fast_cell(w, col++, p, end);
		if (!p || *p++ != ',')
			return NULL;
	}
	if (p >= end)
		return NULL;
	p = fast_cell(w, plan->cols - 1, p, end);
	if (!p)
		return NULL;
	p += *p == '\r';
	return *p == '\n' && p < end ? p + 1 : NULL;
}

CSV_ROWS(ASSAY_ISA_NAME(assay_csv_rows));

CSV_ROWS(ASSAY_ISA_NAME(assay_csv_rows))
{
	const char *p = text.p, *end = text.p + text.n, *next;
	assay_pump_status status = ASSAY_PUMP_LIMIT;
	for (; (size_t)(p - text.p) < limit; p = next) {
		for (int line = 0; line < AHEAD_BYTES; line += 64)
			__builtin_prefetch(p + AHEAD + line);
		next = fast_row(w, p, end);
		if (next && next - p > CSV_ROW_MAX)
			next = NULL;
		csv_row_status row = next ? CSV_ROW : CSV_CUT_ROW;
		if (!next && p < end)
			row = assay_csv_row(w, p, end, text.end, &next);
		if (row == CSV_CUT_ROW) {
			status = ASSAY_PUMP_MORE;
			break;
		}
		if (row == CSV_NO_ROW)
			continue;
		w->rows++;
		if (w->plan->kernels_only)
			csv_put_kernel(w);
		else
			w->plan->kind->put(w);
	}
	*used = (size_t)(p - text.p);
	return status;
}
