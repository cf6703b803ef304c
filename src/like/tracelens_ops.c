/* TraceLens's unified_perf_summary: operations, bytes and rates of each operator with one set of
 * arguments, in its units (MB is 2^20 bytes, TB/s 1e12), rates as means over calls, counted as it
 * does. */
#include "like/like.h"

#include <math.h>

#include "base/test.h"

/* Means of calls' rates, which is how it sums them. */
struct rates {
	double calls, time, per_time; /* sum of ns, sum of 1/ns */
};

/* The bias of a product is an operation a result: 2MNK over 2K. */
static double with_bias(const assay_op_args *args, double flops)
{
	const assay_tensor *a = assay_arg_tensor(args, 1);
	bool fits = a && a->rank && a->dim[a->rank - 1] > 0;
	return fits ? flops + flops / (2 * (double)a->dim[a->rank - 1]) : flops;
}

/* A causal mask leaves half of the square, S(S+1)/2 here; backward passes of kernels other than
 * flash have four products, five here. */
static double of_attention(const assay_op_args *args, assay_str name, double flops)
{
	bool backward = assay_str_ends(name, "_backward");
	const assay_tensor *q = assay_arg_tensor(args, backward);
	if (!q || q->rank != 4)
		return flops;
	double s = (double)q->dim[2], products = backward ? 5 : 2,
	       full = 2 * products * assay_tensor_elements(q) * s;
	if (flops < full * 0.75)
		flops *= s / (s + 1);
	return backward && assay_str_find(name, "flash") < 0 ? flops * 4 / 5 : flops;
}

static assay_work tracelens_work(const assay_run *run, uint32_t shape)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	assay_str name = assay_text(run, s->name[shape]);
	assay_work w = {.flops = s->flops[shape], .bytes = s->bytes[shape]};
	assay_arena a = {0};
	assay_op_args args;
	const char *members =
		assay_printf(&a, "\"Input Dims\": %s, \"Input type\": %s, \"Concrete Inputs\": %s",
			     assay_z(run, s->dims[shape]), assay_z(run, s->types[shape]),
			     s->values[shape] ? assay_z(run, s->values[shape]) : "[]");
	if (assay_op_args_parse(&args, &a, assay_str_of(members))) {
		if (assay_str_is(name, "aten::addmm") || assay_str_is(name, "aten::baddbmm"))
			w.flops = with_bias(&args, w.flops);
		else if (assay_str_starts(name, "aten::_scaled_dot_product_"))
			w.flops = of_attention(&args, name, w.flops);
		assay_tracelens_work(name, &args, &w);
	}
	assay_arena_free(&a);
	return w;
}

static void add_row(assay_run *run, uint32_t source, uint32_t shape, const struct rates *r)
{
	const assay_op_shape_table *s = &run->part.t.op_shape;
	assay_arena a = {0};
	assay_work w = tracelens_work(run, shape);
	double calls = r->calls, flops = w.flops, bytes = w.bytes;
	/* all that tells shapes apart: a group's name is its key */
	const char *group =
		assay_printf(&a, "%s %s %s %s %s%s", assay_z(run, s->name[shape]),
			     assay_z(run, s->dims[shape]), assay_z(run, s->types[shape]),
			     assay_z(run, s->strides[shape]), assay_z(run, s->values[shape]),
			     s->flags[shape] & ASSAY_OP_ACROSS_BUS ? " across the bus" : "");
	const struct {
		const char *name;
		double value;
	} figures[] = {
		{"operation_count", calls},
		{"Kernel Time (us)_sum", r->time * 1e-3},
		{"Kernel Time (us)_mean", r->time * 1e-3 / calls},
		{"GFLOPS", flops * 1e-9},
		{"Data Moved (MB)", bytes / (1 << 20)},
		{"FLOPS/Byte", flops / bytes},
		{"TB/s_mean", bytes * r->per_time / calls * 1e-3},
		{"TFLOPS/s_mean", flops * r->per_time / calls * 1e-3},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(figures); i++)
		assay_like_add(run, source, "unified_perf_summary", group, figures[i].name,
			       figures[i].value);
	assay_arena_free(&a);
}

void assay_like_tracelens_ops(assay_run *run, uint32_t source)
{
	const assay_tables *t = &run->part.t;
	assay_arena a = {0};
	struct rates *r = assay_alloc(&a, (t->op_shape.n + 1) * sizeof *r);
	for (uint32_t i = 0; i < t->op_call.n; i++) {
		double ns = (double)t->op_call.busy[i];
		struct rates *of = &r[t->op_call.shape[i]];
		uint32_t host = t->op_call.host[i];
		if (host == ASSAY_NO_ROW || assay_track_group(t, t->host.track[host]) != source)
			continue;
		of->calls++;
		of->time += ns;
		of->per_time += ns > 0 ? 1 / ns : 0;
	}
	for (uint32_t i = 0; i < t->op_shape.n; i++)
		if (r[i].calls > 0)
			add_row(run, source, i, &r[i]);
	assay_arena_free(&a);
}

TEST(tracelens_counts_bias_and_half_of_a_causal_square)
{
	assay_run *run = assay_run_new();
	const struct {
		const char *name, *dims, *types;
		double ours, theirs;
	} cases[] = {
		{"aten::addmm", "[[1024], [8944, 1024], [1024, 1024]]",
		 "[\"float\", \"float\", \"float\"]", 18756927488, 18766086144},
		{"aten::_scaled_dot_product_flash_attention",
		 "[[16, 16, 559, 64], [16, 16, 559, 64], [16, 16, 559, 64]]",
		 "[\"float\", \"float\", \"float\"]", 10257694720, 10239377408},
		{"aten::_scaled_dot_product_cudnn_attention_backward",
		 "[[16, 16, 512, 64], [16, 16, 512, 64]]", "[\"float\", \"float\"]", 21516779520,
		 17179869184},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		uint32_t s = assay_add(&run->part.t, ASSAY_T_op_shape);
		run->part.t.op_shape.name[s] = assay_sid_of(run, cases[i].name);
		run->part.t.op_shape.dims[s] = assay_sid_of(run, cases[i].dims);
		run->part.t.op_shape.types[s] = assay_sid_of(run, cases[i].types);
		run->part.t.op_shape.flops[s] = cases[i].ours;
		CHECK(fabs(tracelens_work(run, s).flops / cases[i].theirs - 1) < 1e-12);
	}
	assay_run_free(run);
	return 0;
}
