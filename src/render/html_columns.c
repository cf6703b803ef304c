/* Columns of numbers as compact bytes, and the texts they refer to. */
#include "render/html_page.h"

#include "base/assert.h"
#include "base/test.h"

static void put_varint(assay_blob *out, uint64_t v)
{
	assay_vec_reserve(out, out->n + 10);
	for (; v >= 0x80; v >>= 7)
		out->p[out->n++] = (uint8_t)(v | 0x80);
	out->p[out->n++] = (uint8_t)v;
}

page_column assay_column_begin(assay_page *p, const char *name, const char *code)
{
	return (page_column){.page = p, .start = p->columns.n, .name = name, .code = code};
}

void assay_column_u64(page_column *c, uint64_t v)
{
	ASSAY_ASSERT_CHECKED(!strcmp(c->code, "plain"));
	put_varint(&c->page->columns, v);
	c->n++;
}

void assay_column_i64(page_column *c, int64_t v)
{
	ASSAY_ASSERT_CHECKED(!strcmp(c->code, "delta"));
	uint64_t d = (uint64_t)v - (uint64_t)c->last;
	put_varint(&c->page->columns, d << 1 ^ (0 - (d >> 63)));
	c->last = v;
	c->n++;
}

void assay_column_f64(page_column *c, double v)
{
	uint64_t bits;
	ASSAY_ASSERT_CHECKED(!strcmp(c->code, "f64"));
	memcpy(&bits, &v, sizeof bits);
	assay_vec_reserve(&c->page->columns, c->page->columns.n + 8);
	for (int i = 0; i < 64; i += 8)
		c->page->columns.p[c->page->columns.n++] = (uint8_t)(bits >> i);
	c->n++;
}

static void put_bytes(page_column *c, assay_str s)
{
	assay_vec_reserve(&c->page->columns, c->page->columns.n + s.n);
	if (s.n)
		memcpy(c->page->columns.p + c->page->columns.n, s.p, s.n);
	c->page->columns.n += s.n;
	c->n += s.n;
}

void assay_column_end(page_column *c)
{
	assay_jsonw *w = &c->page->index;
	assert(c->page->columns.n - c->start >= c->n); /* a value takes a byte or more */
	assay_jsonw_open_flat(w, NULL, '{');
	assay_jsonw_z(w, "name", c->name);
	assay_jsonw_z(w, "code", c->code);
	assay_jsonw_u64(w, "n", c->n);
	assay_jsonw_u64(w, "bytes", c->page->columns.n - c->start);
	assay_jsonw_close(w, '}');
}

uint32_t assay_page_text(assay_page *p, assay_sid sid)
{
	if (!sid)
		return 0;
	uint32_t *slot = assay_map_at(&p->text_of, sid);
	if (*slot == ASSAY_MAP_ABSENT) {
		*assay_push(&p->texts) = sid;
		*slot = (uint32_t)p->texts.n;
	}
	return *slot;
}

void assay_page_texts(assay_page *p)
{
	page_column size = assay_column_begin(p, "text.bytes", "plain");
	for (size_t i = 0; i < p->texts.n; i++)
		assay_column_u64(&size, assay_text(p->run, p->texts.p[i]).n);
	assay_column_end(&size);
	page_column text = assay_column_begin(p, "text.utf8", "bytes");
	for (size_t i = 0; i < p->texts.n; i++)
		put_bytes(&text, assay_text(p->run, p->texts.p[i]));
	assay_column_end(&text);
}

TEST(columns_are_varints)
{
	assay_page p = {0};
	page_column c = assay_column_begin(&p, "c", "delta");
	assay_column_i64(&c, 5);         /* +5 -> 10 */
	assay_column_i64(&c, 3);         /* -2 -> 3 */
	assay_column_i64(&c, INT64_MIN); /* wraps, must not overflow */
	CHECK(p.columns.p[0] == 10 && p.columns.p[1] == 3 && c.n == 3);
	p.columns.n = 0;
	c = assay_column_begin(&p, "c", "plain");
	assay_column_u64(&c, 300);
	CHECK(p.columns.n == 2 && p.columns.p[0] == 0xac && p.columns.p[1] == 2);
	assay_vec_free(&p.columns);
	return 0;
}
