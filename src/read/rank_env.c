#include "read/rank_env.h"

#include <string.h>

#include "base/test.h"
#include "names/launchers.h"

static const char *recorded_variable(void *ctx, const char *name)
{
	const assay_part *p = ctx;
	const assay_meta_table *m = &p->t.meta;
	for (size_t i = m->n; i-- > 0 && m->source[i] == p->source;) {
		assay_str key = assay_pool_get(&p->strings, m->key[i]);
		if (assay_str_starts(key, "env.") && !strcmp(key.p + strlen("env."), name))
			return assay_pool_get(&p->strings, m->value[i]).p;
	}
	return NULL;
}

void assay_rank_from_env(assay_part *p)
{
	assay_source_table *s = &p->t.source;
	assay_place place;
	if (p->source == ASSAY_NO_ROW || !assay_place_find(&place, true, recorded_variable, p))
		return;
	s->rank[p->source] = (int32_t)place.rank;
	s->world[p->source] = (int32_t)place.size;
}

bool assay_is_rank_variable(assay_str name)
{
	for (size_t i = 0; i < assay_launcher_count; i++)
		if (assay_str_is(name, assay_launchers[i].rank) ||
		    assay_str_is(name, assay_launchers[i].size))
			return true;
	return false;
}

TEST(recorded_variables_of_a_launcher_give_the_rank)
{
	assay_part p = {0};
	p.source = assay_add(&p.t, ASSAY_T_source);
	assay_meta_add(&p, "env.OMPI_COMM_WORLD_RANK", ASSAY_S("3"));
	assay_meta_add(&p, "env.OMPI_COMM_WORLD_SIZE", ASSAY_S("8"));
	assay_rank_from_env(&p);
	CHECK(p.t.source.rank[0] == 3 && p.t.source.world[0] == 8);
	CHECK(assay_is_rank_variable(ASSAY_S("RANK")) && !assay_is_rank_variable(ASSAY_S("HOME")));
	assay_part_free(&p);
	return 0;
}
