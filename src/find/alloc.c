/* Device memory that is taken and given back inside the steps: such calls wait for the device, and
 * a framework that keeps what it has taken makes none of them. */
#include "analyze/idle_lines.h"
#include "base/fmt.h"
#include "base/test.h"
#include "find/cause_place.h"
#include "find/finding.h"
#include "model/by_name.h"
#include "names/calls.h"

static const char fix_torch[] =
	"no torch.cuda.empty_cache() in the step; tensors of fixed sizes, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
static const char fix_pinned[] =
	"pin once and keep the buffer, or have the DataLoader do it ahead (pin_memory=True)";
static const char fix_any[] =
	"take memory before the steps and keep it, or take it from a pool (MallocAsync, a caching allocator)";

/* What of the calls is at one line. */
struct line {
	uint32_t host, own; /* a call there, and its own call */
	int64_t time;
};

struct churn {
	const assay_run *run;
	const assay_find_ctx *c;
	assay_by_name does; /* does_to_memory() */
	int64_t idle,
		late; /* ns of gaps in such calls; of these, in the second half of the window */
	uint64_t calls[2]; /* that take, that give back */
	int64_t time[2];
	assay_map known;
	assay_vec(struct line) line[2];
};

static unsigned does_to_memory(assay_str call)
{
	assay_call_meaning m = assay_call_meaning_of(call.p, call.n);
	bool wanted = !m.async && (m.does == ASSAY_DOES_ALLOC || m.does == ASSAY_DOES_FREE);
	return wanted ? m.does : ASSAY_DOES_OTHER;
}

/* 0 takes memory, 1 gives it back, -1 neither: a call in which the runtime sets itself up, as
 * cudaFree(0) is, takes too long for memory. */
static int side_of(struct churn *x, uint32_t host)
{
	const assay_host_table *h = &x->run->part.t.host;
	if (host == ASSAY_NO_ROW || !assay_is_call(h->kind[host]) ||
	    h->dur[host] >= ASSAY_FIRST_USE)
		return -1;
	unsigned does = assay_by_name_ask(&x->does, h->name[host]);
	return does == ASSAY_DOES_ALLOC ? 0 : does == ASSAY_DOES_FREE ? 1 : -1;
}

static void add_line(struct churn *x, int side, uint32_t host)
{
	const assay_tables *t = &x->run->part.t;
	uint32_t own = assay_own_call(t, assay_call_stack(t, host));
	uint64_t key[3] = {(uint64_t)side, assay_line_key(t, own), t->host.name[host]};
	uint32_t *slot = assay_map_at(&x->known, assay_hash(key, sizeof key, 0));
	if (*slot == ASSAY_MAP_ABSENT) {
		*slot = (uint32_t)x->line[side].n;
		*assay_push(&x->line[side]) = (struct line){.host = host, .own = own};
	}
	x->line[side].p[*slot].time += t->host.dur[host];
}

static void sum_calls(struct churn *x)
{
	const assay_tables *t = &x->run->part.t;
	const assay_window *w = x->c->w;
	uint32_t group = assay_group_of(t, t->device_time.source[w->device]);
	for (uint32_t h = 0; h < t->host.n; h++) {
		if (t->host.ts[h] < w->from || t->host.ts[h] >= w->to ||
		    assay_track_group(t, t->host.track[h]) != group)
			continue;
		int side = side_of(x, h);
		if (side < 0)
			continue;
		x->calls[side]++;
		x->time[side] += t->host.dur[h] > 0 ? t->host.dur[h] : 0;
		add_line(x, side, h);
	}
}

/* ns of gaps of the window in such calls, of one cause or of any (ASSAY_WHY_COUNT). */
static int64_t sum_gaps(struct churn *x, assay_why cause)
{
	const assay_tables *t = &x->run->part.t;
	const assay_window *w = x->c->w;
	int64_t middle = w->from + (w->to - w->from) / 2;
	x->idle = x->late = 0;
	for (size_t i = 0; i < t->gap_part.n; i++) {
		uint32_t gap = t->gap_part.gap[i];
		if ((cause != ASSAY_WHY_COUNT && t->gap_part.cause[i] != cause) ||
		    t->gap.device[gap] != w->device || t->gap.ts[gap] < w->from ||
		    t->gap.ts[gap] + t->gap.dur[gap] > w->to ||
		    side_of(x, t->gap_part.during[i]) < 0)
			continue;
		x->idle += t->gap_part.dur[i];
		x->late += t->gap.ts[gap] > middle ? t->gap_part.dur[i] : 0;
	}
	return x->idle;
}

/* Giving back is what makes taking necessary: its line comes first where it costs a fair part. */
static struct line worst_line(const struct churn *x)
{
	int side = x->time[1] * 4 >= x->time[0] ? 1 : 0;
	struct line best = {.own = ASSAY_NO_ROW, .host = ASSAY_NO_ROW};
	for (size_t i = 0; i < x->line[side].n; i++)
		if (x->line[side].p[i].time > best.time)
			best = x->line[side].p[i];
	return best;
}

static void tell_where(const struct churn *x, assay_found *f)
{
	const assay_tables *t = &x->run->part.t;
	struct line at = worst_line(x);
	if (at.host == ASSAY_NO_ROW)
		return;
	f->where.op = assay_z(x->run, t->host.name[at.host]);
	if (at.own == ASSAY_NO_ROW)
		return;
	assay_where_in_stack(x->run, at.own, &f->where);
	f->fact[1] = assay_cause_inner_words(x->c->scratch, x->run, assay_call_stack(t, at.host));
}

/* Memory for almost every kernel: nobody keeps any of it. */
static bool is_uncached(const struct churn *x)
{
	return x->calls[0] * 3 > x->c->w->events[ASSAY_CLASS_COMPUTE] &&
	       x->calls[1] * 3 > x->c->w->events[ASSAY_CLASS_COMPUTE];
}

/* Memory of the host that the device may reach: cudaHostAlloc, hipHostMalloc, cudaMallocHost. */
static bool is_pinning(const char *call)
{
	return call && strstr(call, "Host");
}

static void tell(const struct churn *x)
{
	const assay_find_ctx *c = x->c;
	assay_per_step each = assay_per_step_of(c, false);
	char taken[ASSAY_FMT], given[ASSAY_FMT];
	assay_found f = {.id = "allocation",
			 .total = x->idle,
			 .once = c->steps && x->late * 5 < x->idle,
			 .what_if = "allocation=0",
			 .confidence = 0.85,
			 .fix = c->framework == ASSAY_FRAMEWORK_ANY ? fix_any : fix_torch};
	tell_where(x, &f);
	bool pins = is_pinning(f.where.op);
	f.text = assay_printf(c->scratch, "the GPU waits %s while the host %s",
			      assay_share_words(c, x->idle),
			      pins ? "pins memory" : "takes and gives back device memory");
	f.fact[0] = assay_printf(c->scratch,
				 "calls that take memory: %llu%s, %s; that give it back: %llu, %s",
				 (unsigned long long)(x->calls[0] / (uint64_t)each.steps),
				 each.words, assay_fmt_time(taken, x->time[0] / each.steps),
				 (unsigned long long)(x->calls[1] / (uint64_t)each.steps),
				 assay_fmt_time(given, x->time[1] / each.steps));
	const char *set = assay_mode_words(x->run, c->scratch, ASSAY_MODE_UNCACHED);
	if (set || (c->framework != ASSAY_FRAMEWORK_ANY && is_uncached(x)))
		f.fix = assay_mode_fix(ASSAY_MODE_UNCACHED);
	else if (pins)
		f.fix = fix_pinned;
	f.fact[f.fact[1] ? 2 : 1] = set;
	assay_finding_add(c, &f);
}

static void find_alloc(const assay_run *run, const assay_find_ctx *c)
{
	struct churn x = {.run = run, .c = c};
	if (c->w->device == ASSAY_NO_ROW || c->whole <= 0)
		return;
	x.does = assay_by_name_open(run, c->scratch, does_to_memory);
	if ((double)sum_gaps(&x, ASSAY_WHY_COUNT) >= assay_worth_saying * (double)c->whole) {
		sum_calls(&x);
		tell(&x);
	}
	assay_vec_free(&x.line[0]);
	assay_vec_free(&x.line[1]);
	assay_map_free(&x.known);
}

const assay_finder assay_find_alloc = {.id = "alloc", .find = find_alloc};

TEST(memory_of_the_host_is_pinned_and_not_taken_from_the_device)
{
	CHECK(is_pinning("cudaHostAlloc") && is_pinning("hipHostMalloc"));
	CHECK(is_pinning("cudaMallocHost") && is_pinning("cudaHostRegister"));
	CHECK(!is_pinning("cudaMalloc") && !is_pinning("hipFree") && !is_pinning(NULL));
	return 0;
}

int64_t assay_alloc_part(const assay_run *run, const assay_find_ctx *c, assay_why cause)
{
	struct churn x = {.run = run, .c = c};
	x.does = assay_by_name_open(run, c->scratch, does_to_memory);
	return sum_gaps(&x, cause);
}
