/* Why waits lasted, on the page: the stretches of `assay waits --chains`. */
#include "render/html_page.h"
#include "render/wait_chains.h"

void assay_page_chains(assay_page *p)
{
	const assay_tables *t = &p->run->part.t;
	const assay_chain_table *chain = &t->chain;
	if (!chain->n)
		return;
	assay_chain_index index;
	assay_chain_index_make(&index, p->run);
	uint32_t *late = assay_alloc(&p->scratch, chain->n * sizeof *late);
	for (size_t i = 0; i < chain->n; i++)
		late[i] = assay_chain_late_call(p->run, &index, chain->gpu[i]);
	assay_chain_index_free(&index);
#define X(column, value)                                                                           \
	{                                                                                          \
		page_column c = assay_column_begin(p, "chain." #column, "delta");                  \
		for (size_t i = 0; i < chain->n; i++)                                              \
			assay_column_i64(&c, value);                                               \
		assay_column_end(&c);                                                              \
	}
	X(wait, chain->wait[i])
	X(dur, chain->dur[i])
	X(gpu, assay_page_span(p->gpu_span, t->gpu.n, chain->gpu[i]))
	X(host, assay_page_span(p->host_span, t->host.n, chain->host[i]))
	X(launch, assay_page_span(p->host_span, t->host.n, chain->launch[i]))
	X(last_rank, late[i] < t->call.n ? t->call.last[late[i]] : -1)
	X(waited, late[i] < t->call.n ? t->call.waited[late[i]] : 0)
#undef X
}
