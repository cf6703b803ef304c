#include "api/shard_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test.h"

/* Field numbers of docs/formats/shard.md. */
enum { HEAD = 1, PROCESS = 2, END = 3, SUM = 4 };
enum {
	FORMAT = 1,
	PROGRAM,
	SHARD,
	SHARDS,
	PROCESSES,
	FIRST,
	OWN,
	NAMES,
	STATE,
	STEPS_FROM,
	OPERAND,
	LISTING_PROBLEMS,
};
enum { NUMBER = 1, FINDINGS, PROBLEMS, LEFT };

/* A part may lie about for days and go through many hands: each message stands behind its sum. */
static void put(FILE *out, uint32_t field, assay_protow *inner)
{
	assay_protow w = {0};
	assay_protow_varint(&w, SUM, assay_hash(inner->out.p, inner->out.n, 0));
	assay_protow_message(&w, field, inner);
	fwrite(w.out.p, 1, w.out.n, out);
	assay_protow_free(&w);
	assay_protow_free(inner);
}

void assay_shard_put_head(FILE *out, const assay_shard_head *head)
{
	assay_protow w = {0};
	assay_protow_varint(&w, FORMAT, ASSAY_SHARD_VERSION);
	assay_protow_string(&w, PROGRAM, assay_str_of(ASSAY_VERSION));
	assay_protow_varint(&w, SHARD, head->shard);
	assay_protow_varint(&w, SHARDS, head->shards);
	assay_protow_varint(&w, PROCESSES, head->listing.processes);
	assay_protow_varint(&w, FIRST, head->listing.first);
	assay_protow_varint(&w, OWN, head->listing.n);
	assay_protow_fixed64(&w, NAMES, head->listing.names);
	assay_protow_fixed64(&w, STATE, head->listing.state);
	if (head->steps_from)
		assay_protow_bytes(&w, STEPS_FROM, assay_str_of(head->steps_from));
	for (size_t i = 0; i < head->operand.n; i++)
		assay_protow_bytes(&w, OPERAND, assay_str_of(head->operand.p[i]));
	assay_protow_bytes(&w, LISTING_PROBLEMS, head->problems);
	put(out, HEAD, &w);
}

void assay_shard_put_process(FILE *out, const assay_shard_process *p)
{
	assay_protow w = {0};
	assay_protow_varint(&w, NUMBER, p->number);
	if (p->findings.n)
		assay_protow_bytes(&w, FINDINGS, p->findings);
	if (p->problems.n)
		assay_protow_bytes(&w, PROBLEMS, p->problems);
	assay_protow_raw(&w, p->left);
	put(out, PROCESS, &w);
}

void assay_shard_put_end(FILE *out, size_t processes)
{
	assay_protow w = {0};
	assay_protow_varint(&w, END, processes);
	fwrite(w.out.p, 1, w.out.n, out);
	assay_protow_free(&w);
}

void assay_shard_add_left(assay_protow *w, const char *path)
{
	assay_protow_bytes(w, LEFT, assay_str_of(path));
}

bool assay_shard_next_left(assay_str *left, assay_str *path)
{
	assay_proto c = assay_proto_on(*left);
	assay_field f;
	if (!assay_proto_next(&c, &f) || f.wire != ASSAY_WIRE_BYTES)
		return false;
	*path = f.bytes;
	*left = (assay_str){(const char *)c.p, (size_t)(c.end - c.p)};
	return true;
}

/* ---- reading ---- */

static bool refuse(const assay_shard_file *f, assay_err *err, const char *why)
{
	return assay_fail(err, ASSAY_FORMAT, f->pos, "%s %s", f->path, why);
}

static bool cut_short(const assay_shard_file *f, assay_err *err)
{
	const char *damage = assay_input_damage(f->in);
	return damage ? assay_fail(err, ASSAY_FORMAT, f->pos, "%s: %s", f->path, damage)
		      : refuse(f, err, "is cut short: write this shard again");
}

/* The field at pos: a message in whole, or a number. */
static bool read_field(assay_shard_file *f, uint32_t *number, assay_str *message, uint64_t *value,
		       assay_err *err)
{
	enum { VARINT_MAX = 10 };
	assay_input_drop(f->in, f->pos);
	assay_view v = assay_input_view(f->in, f->pos, 2 * VARINT_MAX);
	assay_str rest = {v.p, v.n};
	uint64_t tag;
	if (!assay_proto_varint(&rest, &tag) || !assay_proto_varint(&rest, value))
		return v.n < 2 * VARINT_MAX ? cut_short(f, err) : refuse(f, err, "is damaged");
	*number = (uint32_t)(tag >> 3);
	size_t head = v.n - rest.n;
	*message = (assay_str){0};
	if ((tag & 7) == ASSAY_WIRE_VARINT) {
		f->pos += head;
		return true;
	}
	if ((tag & 7) != ASSAY_WIRE_BYTES || tag >> 3 > PROCESS)
		return refuse(f, err, "is not a shard of a report");
	if (*value > SIZE_MAX / 4)
		return refuse(f, err, "is damaged");
	v = assay_input_view(f->in, f->pos, head + *value);
	if (v.n < head + *value)
		return cut_short(f, err);
	*message = (assay_str){v.p + head, *value};
	f->pos += head + *value;
	return true;
}

/* A message behind its sum, or the end. */
static bool read_message(assay_shard_file *f, uint32_t *number, assay_str *message, uint64_t *value,
			 assay_err *err)
{
	uint64_t sum;
	if (!read_field(f, number, message, &sum, err))
		return false;
	*value = sum;
	if (*number != SUM || message->p)
		return true;
	if (!read_field(f, number, message, value, err))
		return false;
	return (message->p && assay_hash(message->p, message->n, 0) == sum) ||
	       refuse(f, err, "is damaged: its sum is wrong; write this shard again");
}

static void take_head_number(assay_shard_head *h, const assay_field *f)
{
	switch (f->number) {
	case SHARD:
		h->shard = f->value;
		break;
	case SHARDS:
		h->shards = f->value;
		break;
	case PROCESSES:
		h->listing.processes = f->value;
		break;
	case FIRST:
		h->listing.first = f->value;
		break;
	case OWN:
		h->listing.n = f->value;
		break;
	case NAMES:
		h->listing.names = f->value;
		break;
	case STATE:
		h->listing.state = f->value;
		break;
	default:
		break;
	}
}

static void take_head_text(assay_shard_file *s, const assay_field *f)
{
	char *copy = assay_dup(&s->arena, f->bytes);
	if (f->number == STEPS_FROM)
		s->head.steps_from = copy;
	else if (f->number == OPERAND)
		*assay_push(&s->head.operand) = copy;
	else if (f->number == LISTING_PROBLEMS)
		s->head.problems = (assay_str){copy, f->bytes.n};
}

static bool head_makes_sense(const assay_shard_head *h)
{
	const assay_listing *l = &h->listing;
	return h->shard < h->shards && l->first <= l->processes &&
	       l->n <= l->processes - l->first && h->operand.n;
}

static bool take_head(assay_shard_file *s, assay_str message, assay_err *err)
{
	assay_proto c = assay_proto_on(message);
	assay_field f;
	bool same_program = false;
	if (!assay_proto_next(&c, &f) || f.number != FORMAT || f.wire != ASSAY_WIRE_VARINT)
		return refuse(s, err, "is not a shard of a report");
	if (f.value != ASSAY_SHARD_VERSION)
		return assay_fail(
			err, ASSAY_FORMAT, 0,
			"%s has version %llu of the format, this program version %d: write the shards again with this program",
			s->path, (unsigned long long)f.value, ASSAY_SHARD_VERSION);
	while (assay_proto_next(&c, &f)) {
		if (f.number == PROGRAM && f.wire == ASSAY_WIRE_BYTES)
			same_program = assay_str_is(f.bytes, ASSAY_VERSION);
		else if (f.wire == ASSAY_WIRE_BYTES)
			take_head_text(s, &f);
		else
			take_head_number(&s->head, &f);
	}
	if (c.bad || c.cut || !head_makes_sense(&s->head))
		return refuse(s, err, "has a damaged head");
	return same_program ||
	       refuse(s, err,
		      "is of another version of assay: write the shards again with this one");
}

bool assay_shard_open(assay_shard_file *f, const char *path, assay_err *err)
{
	uint32_t number;
	uint64_t value;
	assay_str head;
	*f = (assay_shard_file){.path = path, .in = assay_input_open(path, err)};
	if (!f->in)
		return false;
	assay_view v = assay_input_view(f->in, 0, 3);
	/* version 1 had no sums; take_head() names it */
	bool ours = v.n >= 3 && (v.p[0] == (SUM << 3 | ASSAY_WIRE_VARINT) ||
				 v.p[0] == (HEAD << 3 | ASSAY_WIRE_BYTES));
	if (ours && read_message(f, &number, &head, &value, err) && take_head(f, head, err))
		return true;
	if (!ours && assay_input_damage(f->in))
		cut_short(f, err);
	else if (!ours)
		refuse(f, err, "is not a shard of a report");
	assay_shard_close(f);
	return false;
}

static bool take_process(assay_str message, assay_shard_process *p)
{
	assay_proto c = assay_proto_on(message);
	*p = (assay_shard_process){0};
	for (assay_field f; assay_proto_next(&c, &f);) {
		bool bytes = f.wire == ASSAY_WIRE_BYTES;
		if (f.number == NUMBER && f.wire == ASSAY_WIRE_VARINT)
			p->number = f.value;
		else if (f.number == FINDINGS && bytes)
			p->findings = f.bytes;
		else if (f.number == PROBLEMS && bytes)
			p->problems = f.bytes;
		else if (f.number == LEFT && bytes) /* they are the last */
			p->left = (assay_str){p->left.p ? p->left.p : f.whole.p,
					      p->left.n + f.whole.n};
		else
			return false;
		if (f.number != LEFT && p->left.n)
			return false;
	}
	return !c.bad && !c.cut;
}

bool assay_shard_next(assay_shard_file *f, assay_shard_process *p, assay_err *err)
{
	uint32_t number;
	uint64_t value;
	assay_str message;
	const assay_listing *l = &f->head.listing;
	if (!read_message(f, &number, &message, &value, err))
		return false;
	if (number == END && !message.p) {
		f->ended = value == l->n && f->processes == l->n &&
			   !assay_input_view(f->in, f->pos, 1).n;
		return !f->ended && refuse(f, err, "does not hold what its head says");
	}
	if (number != PROCESS || !message.p || f->processes == l->n || !take_process(message, p) ||
	    p->number != l->first + f->processes)
		return refuse(f, err, "is damaged");
	f->processes++;
	return true;
}

void assay_shard_close(assay_shard_file *f)
{
	if (f->in)
		assay_input_close(f->in);
	assay_vec_free(&f->head.operand);
	assay_arena_free(&f->arena);
	f->in = NULL;
}
