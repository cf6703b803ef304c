/* GPU work of a capture. */
#include "read/capture.h"

#include <stdio.h>

#include "base/demangle.h"

static assay_sid kernel_name(capture *c, uint32_t id)
{
	uint32_t *slot = assay_map_at(&c->kernels, id);
	if (*slot != ASSAY_MAP_ABSENT)
		return *slot;
	assay_str symbol = assay_pool_get(&c->part->strings, assay_capture_text(c, id));
	*slot = assay_intern(&c->part->strings, assay_demangle(&c->scratch, symbol));
	return *slot;
}

static uint32_t add_gpu(capture *c, assay_gpu_kind kind, const assay_wire_work *w, assay_sid name)
{
	assay_gpu_table *g = &c->part->t.gpu;
	uint32_t track = assay_capture_stream(c, w->device, w->stream);
	uint32_t row = assay_add(&c->part->t, ASSAY_T_gpu);
	if (!name)
		assay_count(c->part, ASSAY_ISSUE_no_name, 1);
	if (!w->corr)
		assay_count(c->part, ASSAY_ISSUE_zero_correlation, 1);
	if (w->context != c->last_context && w->device != ASSAY_WIRE_NONE)
		*assay_map_at(&c->contexts, c->last_context = w->context) = w->device;
	g->ts[row] = w->start;
	g->dur[row] = assay_capture_length(c, w->start, w->end);
	g->name[row] = name;
	g->track[row] = track;
	g->corr[row] = w->corr;
	g->graph[row] = w->graph;
	g->graph_node[row] = w->graph_node;
	g->context[row] = w->context;
	g->kind[row] = (uint8_t)kind;
	assay_capture_seen(c, w->end);
	return row;
}

void assay_capture_kernel(capture *c, const capture_record *r, assay_str whole)
{
	(void)whole;
	const assay_wire_kernel *k = &r->kernel;
	uint32_t row = add_gpu(c, ASSAY_GPU_KERNEL, &k->work, kernel_name(c, k->name));
	assay_gpu_table *g = &c->part->t.gpu;
	g->grid_x[row] = k->grid[0];
	g->grid_y[row] = k->grid[1];
	g->grid_z[row] = k->grid[2];
	g->block_x[row] = k->block[0];
	g->block_y[row] = k->block[1];
	g->block_z[row] = k->block[2];
	g->regs[row] = k->regs;
	g->acc_regs[row] = k->acc_regs;
	g->scalar_regs[row] = k->scalar_regs;
	g->queue[row] = k->queue;
	g->dispatch[row] = k->dispatch;
	g->scratch[row] = k->local;
	g->shared[row] = k->shared_static == ASSAY_WIRE_NONE || k->shared_dynamic == ASSAY_WIRE_NONE
				 ? UINT32_MAX
				 : k->shared_static + k->shared_dynamic;
}

static const char *const copy_kinds[] = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					 "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const memory_kinds[] = {"Unknown",       "Pageable",       "Pinned",
					   "Device",        "Array",          "Managed",
					   "Device Static", "Managed Static", "Host"};

/* The names torch.profiler gives, so that rows of both compare. */
static assay_sid copy_name(capture *c, const assay_wire_copy *k)
{
	char text[80];
	unsigned kind = k->kind < 11 ? k->kind : 0, from = k->from < 9 ? k->from : 0;
	unsigned to = k->to < 9 ? k->to : 0;
	int n = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", copy_kinds[kind],
			 memory_kinds[from], memory_kinds[to]);
	return assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
}

void assay_capture_copy(capture *c, const capture_record *r, assay_str whole)
{
	(void)whole;
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMCPY, &r->copy.work, copy_name(c, &r->copy));
	if (r->copy.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->copy.size;
}

void assay_capture_set(capture *c, const capture_record *r, assay_str whole)
{
	(void)whole;
	char text[48];
	int n = snprintf(text, sizeof text, "Memset (%s)",
			 memory_kinds[r->set.memory < 8 ? r->set.memory : 0]);
	assay_sid name = assay_intern(&c->part->strings, (assay_str){text, (size_t)n});
	uint32_t row = add_gpu(c, ASSAY_GPU_MEMSET, &r->set.work, name);
	if (r->set.size <= INT64_MAX)
		c->part->t.gpu.bytes[row] = (int64_t)r->set.size;
}

void assay_capture_graph(capture *c, const capture_record *r, assay_str whole)
{
	(void)whole;
	add_gpu(c, ASSAY_GPU_KERNEL, &r->work, assay_intern_z(&c->part->strings, "graph launch"));
}
