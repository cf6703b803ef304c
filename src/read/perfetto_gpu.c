/* GPU packets: render stages, which CUDA and HIP producers use for kernels, counters, and what is
 * said of the GPUs themselves. */
#include "read/perfetto.h"

#include "read/rocprof.h"

typedef struct stage {
	uint64_t id, queue, kind, context, kernel;
	int64_t dur, gpu;
	bool has_kernel;
	assay_sid name;
	assay_str launch;
} stage;

static assay_sid text_of(perfetto *x, uint32_t sequence, perfetto_interned kind, uint64_t iid)
{
	uint32_t sid = perfetto_interned_get(x, sequence, kind, iid);
	return sid == ASSAY_MAP_ABSENT ? 0 : sid;
}

/* Lists of names that stood in the first event, before they were interned: number as index. */
static void read_specifications(perfetto *x, uint32_t sequence, assay_str message)
{
	enum { QUEUES = 2, STAGES = 3, OLD_STAGES = 1 << 30 };
	assay_proto c = assay_proto_on(message);
	uint64_t queue = 0, kind = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_BYTES || (f.number != QUEUES && f.number != STAGES))
			continue;
		uint64_t iid = f.number == QUEUES ? queue++ : OLD_STAGES + kind++;
		assay_proto d = assay_proto_on(f.bytes);
		for (assay_field g; assay_proto_next(&d, &g);)
			if (g.number == 1 && g.wire == ASSAY_WIRE_BYTES)
				perfetto_set_interned(x, sequence, PF_IS_STAGE, iid | 1ull << 40,
						      assay_intern(&x->part->strings, g.bytes));
	}
}

static stage read_stage(perfetto *x, uint32_t sequence, assay_str message)
{
	enum { OLD_STAGES = 1 << 30 };
	stage s = {.dur = 0, .gpu = 0};
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_STAGE_ID)
			s.id = f.value;
		else if (f.number == PF_STAGE_DURATION)
			s.dur = f.value < 1ull << 61 ? (int64_t)f.value : -1;
		else if (f.number == PF_STAGE_GPU)
			s.gpu = (int32_t)f.value;
		else if (f.number == PF_STAGE_QUEUE)
			s.queue = f.value;
		else if (f.number == PF_STAGE_QUEUE_OLD)
			s.queue = (uint32_t)f.value | 1ull << 40;
		else if (f.number == PF_STAGE_STAGE)
			s.kind = f.value;
		else if (f.number == PF_STAGE_STAGE_OLD)
			s.kind = (OLD_STAGES + (uint64_t)(uint32_t)f.value) | 1ull << 40;
		else if (f.number == PF_STAGE_CONTEXT)
			s.context = f.value;
		else if (f.number == PF_STAGE_KERNEL) {
			s.kernel = f.value;
			s.has_kernel = true;
		} else if (f.number == PF_STAGE_NAME_IID)
			s.name = text_of(x, sequence, PF_IS_NAME, f.value);
		else if (f.number == PF_STAGE_NAME && f.wire == ASSAY_WIRE_BYTES)
			s.name = assay_intern(&x->part->strings, f.bytes);
		else if (f.number == PF_STAGE_LAUNCH && f.wire == ASSAY_WIRE_BYTES)
			s.launch = f.bytes;
		else if (f.number == PF_STAGE_SPECIFICATIONS && f.wire == ASSAY_WIRE_BYTES)
			read_specifications(x, sequence, f.bytes);
	}
	return s;
}

static void read_dim(assay_str message, uint32_t to[3])
{
	assay_proto c = assay_proto_on(message);
	to[0] = to[1] = to[2] = 1;
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number >= 1 && f.number <= 3 && f.value <= UINT32_MAX)
			to[f.number - 1] = (uint32_t)f.value;
}

/* Grid, block and arguments of the launch, and those that all launches of its kernel share. */
static void read_launch(perfetto *x, uint32_t sequence, const stage *s, const perfetto_kernel *k,
			perfetto_args *a)
{
	assay_str lists[] = {s->launch, k ? (assay_str){k->args.p, k->args.n} : (assay_str){0}};
	perfetto_args_begin(x, a);
	for (size_t i = 0; i < ASSAY_COUNT_OF(lists); i++) {
		assay_proto c = assay_proto_on(lists[i]);
		for (assay_field f; assay_proto_next(&c, &f);) {
			if (f.wire != ASSAY_WIRE_BYTES)
				continue;
			if (f.number == PF_LAUNCH_GRID)
				read_dim(f.bytes, a->grid);
			else if (f.number == PF_LAUNCH_BLOCK)
				read_dim(f.bytes, a->block);
			else if (f.number == PF_LAUNCH_ARGS)
				perfetto_launch_arg(x, sequence, f.bytes, a);
		}
	}
	perfetto_args_end(x, a);
}

/* The line of a queue of a GPU, and the process whose context it is. */
static uint32_t queue_track(perfetto *x, uint32_t sequence, const stage *s)
{
	uint32_t pid = perfetto_interned_get(x, sequence, PF_IS_CONTEXT, s->context);
	uint64_t k[4] = {0x7175657565, (uint64_t)s->gpu, s->queue, pid};
	uint32_t i = perfetto_track_at(x, assay_hash(k, sizeof k, 3), sequence);
	perfetto_track *t = &x->tracks.p[i];
	t->name = text_of(x, sequence, PF_IS_STAGE, s->queue);
	t->pid = pid == ASSAY_MAP_ABSENT ? -1 : (int64_t)pid;
	t->device = s->gpu;
	t->stream = (int64_t)(s->queue & 0xffffffff);
	return i;
}

static bool is_copy(assay_str name)
{
	return assay_str_find_nocase(name, "memcpy") >= 0 ||
	       assay_str_find_nocase(name, "memory_copy") >= 0;
}

void perfetto_stage_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	stage s = read_stage(x, p->sequence, message);
	x->events++;
	if (!s.kind && !s.queue && !s.name && !s.has_kernel)
		return; /* it only lists names */
	if (!p->has_ts || s.dur < 0) {
		assay_count(x->part, ASSAY_ISSUE_no_duration, 1);
		return;
	}
	uint32_t k = s.has_kernel ? perfetto_interned_get(x, p->sequence, PF_IS_KERNEL, s.kernel)
				  : ASSAY_MAP_ABSENT;
	perfetto_args a;
	read_launch(x, p->sequence, &s, k == ASSAY_MAP_ABSENT ? NULL : &x->kernels.p[k], &a);
	uint32_t r = perfetto_add_gpu(x, queue_track(x, p->sequence, &s), &a);
	assay_gpu_table *g = &x->part->t.gpu;
	assay_sid kind = text_of(x, p->sequence, PF_IS_STAGE, s.kind);
	g->ts[r] = p->ts;
	g->dur[r] = s.dur;
	g->corr[r] = s.id + 1;
	g->name[r] = k != ASSAY_MAP_ABSENT && x->kernels.p[k].name ? x->kernels.p[k].name
		     : s.name                                      ? s.name
								   : kind;
	g->kind[r] = is_copy(assay_pool_get(&x->part->strings, g->name[r])) ||
				     is_copy(assay_pool_get(&x->part->strings, kind))
			     ? ASSAY_GPU_MEMCPY
			     : ASSAY_GPU_KERNEL;
	assay_count(x->part, ASSAY_ISSUE_no_name, !g->name[r]);
	if (p->ts + s.dur > x->last)
		x->last = p->ts + s.dur;
}

/* ------------------------------------------------------------------ counters */

static uint64_t counter_key(int64_t gpu, uint64_t id)
{
	return (uint64_t)(uint32_t)gpu << 32 | (uint32_t)id;
}

void perfetto_counter_names(perfetto *x, int64_t gpu, assay_str descriptor)
{
	assay_proto c = assay_proto_on(descriptor);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number != 1 || f.wire != ASSAY_WIRE_BYTES)
			continue;
		assay_proto d = assay_proto_on(f.bytes);
		uint64_t id = 0;
		assay_sid name = 0;
		for (assay_field g; assay_proto_next(&d, &g);) {
			if (g.number == 1)
				id = g.value;
			else if (g.number == 2 && g.wire == ASSAY_WIRE_BYTES)
				name = assay_intern(&x->part->strings, g.bytes);
		}
		*assay_map_at(&x->counter_name, counter_key(gpu, id)) = name;
	}
}

static void add_value(perfetto *x, const perfetto_packet *p, int64_t gpu, assay_str message)
{
	assay_proto c = assay_proto_on(message);
	uint64_t id = 0;
	double v = 0;
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.number == PF_VALUE_ID)
			id = f.value;
		else if (f.number == PF_VALUE_INT)
			v = (double)assay_field_i64(&f);
		else if (f.number == PF_VALUE_DOUBLE)
			v = assay_field_f64(&f);
	}
	uint64_t k[3] = {0x636f756e74, (uint64_t)gpu, id};
	uint32_t track = perfetto_track_at(x, assay_hash(k, sizeof k, 4), p->sequence);
	uint32_t name = assay_map_get(&x->counter_name, counter_key(gpu, id));
	perfetto_track *t = &x->tracks.p[track];
	t->device = gpu;
	t->counter = true;
	t->name = name == ASSAY_MAP_ABSENT ? 0 : name;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_counter);
	x->part->t.counter.ts[r] = p->ts;
	x->part->t.counter.track[r] = track;
	x->part->t.counter.value[r] = v;
}

void perfetto_counters_read(perfetto *x, const perfetto_packet *p, assay_str message)
{
	int64_t gpu = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == PF_COUNTERS_GPU)
			gpu = (int32_t)f.value;
	c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		if (f.number == PF_COUNTERS_DESCRIPTOR)
			perfetto_counter_names(x, gpu, f.bytes);
		else if (f.number == PF_COUNTERS_COUNTER && p->has_ts) {
			x->events++;
			add_value(x, p, gpu, f.bytes);
		}
	}
}

/* ------------------------------------------------------------------ facts of GPUs */

/* What our writer adds to Perfetto's facts. */
static void take_extra(perfetto *x, uint32_t r, assay_str message)
{
	assay_device_table *d = &x->part->t.device;
	assay_str key = {"", 0}, value = {"", 0};
	int64_t v;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		if (f.number == PF_EXTRA_KEY)
			key = f.bytes;
		else if (f.number == PF_EXTRA_VALUE)
			value = f.bytes;
	}
	if (!assay_str_i64(value, &v) || v < 0)
		return;
	if (assay_str_is(key, "device") && v <= INT32_MAX)
		d->id[r] = (int32_t)v;
	else if (assay_str_is(key, "memory"))
		d->memory[r] = v;
	else if (assay_str_is(key, "units") && v <= INT32_MAX)
		d->units[r] = (int32_t)v;
	else if (assay_str_is(key, "warp") && v <= INT32_MAX)
		d->warp[r] = (int32_t)v;
}

static void add_gpu_facts(perfetto *x, uint32_t sequence, int32_t id, assay_str message)
{
	assay_pool *strings = &x->part->strings;
	uint32_t r = assay_add(&x->part->t, ASSAY_T_device);
	assay_device_table *d = &x->part->t.device;
	assay_str name = {"", 0}, vendor = {"", 0}, arch = {"", 0};
	d->id[r] = id;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		if (f.wire != ASSAY_WIRE_BYTES)
			continue;
		if (f.number == PF_GPU_NAME || (f.number == PF_GPU_MODEL && !name.n))
			name = f.bytes;
		else if (f.number == PF_GPU_VENDOR)
			vendor = f.bytes;
		else if (f.number == PF_GPU_ARCH)
			arch = f.bytes;
		else if (f.number == PF_GPU_EXTRA)
			take_extra(x, r, f.bytes);
	}
	assay_vendor v = assay_vendor_of(vendor);
	d->name[r] = assay_intern(strings, name);
	d->arch[r] = assay_intern(strings, arch);
	d->vendor[r] = vendor.n ? assay_intern_z(strings, assay_vendor_name[v]) : 0;
	*assay_push(&x->device_sequence) = sequence;
}

void perfetto_info_read(perfetto *x, uint32_t sequence, assay_str message)
{
	int32_t id = 0;
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == PF_INFO_GPU && f.wire == ASSAY_WIRE_BYTES)
			add_gpu_facts(x, sequence, id++, f.bytes);
}
