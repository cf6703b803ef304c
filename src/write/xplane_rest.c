/* Putting back what an input had and no row holds: kept.bytes, with the ids of this file where
 * names stand (model/xplane.h). */
#include "write/xplane.h"

/* A stat of kept bytes: fields to join with the stat of that id, wherever it is written. */
struct more {
	uint64_t id;
	assay_str fields;
	uint32_t next; /* further ones of the same id */
	bool done;
};
typedef assay_vec(struct more) more_list;

/* False for stats that are made anew. */
static bool take_stat(xplane_out *p, assay_str stat, struct more *m)
{
	assay_proto c = assay_proto_on(stat);
	assay_field name;
	if (!assay_proto_next(&c, &name) || name.number != XSTAT_META ||
	    name.wire != ASSAY_WIRE_BYTES || !name.bytes.n || xplane_left_out(name.bytes))
		return false;
	const char *rest = name.whole.p + name.whole.n;
	*m = (struct more){.id = xplane_stat_id(p, name.bytes),
			   .fields = {rest, (size_t)(stat.p + stat.n - rest)},
			   .next = ASSAY_NO_ROW};
	return true;
}

static void put_fields(assay_protow *to, more_list *list, uint32_t i)
{
	for (; i != ASSAY_NO_ROW; i = list->p[i].next) {
		assay_protow_raw(to, list->p[i].fields);
		list->p[i].done = true;
	}
}

/* The stats of a message again, each with what it had more. */
static void join(xplane_out *p, assay_protow *to, uint32_t stats, more_list *list,
		 const assay_map *first)
{
	assay_protow joined = {0};
	assay_proto c = assay_proto_on(assay_protow_data(to));
	assay_field id;
	for (assay_field f; assay_proto_next(&c, &f);) {
		assay_proto inner = assay_proto_on(f.bytes);
		uint32_t i = ASSAY_MAP_ABSENT;
		if (f.number == stats && f.wire == ASSAY_WIRE_BYTES &&
		    assay_proto_next(&inner, &id) && id.number == XSTAT_META)
			i = assay_map_get(first, id.value);
		if (i == ASSAY_MAP_ABSENT) {
			assay_protow_raw(&joined, f.whole);
			continue;
		}
		assay_protow_raw(&p->stat, f.bytes);
		put_fields(&p->stat, list, i);
		assay_protow_message(&joined, stats, &p->stat);
	}
	assay_protow_free(to);
	*to = joined;
}

static void put_others(xplane_out *p, assay_protow *to, uint32_t stats, assay_str rest)
{
	assay_proto c = assay_proto_on(rest);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (stats == XMETA_STATS && f.number == XMETA_CHILD_ID)
			assay_protow_varint(to, XMETA_CHILD_ID, xplane_event_id(p, f.bytes));
		else if (f.number != stats)
			assay_protow_raw(to, f.whole);
	}
}

static void join_stats(xplane_out *p, assay_protow *to, uint32_t stats, more_list *list)
{
	assay_map first = {0};
	for (uint32_t i = (uint32_t)list->n; i-- > 0;) { /* backwards: chains are in order then */
		uint32_t *slot = assay_map_at(&first, list->p[i].id);
		list->p[i].next = *slot;
		*slot = i;
	}
	join(p, to, stats, list, &first);
	assay_map_free(&first);
}

/* Stats that nothing was written of, each on its own. */
static void put_left(xplane_out *p, assay_protow *to, uint32_t stats, more_list *list)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->p[i].done)
			continue;
		assay_protow_varint(&p->stat, XSTAT_META, list->p[i].id);
		put_fields(&p->stat, list, i);
		assay_protow_message(to, stats, &p->stat);
	}
}

void xplane_put_rest(xplane_out *p, assay_protow *to, uint32_t stats, assay_str rest)
{
	if (!rest.n)
		return;
	more_list list = {0};
	assay_proto c = assay_proto_on(rest);
	for (assay_field f; assay_proto_next(&c, &f);) {
		struct more m;
		if (f.number == stats && f.wire == ASSAY_WIRE_BYTES && take_stat(p, f.bytes, &m))
			*assay_push(&list) = m;
	}
	if (list.n)
		join_stats(p, to, stats, &list);
	put_others(p, to, stats, rest);
	put_left(p, to, stats, &list);
	assay_vec_free(&list);
}

/* Metadata that an input had fields in and nothing written so far refers to. */
static void name_kept(xplane_out *p, assay_kept_of of)
{
	const assay_kept_table *k = &p->w->t->kept;
	for (uint32_t i = xplane_kept_first(p->w, of, p->place); i != ASSAY_NO_ROW;
	     i = p->w->kept_next.p[i]) {
		assay_str name = assay_text(p->w->run, k->row[i]);
		if (of == ASSAY_KEPT_NAME)
			xplane_event_id(p, name);
		else if (!xplane_left_out(name))
			xplane_stat_id(p, name);
	}
}

static void put_meta(xplane_out *p, assay_kept_of of, uint32_t id, assay_str name)
{
	bool stat = of == ASSAY_KEPT_STAT_NAME;
	assay_protow_varint(&p->meta, XMETA_ID, id);
	assay_protow_text(&p->meta, XMETA_NAME, name);
	if (p->w && p->w->kept[of].n) {
		assay_sid sid = assay_pool_find(&p->w->run->part.strings, name);
		assay_str rest = xplane_rest(p->w, of, xplane_kept_key(p->place, sid));
		xplane_put_rest(p, &p->meta, stat ? UINT32_MAX : (uint32_t)XMETA_STATS, rest);
	}
	assay_protow_varint(&p->entry, XENTRY_KEY, id);
	assay_protow_message(&p->entry, XENTRY_VALUE, &p->meta);
	assay_protow_message(stat ? &p->stat_meta : &p->event_meta,
			     stat ? XPLANE_STAT_META : XPLANE_EVENT_META, &p->entry);
}

void xplane_put_metas(xplane_out *p)
{
	if (p->w) {
		name_kept(p, ASSAY_KEPT_NAME);
		name_kept(p, ASSAY_KEPT_STAT_NAME);
	}
	/* children of metadata are metadata: the list grows while it is written */
	for (uint32_t id = 1; id < p->event_names.str.n; id++)
		put_meta(p, ASSAY_KEPT_NAME, id, p->event_names.str.p[id]);
	for (uint32_t id = 1; id < p->stat_names.str.n; id++)
		put_meta(p, ASSAY_KEPT_STAT_NAME, id, p->stat_names.str.p[id]);
}
