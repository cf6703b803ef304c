/* The text of an XPlane file. The names that events refer to stand behind them, so a plane cannot
 * be read from its beginning to its end. Where bytes can be had from any place, only what stands
 * between the lines is held, and events are fetched by the thread that takes them apart, into a
 * buffer that it uses again: new pages for the file would cost as much as reading it. Packed files
 * and pipes are held a plane at a time. */
#include "read/xplane.h"

bool xplane_text_from(xplane_text *t, assay_input *in, uint64_t pos)
{
	*t = (xplane_text){.in = in};
	if (assay_input_is_at_will(in)) {
		t->end = assay_input_text_bytes(in);
		return pos < t->end;
	}
	assay_view v = assay_input_view(in, pos, ASSAY_PROTO_HEAD);
	size_t want = assay_proto_need((assay_str){v.p, v.n});
	if (v.n < want)
		v = assay_input_view(in, pos, want);
	*t = (xplane_text){.held = v.p, .from = pos, .end = pos + v.n};
	return v.n > 0;
}

bool xplane_is_fetched(const xplane_text *t, const xplane_window *w, xplane_place p)
{
	return t->held ||
	       (p.at >= w->at && p.at - w->at <= w->bytes.n && p.n <= w->bytes.n - (p.at - w->at));
}

assay_str xplane_bytes(const xplane_text *t, xplane_window *w, uint64_t pos, size_t want)
{
	uint64_t left = pos < t->end ? t->end - pos : 0;
	if (t->held)
		return (assay_str){t->held + (pos - t->from), (size_t)left};
	want = want < left ? want : (size_t)left;
	if (!xplane_is_fetched(t, w, (xplane_place){pos, want})) {
		size_t n = want > w->ahead ? want : left < w->ahead ? (size_t)left : w->ahead;
		assay_vec_reserve(&w->bytes, n + ASSAY_PAD);
		w->bytes.n = assay_input_fetch(t->in, pos, w->bytes.p, n);
		w->at = pos;
	}
	size_t skip = (size_t)(pos - w->at);
	return (assay_str){w->bytes.p + skip, w->bytes.n - skip};
}

xplane_walk xplane_walk_on(const xplane_text *t, xplane_window *w, xplane_place of)
{
	return (xplane_walk){.text = t, .window = w, .at = of.at, .end = of.at + of.n};
}

bool xplane_walk_next(xplane_walk *k, xplane_field *f)
{
	uint64_t left = k->end - k->at;
	assay_str there = xplane_bytes(k->text, k->window, k->at,
				       left < ASSAY_PROTO_HEAD ? (size_t)left : ASSAY_PROTO_HEAD);
	assay_proto c =
		assay_proto_on((assay_str){there.p, there.n < left ? there.n : (size_t)left});
	f->body = f->whole = (xplane_place){k->at, 0};
	if (c.p == c.end) {
		f->f = (assay_field){0};
		return false;
	}
	bool ok = assay_proto_next_padded(&c, &f->f), bytes = f->f.wire == ASSAY_WIRE_BYTES;
	if (ok && !bytes) {
		f->whole = (xplane_place){k->at, f->f.whole.n};
		k->at += f->whole.n;
		return true;
	}
	if (ok || (c.cut && bytes && f->f.bytes.p)) {
		size_t head = (size_t)(f->f.bytes.p - there.p);
		f->body = (xplane_place){k->at + head, left - head};
		if (f->f.value <= f->body.n) { /* else the message ends in it */
			f->body.n = f->f.value;
			f->whole = (xplane_place){k->at, head + f->body.n};
			k->at += f->whole.n;
			return true;
		}
	}
	k->bad |= c.bad;
	k->cut |= c.cut;
	return false;
}

assay_str xplane_place_bytes(const xplane_text *t, xplane_window *w, xplane_place p)
{
	assay_str s = xplane_bytes(t, w, p.at, (size_t)p.n);
	return (assay_str){s.p, s.n < p.n ? s.n : (size_t)p.n};
}
