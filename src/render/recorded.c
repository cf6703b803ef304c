/* What a recording came to. */
#include "render/recorded.h"

#include <inttypes.h>

#include "base/fmt.h"
#include "base/test.h"
#include "render/report.h"

typedef struct tally {
	uint64_t kernels, copies, sets, calls, ranges, waits, resolved, allocs, processes;
} tally;

static void count_gpu(const assay_tables *t, tally *n)
{
	for (size_t i = 0; i < t->gpu.n; i++) {
		n->kernels += t->gpu.kind[i] == ASSAY_GPU_KERNEL;
		n->copies += t->gpu.kind[i] == ASSAY_GPU_MEMCPY;
		n->sets += t->gpu.kind[i] == ASSAY_GPU_MEMSET;
	}
}

static tally count_rows(const assay_run *run)
{
	tally n = {0};
	const assay_tables *t = &run->part.t;
	count_gpu(t, &n);
	for (size_t i = 0; i < t->host.n; i++) {
		n.calls += assay_is_call(t->host.kind[i]);
		n.ranges += t->host.kind[i] == ASSAY_HOST_MARKER;
	}
	for (size_t i = 0; i < t->wait.n; i++)
		n.resolved += t->wait.class[i] <= ASSAY_WAIT_IS_AMBIGUOUS;
	n.waits = t->wait.n;
	n.allocs = t->alloc.n;
	n.processes = t->source.n;
	return n;
}

static const struct {
	const char *name, *text;
} whys[] = {
#define UNRECORDED(id, name, text) {name, text},
#include "model/unrecorded.def"
#undef UNRECORDED
};

void assay_unrecorded_json(assay_jsonw *w, const assay_recorded *r)
{
	assay_jsonw_open(w, "unrecorded", '[');
	for (size_t i = 0; i < r->unrecorded_n; i++) {
		const assay_unrecorded *c = &r->unrecorded[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "pid", c->pid);
		assay_jsonw_z(w, "name", c->name);
		assay_jsonw_z(w, "why", whys[c->why].name);
		if (c->gpu == ASSAY_GPU_UNKNOWN)
			assay_jsonw_null(w, "gpu");
		else
			assay_jsonw_bool(w, "gpu", c->gpu == ASSAY_GPU_USED);
		if (c->forked)
			assay_jsonw_u64(w, "forked", c->forked);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

void assay_recorded_counts_json(assay_jsonw *w, const assay_run *run)
{
	tally n = count_rows(run);
	assay_jsonw_open(w, "counts", '{');
	assay_jsonw_u64(w, "processes", n.processes);
	assay_jsonw_u64(w, "kernels", n.kernels);
	assay_jsonw_u64(w, "copies", n.copies);
	assay_jsonw_u64(w, "memsets", n.sets);
	assay_jsonw_u64(w, "calls", n.calls);
	assay_jsonw_u64(w, "ranges", n.ranges);
	assay_jsonw_u64(w, "waits", n.waits);
	assay_jsonw_u64(w, "waits_resolved", n.resolved);
	assay_jsonw_u64(w, "allocations", n.allocs);
	assay_jsonw_close(w, '}');
	assay_issues_json(w, "losses", run);
	assay_ledger_json(w, "ledger", run);
}

static void line(FILE *out, const char *one, const char *many, uint64_t n, const char *more)
{
	if (n)
		fprintf(out, "  %12" PRIu64 "  %s%s\n", n, n == 1 ? one : many, more);
}

static void print_rows(FILE *out, const assay_recorded *r, const assay_run *run, const tally *n)
{
	char resolved[64] = "", telemetry[64];
	if (n->waits)
		snprintf(resolved, sizeof resolved,
			 " (of %" PRIu64 " it is known what they waited for)", n->resolved);
	line(out, "process", "processes", n->processes, "");
	line(out, "kernel", "kernels", n->kernels, "");
	line(out, "copy", "copies", n->copies, "");
	line(out, "memset", "memsets", n->sets, "");
	line(out, "runtime or driver call", "runtime and driver calls", n->calls, "");
	line(out, "wait", "waits", n->waits, resolved);
	line(out, "annotation range", "annotation ranges", n->ranges, "");
	snprintf(telemetry, sizeof telemetry, " of %u GPU%s, from %s", r->telemetry.devices,
		 r->telemetry.devices == 1 ? "" : "s", r->telemetry.from ? r->telemetry.from : "");
	line(out, "telemetry sample", "telemetry samples", r->telemetry.rows, telemetry);
	assay_ledger_text(out, "  ", run);
	line(out, "record could not be written", "records could not be written", r->kept, "");
	if (r->failed)
		fprintf(out,
			"  %u writes of records failed: no space, or the files were closed or taken away\n",
			r->failed);
}

static void print_leftovers(FILE *out, const assay_recorded *r)
{
	if (r->salvaged)
		fprintf(out,
			"  %" PRIu64 " records were taken from memory the command left behind\n",
			r->salvaged);
	if (r->robbed)
		fprintf(out,
			"  the memory for records was removed while the command ran: the last ones of killed processes are missing\n");
	if (r->refused)
		fprintf(out, "  %u files called rings are not of this run and were left alone\n",
			r->refused);
	if (r->orphans)
		fprintf(out, "  %u process%s left records whose trace is no longer there\n",
			r->orphans, r->orphans == 1 ? "" : "es");
	if (r->kept)
		fprintf(out, "  with room for them: assay record --recover %s\n", r->dir);
	if (r->still_running)
		fprintf(out, "  %u of its processes still run and go on recording\n",
			r->still_running);
}

static void print_one(FILE *out, const assay_unrecorded *c)
{
	assay_arena scratch = {0};
	fprintf(out, "  process %d (%s)", (int)c->pid,
		assay_fmt_safe(&scratch, assay_str_of(c->name)));
	if (c->forked)
		fprintf(out, ", with %u forked from it,", c->forked);
	fprintf(out, " %s a GPU and was not recorded: %s\n",
		c->gpu == ASSAY_GPU_USED ? "uses" : "may use", whys[c->why].text);
	assay_arena_free(&scratch);
}

/* Programs that have a GPU, or may have, each; of the others how many. */
static void print_unrecorded(FILE *out, const assay_recorded *r)
{
	size_t others = 0;
	for (size_t i = 0; i < r->unrecorded_n; i++) {
		others += r->unrecorded[i].gpu == ASSAY_GPU_NONE;
		if (r->unrecorded[i].gpu != ASSAY_GPU_NONE)
			print_one(out, &r->unrecorded[i]);
	}
	if (others)
		fprintf(out,
			"  %zu process%s without a GPU could not have been recorded; run.json names %s\n",
			others, others == 1 ? "" : "es", others == 1 ? "it" : "them");
}

static bool missed_any(const assay_recorded *r)
{
	for (size_t i = 0; i < r->unrecorded_n; i++)
		if (r->unrecorded[i].gpu == ASSAY_GPU_USED)
			return true;
	return false;
}

/* Recorders that left something tell of a GPU, too. */
static void print_no_trace(FILE *out, const assay_recorded *r)
{
	if (r->removed)
		fprintf(out, "  there is no trace: %s was removed while the command ran\n", r->dir);
	else if (r->kept || r->failed)
		fprintf(out, "  there is no trace: nothing of it could be written\n");
	else if (r->still_running)
		fprintf(out, "  there is no trace yet\n");
	else if (r->orphans || r->refused || missed_any(r))
		fprintf(out, "  there is no trace\n");
	else if (!r->can_record)
		fprintf(out,
			"  there is no trace: libassay_cuda.so and libassay_rocm.so are neither beside the program nor in ../lib/assay\n");
	else
		fprintf(out, "  the command was not seen to use a GPU: there is no trace\n");
}

void assay_recorded_text(FILE *out, const assay_recorded *r, const assay_run *run)
{
	tally n = count_rows(run);
	fprintf(out, "\nassay: recorded %.2f s into %s\n", (double)r->ns / 1e9, r->dir);
	print_rows(out, r, run, &n);
	if (n.processes && !run->part.t.gpu.n)
		fprintf(out, "  no GPU work was recorded%s%s\n", r->why_empty ? ": " : "",
			r->why_empty ? r->why_empty : "");
	if (r->signal)
		fprintf(out, "  the command was ended by signal %d; what it recorded is kept\n",
			r->signal);
	print_leftovers(out, r);
	print_unrecorded(out, r);
	const assay_warning_table *w = &run->part.t.warning;
	for (size_t i = 0; i < w->n; i++)
		fprintf(out, "  note: %s\n", assay_z(run, w->text[i]));
	if (r->note)
		fprintf(out, "  note: %s\n", r->note);
	if (!n.processes)
		print_no_trace(out, r);
	else
		fprintf(out, "next: assay report %s\n", r->job ? r->job : r->dir);
}

void assay_recovered_text(FILE *out, const assay_recorded *r, const assay_run *run)
{
	char n[ASSAY_FMT];
	fprintf(out, "assay: recovered %s records into %s\n", assay_fmt_count(n, r->salvaged),
		r->dir);
	assay_ledger_text(out, "  ", run);
	print_leftovers(out, r);
}

TEST(what_could_not_be_written_was_seen)
{
	static const struct {
		assay_recorded r;
		const char *said;
	} ends[] = {{{.kept = 7}, "there is no trace: nothing of it could be written"},
		    {{.failed = 1}, "there is no trace: nothing of it could be written"},
		    {{.still_running = 1}, "there is no trace yet"},
		    {{.removed = true, .orphans = 1}, "/run was removed while the command ran"},
		    {{.orphans = 1}, "there is no trace\n"},
		    {{0}, "not seen to use a GPU"}};
	assay_run *run = assay_run_new();
	for (size_t i = 0; i < ASSAY_COUNT_OF(ends); i++) {
		char text[4096];
		FILE *out = fmemopen(text, sizeof text, "w");
		assay_recorded r = ends[i].r;
		r.dir = "/run";
		r.can_record = true;
		assay_recorded_text(out, &r, run);
		fclose(out);
		CHECK(strstr(text, ends[i].said));
		CHECK(!strstr(text, "assay record --recover /run") == !r.kept);
		CHECK(!strstr(text, "not seen to use a GPU") == (i + 1 < ASSAY_COUNT_OF(ends)));
	}
	assay_run_free(run);
	return 0;
}
