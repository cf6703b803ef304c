#include "analyze/where.h"

#include <string.h>

bool assay_where_is_line(const assay_where *x, const assay_where *y)
{
	return x->file && y->file && x->line && x->line == y->line && !strcmp(x->file, y->file);
}

void assay_where_in_stack(const assay_run *run, uint32_t stack, assay_where *where)
{
	const assay_tables *t = &run->part.t;
	uint32_t code = t->stack.code[stack];
	where->file = assay_z(run, t->code.file[code]);
	where->function = assay_z(run, t->code.function[code]);
	where->line = t->stack.line[stack] > 0 ? t->stack.line[stack] : 0;
}
