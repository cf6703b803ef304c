/* Launches of HIP graphs (rocpd_graph_launch, from 3.0.2 on): when a device began with a graph and
 * when it was done. Work of the device where nothing tells of its parts; where kernels and copies
 * of the same call are there, it is they. */
#include "read/rocpd_rows.h"

#include "read/rocprof.h"

/* Calls whose work is there one by one. */
static void find_told(const assay_rocpd_instance *x, size_t first, assay_map *told)
{
	const assay_gpu_table *t = &x->part->t.gpu;
	for (size_t g = first; g < t->n; g++)
		if (t->corr[g])
			*assay_map_at(told, t->corr[g]) = 1;
}

static void add_launch(assay_rocpd_instance *x, int64_t ts, int64_t dur, assay_rocpd_event e)
{
	int64_t queue = assay_rocpd_num(x, 3), graph = assay_rocpd_num(x, 5),
		kernels = assay_rocpd_num(x, 6);
	int64_t device = assay_rocpd_agent_of(x, assay_rocpd_num(x, 2)).number;
	assay_gpu_table *t = &x->part->t.gpu;
	uint32_t g = assay_add(&x->part->t, ASSAY_T_gpu);
	t->kind[g] = ASSAY_GPU_KERNEL;
	t->ts[g] = ts;
	t->dur[g] = dur;
	t->name[g] = assay_intern_z(&x->part->strings, "graph launch");
	t->corr[g] = e.stack;
	t->external[g] = assay_rocprof_u32(x->part, e.external, 0);
	t->track[g] = assay_stream_track(x->part, device, queue);
	if (queue >= 0)
		t->queue[g] = assay_rocprof_u32(x->part, (uint64_t)queue, UINT32_MAX);
	if (graph > 0)
		t->graph[g] = assay_rocprof_u32(x->part, (uint64_t)graph, 0);
	x->args.out.n = 0;
	x->args.comma = false;
	x->args.compact = true;
	if (kernels >= 0)
		assay_jsonw_i64(&x->args, "kernels", kernels);
	t->args[g] = assay_intern(&x->part->strings, (assay_str){x->args.out.p, x->args.out.n});
}

void assay_rocpd_read_graphs(assay_rocpd_instance *x, size_t first)
{
	assay_map told = {0};
	bool looked = false;
	assay_rocpd_start(x, "rocpd_graph_launch",
			  ASSAY_DB_COLUMNS(ASSAY_ROCPD_SPAN(x), "agent_id", "queue_id", "event_id",
					   "graph_exec_id", "kernel_dispatch_count"));
	while (assay_rocpd_row(x)) {
		int64_t dur, ts = assay_rocpd_time(x, 0);
		assay_rocpd_event e = *assay_rocpd_event_at(x, 4);
		if (!looked)
			find_told(x, first, &told);
		looked = true;
		if ((!e.stack || assay_map_get(&told, e.stack) == ASSAY_MAP_ABSENT) &&
		    assay_rocprof_length(x->part, ts, assay_rocpd_time(x, 1), &dur))
			add_launch(x, ts, dur, e);
	}
	assay_map_free(&told);
}
