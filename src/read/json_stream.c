#include "read/json_stream.h"

#include "base/test.h"

enum {
	WINDOW = 1 << 20,
	VALUE_MAX = 256 << 20, /* a single value beyond this is no record of any writer */
	SKIP_WHOLE = 4 << 20,  /* larger containers are stepped over piece by piece */
	SKIP_DEPTH = 32,
};

static void look(assay_json_stream *s, uint64_t pos)
{
	assay_input_drop(s->in, pos);
	assay_view v = assay_input_view(s->in, pos, s->window);
	s->end = v.end && v.n <= s->window;
	size_t n = v.n < s->window ? v.n : s->window;
	s->j.base = s->j.p = v.p;
	s->j.end = v.p + n;
	s->pos = pos;
	if (s->run->progress)
		s->run->progress(s->run->progress_ctx, assay_input_path(s->in),
				 assay_input_file_pos(s->in), assay_input_file_bytes(s->in));
}

void assay_json_stream_open(assay_json_stream *s, assay_run *run, assay_input *in)
{
	*s = (assay_json_stream){.run = run, .in = in, .window = WINDOW};
	look(s, 0);
}

void assay_json_stream_go(assay_json_stream *s, uint64_t pos)
{
	s->window = WINDOW;
	look(s, pos);
}

/* After a failed try from `before`: true when there is more text, and the try is worth
 * repeating. */
static bool more(assay_json_stream *s, const assay_json *before)
{
	if (!s->j.cut || s->end)
		return false;
	uint64_t pos = s->pos + (uint64_t)(before->p - before->base);
	s->j = *before;
	if (pos == s->pos) {
		if (s->window >= VALUE_MAX) {
			s->j.bad = true;
			return false;
		}
		s->window *= 2;
	} else {
		s->window = WINDOW;
	}
	look(s, pos);
	return true;
}

char assay_json_stream_peek(assay_json_stream *s)
{
	char c;
	for (;;) {
		assay_json before = s->j;
		if ((c = assay_json_peek(&s->j)) || !assay_json_ok(&s->j))
			return c;
		s->j.cut = true;
		if (!more(s, &before))
			return 0;
	}
}

bool assay_json_stream_enter(assay_json_stream *s, char bracket)
{
	assay_json_stream_peek(s);
	return assay_json_enter(&s->j, bracket);
}

bool assay_json_stream_element(assay_json_stream *s)
{
	for (;;) {
		assay_json before = s->j;
		if (assay_json_element(&s->j))
			return true;
		if (!more(s, &before))
			return false;
	}
}

bool assay_json_stream_member(assay_json_stream *s, assay_str *key)
{
	for (;;) {
		assay_json before = s->j;
		if (assay_json_member(&s->j, key))
			return true;
		if (!more(s, &before))
			return false;
	}
}

static bool is_between(char c)
{
	return (unsigned char)c <= ' ' || c == ',';
}

bool assay_json_stream_again(assay_json_stream *s)
{
	if (!assay_json_ok(&s->j))
		return false;
	for (;;) {
		while (s->j.p < s->j.end && is_between(*s->j.p))
			s->j.p++;
		if (s->j.p < s->j.end || s->end)
			break;
		look(s, assay_json_stream_pos(s));
	}
	if (s->j.p == s->j.end || *s->j.p == '{')
		return s->j.p < s->j.end;
	assay_count(&s->run->part, ASSAY_ISSUE_bad_record, 1);
	assay_warn(s->run, "more_text",
		   "%s: what follows byte %llu is not a trace, and was not read",
		   assay_input_path(s->in), (unsigned long long)assay_json_stream_pos(s));
	return false;
}

static bool skip_whole(assay_json_stream *s, size_t limit)
{
	for (;;) {
		assay_json before = s->j;
		if (assay_json_skip(&s->j, NULL))
			return true;
		if (s->j.cut && !s->end && s->window >= limit && before.p == before.base) {
			s->j = before;
			return false;
		}
		if (!more(s, &before))
			return false;
	}
}

static bool skip(assay_json_stream *s, int depth)
{
	char c = assay_json_stream_peek(s);
	bool pieces = (c == '{' || c == '[') && depth < SKIP_DEPTH;
	if (skip_whole(s, pieces ? SKIP_WHOLE : VALUE_MAX))
		return true;
	if (!assay_json_ok(&s->j) || !pieces) {
		s->j.bad |= !s->j.cut;
		return false;
	}
	assay_str key;
	assay_json_stream_enter(s, c);
	while (c == '{' ? assay_json_stream_member(s, &key) : assay_json_stream_element(s))
		if (!skip(s, depth + 1))
			return false;
	return assay_json_ok(&s->j);
}

bool assay_json_stream_skip(assay_json_stream *s)
{
	return skip(s, 0);
}

bool assay_json_stream_take(assay_json_stream *s, bool (*parse)(assay_json *j, void *ctx),
			    void *ctx)
{
	for (;;) {
		assay_json before = s->j;
		if (parse(&s->j, ctx) && assay_json_ok(&s->j))
			return true;
		if (more(s, &before))
			continue;
		if (!s->j.cut) { /* wrong inside, or not what parse wants: the brackets may still
				    match */
			uint32_t odd = s->j.odd;
			s->j = before;
			s->j.odd = odd;
			skip(s, 0);
		}
		return false;
	}
}

static bool sum_numbers(assay_json *j, void *ctx)
{
	int64_t *sum = ctx, n, local = 0;
	for (assay_json_enter(j, '['); assay_json_element(j);)
		if (assay_json_i64(j, &n))
			local += n;
	*sum = local;
	return true;
}

TEST(a_stream_reads_values_larger_than_its_window)
{
	enum { N = 900000 };
	assay_vec(char) text = {0};
	assay_vec_reserve(&text, (size_t)N * 8 + 64);
	text.n = (size_t)sprintf(text.p, "{\"a\":[");
	for (int i = 0; i < N; i++)
		text.n += (size_t)sprintf(text.p + text.n, "%d%s", i % 10, i < N - 1 ? ", " : "],");
	text.n += (size_t)sprintf(text.p + text.n, "\"b\":[1,2]}");
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(text.p, text.n);
	assay_json_stream s;
	assay_str key;
	int64_t sum = 0;
	assay_json_stream_open(&s, run, in);
	CHECK(assay_json_stream_enter(&s, '{') && assay_json_stream_member(&s, &key));
	CHECK(assay_json_stream_take(&s, sum_numbers, &sum));
	CHECK_EQ(sum, N / 10 * 45);
	CHECK(assay_json_stream_member(&s, &key) && assay_str_is(key, "b"));
	CHECK(assay_json_stream_take(&s, sum_numbers, &sum) && sum == 3);
	CHECK(!assay_json_stream_member(&s, &key) && assay_json_ok(&s.j));
	assay_input_close(in);
	assay_run_free(run);
	assay_vec_free(&text);
	return 0;
}

TEST(a_stream_skips_what_does_not_fit_and_ends_where_text_ends)
{
	enum { N = 1200000 };
	assay_vec(char) text = {0};
	assay_vec_reserve(&text, (size_t)N * 8);
	text.n = (size_t)sprintf(text.p, "[{\"x\":[[");
	for (int i = 0; i < N; i++)
		text.n += (size_t)sprintf(text.p + text.n, "\"a]\",");
	text.n += (size_t)sprintf(text.p + text.n, "0]]}, 7");
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(text.p, text.n);
	assay_json_stream s;
	assay_json_stream_open(&s, run, in);
	CHECK(assay_json_stream_enter(&s, '[') && assay_json_stream_element(&s));
	CHECK(assay_json_stream_skip(&s) && assay_json_stream_element(&s));
	CHECK(assay_json_stream_peek(&s) == '7');
	CHECK(!assay_json_stream_skip(&s) && s.j.cut);
	assay_input_close(in);
	assay_run_free(run);
	assay_vec_free(&text);
	return 0;
}
