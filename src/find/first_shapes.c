#include "find/first_shapes.h"

#include "analyze/idle_where.h"
#include "base/fmt.h"
#include "base/test.h"
#include "model/by_hand.h"

enum { MANY = 3 }; /* shapes that the steady steps meet for the first time */

struct first {
	int64_t time, most;
	uint64_t shapes;
	uint32_t call; /* row of op_call: that is waited for longest; ASSAY_NO_ROW */
};

/* ns of the window's gaps in operators whose shape nobody had called before. */
static struct first sum_first(const assay_run *run, const assay_window *w)
{
	const assay_tables *t = &run->part.t;
	struct first sum = {.call = ASSAY_NO_ROW};
	assay_map of = {0}; /* row of host -> row of op_call, first calls only */
	assay_map seen = {0};
	for (uint32_t i = 0; i < t->op_shape.n; i++) {
		uint32_t call = t->op_shape.call[i];
		if (call != ASSAY_NO_ROW && t->op_call.host[call] != ASSAY_NO_ROW)
			*assay_map_at(&of, t->op_call.host[call]) = call;
	}
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t row = t->gap_part.during[i];
		if (t->gap_part.cause[i] != ASSAY_WHY_HOST_OP || row == ASSAY_NO_ROW ||
		    !assay_gap_in_window(&t->gap, w, t->gap_part.gap[i]))
			continue;
		uint32_t call = assay_map_get(&of, row);
		if (call == ASSAY_MAP_ABSENT)
			continue;
		int64_t dur = t->gap_part.dur[i];
		*assay_map_at(&seen, call) = 0;
		sum.time += dur;
		if (dur > sum.most) {
			sum.most = dur;
			sum.call = call;
		}
	}
	sum.shapes = seen.n;
	assay_map_free(&of);
	assay_map_free(&seen);
	return sum;
}

static void set_line(const assay_run *run, uint32_t call, assay_where *where)
{
	const assay_tables *t = &run->part.t;
	uint32_t gpu = t->op_call.gpu[call];
	uint32_t own = gpu == ASSAY_NO_ROW
			       ? ASSAY_NO_ROW
			       : assay_own_call(t, assay_call_stack(t, t->launch.host[gpu]));
	if (!where->file && own != ASSAY_NO_ROW)
		assay_where_in_stack(run, own, where);
}

void assay_first_shapes_tell(const assay_run *run, const assay_find_ctx *c, assay_found *f)
{
	const assay_tables *t = &run->part.t;
	struct first sum = sum_first(run, c->w);
	char count[ASSAY_FMT], time[ASSAY_FMT];
	if (!c->steps || sum.shapes < MANY || sum.time * 2 < f->total)
		return;
	uint32_t shape = t->op_call.shape[sum.call];
	set_line(run, sum.call, &f->where);
	f->text = assay_printf(c->scratch, "%s, on shapes they have not met before", f->text);
	f->fix =
		"few sizes: pad, or sort into buckets, so that libraries find the kernels they chose and loaded; warm all of them up before the loop";
	assay_found_add_fact(
		f,
		assay_printf(c->scratch, "%s new shapes in %llu steps take %s, %s %s for longest",
			     assay_fmt_count(count, sum.shapes), (unsigned long long)c->steps,
			     assay_fmt_time(time, sum.time),
			     assay_fmt_safe(c->scratch, assay_text(run, t->op_shape.name[shape])),
			     assay_fmt_safe(c->scratch, assay_text(run, t->op_shape.dims[shape]))));
}

/* Four products, each waited for; the first calls of their shapes as given. */
static struct first sum_of(const uint32_t *shape, int64_t within)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t host = assay_hand_host(run, ASSAY_HOST_OP, "cublasGemmEx", 100 * i, 50);
		uint32_t call = assay_add(t, ASSAY_T_op_call);
		uint32_t gap = assay_hand_gap(run, ASSAY_WHY_HOST_OP, 100 * i, 40 + i);
		if (shape[i] == t->op_shape.n) {
			uint32_t row = assay_add(t, ASSAY_T_op_shape);
			t->op_shape.call[row] = call;
		}
		t->op_call.host[call] = host;
		t->op_call.shape[call] = shape[i];
		t->gap_part.during[gap] = host;
	}
	struct first sum = sum_first(run, &(assay_window){.to = within});
	assay_run_free(run);
	return sum;
}

TEST(waits_for_operators_count_as_first_where_their_shape_is_new)
{
	static const uint32_t fresh[] = {0, 1, 2, 3}, same[] = {0, 0, 0, 1};
	struct first sum = sum_of(fresh, 1000);
	CHECK(sum.shapes == 4 && sum.time == 40 + 41 + 42 + 43 && sum.call == 3);
	sum = sum_of(fresh, 200);
	CHECK(sum.shapes == 2 && sum.time == 40 + 41);
	sum = sum_of(same, 1000);
	CHECK(sum.shapes == 2 && sum.time == 40 + 43);
	return 0;
}
