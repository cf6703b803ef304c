/* Arguments of calls: rocpd_arg, the longest table of most databases. Of the others it needs only
 * which row an event became. So where there are threads it is read by one of its own, beside them,
 * and what it says is given to the calls when they are there; where that goes wrong, or costs more
 * than the file may, the table is read again as one thread reads it. */
#include "read/rocpd_rows.h"

static bool start(assay_rocpd_instance *x)
{
	return assay_rocpd_start(x, "rocpd_arg",
				 ASSAY_DB_COLUMNS("event_id", "name", "value", "type"));
}

/* The argument of the current row, behind those before it. */
static void put_member(assay_jsonw *w, assay_db *db, assay_json_forms *forms)
{
	bool json = assay_str_is(assay_db_text(db, 3), "json"); /* our writer's */
	assay_jsonw_key(w, assay_db_text(db, 1));
	assay_str value = json ? assay_db_text(db, 2) : (assay_str){0};
	if (!value.n || !assay_jsonw_copy_known(w, value, &db->scratch, forms))
		assay_jsonw_str(w, NULL, assay_db_text(db, 2));
}

static assay_str take_members(assay_jsonw *w)
{
	assay_str members = {w->out.p, w->out.n};
	w->out.n = 0;
	w->comma = false;
	return members;
}

/* The slot for the arguments of a call; NULL when it has some already: rows of one call stand
 * together in every honest file. */
static assay_sid *args_of(assay_rocpd_instance *x, uint32_t host)
{
	assay_sid *args = &x->part->t.host.args[host];
	if (!*args)
		return args;
	assay_count(x->part, ASSAY_ISSUE_bad_record, 1);
	return NULL;
}

/* ---- in turn ---- */

static void flush(assay_rocpd_instance *x, uint32_t host)
{
	assay_str members = take_members(&x->args);
	assay_sid *args = host == ASSAY_NO_ROW || !members.n ? NULL : args_of(x, host);
	if (args)
		*args = assay_intern(&x->part->strings, members);
}

static void read_in_turn(assay_rocpd_instance *x)
{
	uint32_t host = ASSAY_NO_ROW;
	x->args.compact = true;
	for (start(x); assay_rocpd_row(x);) {
		uint32_t row = assay_rocpd_event_at(x, 0)->host;
		if (row != host)
			flush(x, host);
		host = row;
		if (row != ASSAY_NO_ROW)
			put_member(&x->args, x->db, &x->forms);
	}
	flush(x, host);
}

/* ---- beside ---- */

static void end_group(assay_rocpd_args *a, uint64_t text_before)
{
	if (!a->groups.n)
		return;
	struct assay_rocpd_arg_group *g = &a->groups.p[a->groups.n - 1];
	uint64_t cost = text_before - a->db.text_left;
	a->db.broken |= cost > UINT32_MAX;
	g->cost = (uint32_t)cost;
	g->text = assay_intern(&a->part.strings, take_members(&a->json));
}

static void read_groups(void *arg)
{
	assay_rocpd_args *a = arg;
	uint64_t before = a->db.text_left;
	a->json.compact = true;
	while (assay_db_next(&a->db)) {
		struct assay_rocpd_arg_group now = {0},
					     *last = a->groups.p ? &a->groups.p[a->groups.n - 1]
								 : &now;
		now.known = assay_db_i64(&a->db, 0, &now.event);
		if (!a->groups.n || last->known != now.known || last->event != now.event) {
			end_group(a, before);
			before = a->db.text_left;
			*assay_push(&a->groups) = now;
		}
		put_member(&a->json, &a->db, &a->forms);
	}
	end_group(a, before);
}

static uint32_t host_of(const assay_rocpd_instance *x, const struct assay_rocpd_arg_group *g)
{
	uint32_t i = g->known ? assay_db_ids_get(&x->event, g->event) : ASSAY_MAP_ABSENT;
	return i == ASSAY_MAP_ABSENT ? ASSAY_NO_ROW : x->events.p[i].host;
}

/* Texts of rows that are no call's are not looked at by one thread. */
static uint64_t cost_of(const assay_rocpd_args *a, const assay_rocpd_instance *x)
{
	uint64_t cost = 0;
	for (size_t i = 0; i < a->groups.n; i++)
		if (host_of(x, &a->groups.p[i]) != ASSAY_NO_ROW)
			cost += a->groups.p[i].cost;
	return cost;
}

static void give_groups(assay_rocpd_args *a, assay_rocpd_instance *x)
{
	assay_vec(assay_sid) ours = {0}; /* by the id in its own part; 0: not asked for yet */
	assay_vec_reserve(&ours, a->part.strings.str.n + 1);
	memset(ours.p, 0, (a->part.strings.str.n + 1) * sizeof *ours.p);
	for (size_t i = 0; i < a->groups.n; i++) {
		uint32_t host = host_of(x, &a->groups.p[i]);
		assay_sid text = a->groups.p[i].text;
		assay_sid *args = host == ASSAY_NO_ROW || !text ? NULL : args_of(x, host);
		if (!args)
			continue;
		if (!ours.p[text])
			ours.p[text] = assay_intern(&x->part->strings,
						    assay_pool_get(&a->part.strings, text));
		*args = ours.p[text];
	}
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		assay_count(x->part, (assay_issue)i, a->part.issues[i]);
	assay_vec_free(&ours);
}

void assay_rocpd_args_begin(assay_rocpd_args *a, assay_rocpd_instance *x)
{
	unsigned threads = assay_run_threads(x->db->run);
	*a = (assay_rocpd_args){0};
	if (threads < 2)
		return;
	a->none = !start(x);
	a->split = !a->none && assay_db_split(x->db, &a->db, &a->part);
	if (a->split)
		assay_beside_start(&a->beside, threads, read_groups, a);
}

void assay_rocpd_args_end(assay_rocpd_args *a, assay_rocpd_instance *x)
{
	if (a->split)
		assay_beside_join(&a->beside);
	if (a->split && assay_db_pay(x->db, &a->db, cost_of(a, x)))
		give_groups(a, x);
	else if (!a->none)
		read_in_turn(x);
	assay_db_close(&a->db);
	assay_part_free(&a->part);
	assay_jsonw_free(&a->json);
	assay_json_forms_free(&a->forms);
	assay_vec_free(&a->groups);
}
