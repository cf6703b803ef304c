#include "query/reach.h"

#include "base/test.h"

static bool is_sign(char c)
{
	return c == '+' || c == '-';
}

bool assay_reach_term(assay_str *rest, assay_str *term, bool *minus)
{
	if (!rest->n)
		return false;
	*minus = rest->p[0] == '-';
	size_t from = is_sign(rest->p[0]), to = from;
	while (to < rest->n && !is_sign(rest->p[to]))
		to++;
	*term = (assay_str){rest->p + from, to - from};
	*rest = (assay_str){rest->p + to, rest->n - to};
	return true;
}

const assay_col_info *assay_table_column_named(const assay_table_info *table, assay_str name)
{
	for (size_t i = 0; i < table->cols; i++)
		if (assay_str_is(name, table->col[i].name))
			return &table->col[i];
	return NULL;
}

static const assay_table_info *table_named(assay_str name)
{
	for (int i = 0; i < ASSAY_T_COUNT; i++)
		if (assay_str_is(name, assay_table_infos[i].name))
			return &assay_table_infos[i];
	return NULL;
}

/* COLUMN or COLUMN/TABLE */
static assay_reach_word column_word(assay_str word, const assay_table_info *table)
{
	assay_str of = word, name = assay_str_cut(&of, '/');
	const assay_col_info *col = assay_table_column_named(table, name);
	assay_table_id to = col ? col->kind->refers : ASSAY_T_COUNT;
	return (assay_reach_word){.col = col,
				  .to = of.n                 ? table_named(of)
					: to < ASSAY_T_COUNT ? &assay_table_infos[to]
							     : NULL};
}

bool assay_reach_next(assay_str *term, const assay_table_info *table, assay_reach_word *word)
{
	assay_str text = assay_str_cut(term, '.');
	if (assay_str_is(text, "*kernel"))
		*word = (assay_reach_word){.way = ASSAY_REACH_KERNEL,
					   .to = &assay_table_infos[ASSAY_T_kernel]};
	else if (assay_str_starts(text, ">"))
		*word = (assay_reach_word){.way = ASSAY_REACH_BESIDE,
					   .to = table_named((assay_str){text.p + 1, text.n - 1})};
	else
		*word = column_word(text, table);
	return (word->col || word->way != ASSAY_REACH_COLUMN) && (word->to || !term->n);
}

TEST(a_reach_is_terms_with_signs_and_words_that_lead_on)
{
	assay_str rest = ASSAY_S("ts->launch.host.detail/api.stack-$first"), term;
	const assay_table_info *gpu = &assay_table_infos[ASSAY_T_gpu];
	bool minus;
	assay_reach_word w;
	CHECK(assay_reach_term(&rest, &term, &minus) && !minus && assay_str_is(term, "ts"));
	CHECK(assay_reach_next(&term, gpu, &w) && w.col && !w.to && !term.n);
	CHECK(assay_reach_term(&rest, &term, &minus) && minus);
	CHECK(assay_reach_next(&term, gpu, &w) && w.way == ASSAY_REACH_BESIDE);
	CHECK(w.to == &assay_table_infos[ASSAY_T_launch]);
	CHECK(assay_reach_next(&term, w.to, &w) && w.to == &assay_table_infos[ASSAY_T_host]);
	CHECK(assay_reach_next(&term, w.to, &w) && w.to == &assay_table_infos[ASSAY_T_api]);
	CHECK(assay_reach_next(&term, w.to, &w) && !term.n);
	CHECK(assay_reach_term(&rest, &term, &minus) && minus && assay_str_is(term, "$first"));
	CHECK(!assay_reach_term(&rest, &term, &minus));
	return 0;
}

TEST(a_reach_through_a_value_or_of_an_unknown_name_is_refused)
{
	assay_reach_word w;
	assay_str through = ASSAY_S("ts.name"), unknown = ASSAY_S("no_such"),
		  beside = ASSAY_S(">no.x");
	const assay_table_info *gpu = &assay_table_infos[ASSAY_T_gpu];
	CHECK(!assay_reach_next(&through, gpu, &w));
	CHECK(!assay_reach_next(&unknown, gpu, &w));
	CHECK(!assay_reach_next(&beside, gpu, &w));
	return 0;
}
