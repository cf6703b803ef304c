/* What a recording says about itself: run.json for programs, one screen for people. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "cmd/record.h"
#include "render/report.h"
#include "wire/secret.h"

typedef struct tally {
	uint64_t kernels, copies, sets, calls, ranges, waits, resolved, allocs, processes, devices;
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
	n.devices = t->device.n;
	return n;
}

static void json_moment(assay_jsonw *w, const char *key, int64_t real, int64_t boot)
{
	char text[40];
	time_t seconds = (time_t)(real / 1000000000);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	assay_jsonw_open_flat(w, key, '{');
	assay_jsonw_z(w, "utc", text);
	assay_jsonw_i64(w, "unix_ns", real);
	assay_jsonw_i64(w, "boottime_ns", boot);
	assay_jsonw_close(w, '}');
}

static const struct {
	const char *name, *text;
} whys[] = {
#define X(id, name, text) {name, text},
	RECORD_WHY_LIST(X)
#undef X
};

static void json_unrecorded(assay_jsonw *w, const recording *r)
{
	assay_jsonw_open(w, "unrecorded", '[');
	for (size_t i = 0; i < r->unrecorded_n; i++) {
		const record_child *c = &r->unrecorded[i];
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_i64(w, "pid", c->pid);
		assay_jsonw_z(w, "name", c->name);
		assay_jsonw_z(w, "why", whys[c->why].name);
		assay_jsonw_bool(w, "gpu", c->gpu);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void json_counts(assay_jsonw *w, const assay_run *run)
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

static void json_options(assay_jsonw *w, const record_args *a)
{
	assay_jsonw_open(w, "options", '{');
	assay_jsonw_bool(w, "all_api", a->all_api);
	assay_jsonw_bool(w, "exact_waits", a->exact_waits);
	assay_jsonw_bool(w, "no_blas", a->no_blas);
	assay_jsonw_z(w, "graph_nodes", a->graph_nodes ? a->graph_nodes : "all");
	assay_jsonw_bool(w, "paused", a->paused);
	assay_jsonw_z(w, "keep", a->keep);
	assay_jsonw_i64(w, "delay_ns", a->delay);
	assay_jsonw_i64(w, "duration_ns", a->duration);
	assay_jsonw_z(w, "only_range", a->only_range);
	assay_jsonw_z(w, "steps_from", a->steps_from ? a->steps_from : "auto");
	assay_jsonw_z(w, "stacks", a->stacks ? a->stacks : "on");
	assay_jsonw_z(w, "sample", a->sample ? a->sample : "1ms");
	assay_jsonw_z(w, "children", a->children ? a->children : "on");
	assay_jsonw_z(w, "telemetry", a->telemetry ? a->telemetry : "200");
	assay_jsonw_close(w, '}');
}

/* A folder of rings that is still there. */
static const char *left_rings(const recording *r)
{
	return strcmp(r->rings, r->dir) && access(r->rings, F_OK) == 0 ? r->rings : NULL;
}

/* Secrets are hidden in the whole line: `--password` may stand in one word, its value in the next.
 */
static void json_command(assay_jsonw *w, char **command)
{
	assay_vec(char) line = {0};
	for (char **c = command; *c; c++) {
		size_t n = strlen(*c) + 1;
		assay_vec_reserve(&line, line.n + n);
		memcpy(line.p + line.n, *c, n);
		line.n += n;
	}
	assay_str rest = {line.p, assay_hide_secrets(line.p, line.n)};
	assay_jsonw_open_flat(w, "command", '[');
	while (rest.n)
		assay_jsonw_str(w, NULL, assay_str_cut(&rest, 0));
	assay_jsonw_close(w, ']');
	assay_vec_free(&line);
}

static void json_run(assay_jsonw *w, const recording *r, const record_args *a, const assay_run *run)
{
	char host[64] = "";
	gethostname(host, sizeof host - 1);
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "assay", ASSAY_VERSION);
	json_command(w, r->command);
	assay_jsonw_z(w, "host", host);
	json_moment(w, "start", r->start_real, r->start_boot);
	if (run) {
		json_moment(w, "stop", r->stop_real, r->stop_boot);
		assay_jsonw_i64(w, "status", r->status);
		assay_jsonw_i64(w, "signal", r->signal);
	}
	assay_jsonw_open(w, "recorders", '{');
	for (int i = 0; i < ASSAY_RECORDERS; i++)
		assay_jsonw_z(w, assay_recorders[i]->name, r->library[i]);
	assay_jsonw_close(w, '}');
	assay_jsonw_z(w, "rings", left_rings(r));
	json_options(w, a);
	assay_jsonw_open_flat(w, "telemetry", '{');
	assay_jsonw_z(w, "from", r->telemetry.from);
	assay_jsonw_u64(w, "devices", r->telemetry.devices);
	assay_jsonw_u64(w, "rows", r->telemetry.rows);
	assay_jsonw_close(w, '}');
	if (run) {
		json_unrecorded(w, r);
		json_counts(w, run);
	}
	assay_jsonw_close(w, '}');
}

/* Under another name first: whoever reads run.json sees a whole one. */
static bool save(const char *dir, assay_str text, assay_err *err)
{
	assay_arena scratch = {0};
	char *part = assay_printf(&scratch, "%s/.run.json", dir);
	char *path = assay_printf(&scratch, "%s/run.json", dir);
	unlink(part); /* a link that somebody put there is not followed */
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool ok = f && fwrite(text.p, 1, text.n, f) == text.n && fputc('\n', f) != EOF;
	ok = (!f || fclose(f) == 0) && ok && rename(part, path) == 0;
	if (!ok) {
		assay_fail(err, ASSAY_IO, 0, "cannot write %s: %s", path, strerror(errno));
		unlink(part);
	}
	assay_arena_free(&scratch);
	return ok;
}

bool assay_record_write(const recording *r, const record_args *a, const assay_run *run,
			assay_err *err)
{
	assay_jsonw w = {0};
	json_run(&w, r, a, run);
	bool ok = save(r->dir, assay_jsonw_text(&w), err);
	assay_jsonw_free(&w);
	return ok;
}

static bool is_told_anew(assay_str key)
{
	static const char *const keys[] = {"rings", "recovered", "counts", "losses", "ledger"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(keys); i++)
		if (assay_str_is(key, keys[i]))
			return true;
	return false;
}

bool assay_record_complete(const recording *r, assay_str before, const assay_run *run,
			   assay_err *err)
{
	assay_jsonw w = {0};
	assay_arena scratch = {0};
	assay_json j = assay_json_on(before.p, before.n);
	assay_jsonw_open(&w, NULL, '{');
	assay_json_enter(&j, '{');
	for (assay_str key, value; assay_json_member(&j, &key) && assay_json_skip(&j, &value);)
		if (!is_told_anew(key))
			assay_jsonw_raw(&w, assay_dup(&scratch, key), value);
	assay_jsonw_z(&w, "rings", left_rings(r));
	assay_jsonw_open_flat(&w, "recovered", '{');
	assay_jsonw_i64(&w, "unix_ns", r->stop_real);
	assay_jsonw_u64(&w, "records", r->salvaged);
	assay_jsonw_u64(&w, "still_running", r->still_running);
	assay_jsonw_close(&w, '}');
	json_counts(&w, run);
	assay_jsonw_close(&w, '}');
	bool ok = save(r->dir, assay_jsonw_text(&w), err);
	assay_arena_free(&scratch);
	assay_jsonw_free(&w);
	return ok;
}

static void line(const char *what, uint64_t n, const char *more)
{
	if (n)
		fprintf(stderr, "  %12" PRIu64 "  %s%s\n", n, what, more);
}

static void print_rows(const recording *r, const assay_run *run, const tally *n)
{
	char resolved[64] = "", telemetry[64];
	if (n->waits)
		snprintf(resolved, sizeof resolved,
			 " (of %" PRIu64 " it is known what they waited for)", n->resolved);
	line("processes", n->processes, "");
	line("kernels", n->kernels, "");
	line("copies", n->copies, "");
	line("memsets", n->sets, "");
	line("runtime and driver calls", n->calls, "");
	line("waits", n->waits, resolved);
	line("annotation ranges", n->ranges, "");
	snprintf(telemetry, sizeof telemetry, " of %u GPU%s, from %s", r->telemetry.devices,
		 r->telemetry.devices == 1 ? "" : "s", r->telemetry.from ? r->telemetry.from : "");
	line("telemetry samples", r->telemetry.rows, telemetry);
	assay_ledger_text(stderr, "  ", run);
	line("records could not be written", r->kept, "");
	if (r->failed)
		fprintf(stderr,
			"  %u writes of records failed: no space, or the files were closed or taken away\n",
			r->failed);
}

/* A trace without work: what was asked for explains it, or the command did nothing. */
static void print_why_empty(const recording *r, const record_args *a, const assay_run *run,
			    const tally *n)
{
	fprintf(stderr, "  no GPU work was recorded");
	if (a->delay && r->stop_boot - r->start_boot < a->delay)
		fprintf(stderr, ": the command ended before the delay was over");
	else if (r->failed)
		fprintf(stderr, ": it could not be written");
	else if (a->paused && run->part.t.off.n == n->processes)
		fprintf(stderr, ": it was switched off all the time");
	else if (a->only_range)
		fprintf(stderr, ": none lies in a range named '%s'", a->only_range);
	else if (a->delay || a->duration)
		fprintf(stderr, ": the command did none in that time");
	fprintf(stderr, "\n");
}

void assay_record_leftovers(const recording *r)
{
	if (r->salvaged)
		fprintf(stderr,
			"  %" PRIu64 " records were taken from memory the command left behind\n",
			r->salvaged);
	if (r->refused)
		fprintf(stderr, "  %u files called rings are not of this run and were left alone\n",
			r->refused);
	if (r->orphans)
		fprintf(stderr, "  %u processes left records whose trace is no longer there\n",
			r->orphans);
	if (r->kept)
		fprintf(stderr, "  with room for them: assay record --recover %s\n", r->dir);
	if (r->still_running)
		fprintf(stderr, "  %u of its processes still run and go on recording\n",
			r->still_running);
}

/* Programs with a GPU each; of the others how many. */
static void print_unrecorded(const recording *r)
{
	size_t others = 0;
	assay_arena scratch = {0};
	for (size_t i = 0; i < r->unrecorded_n; i++) {
		const record_child *c = &r->unrecorded[i];
		others += !c->gpu;
		if (c->gpu)
			fprintf(stderr, "  process %d (%s) uses a GPU and was not recorded: %s\n",
				(int)c->pid, assay_fmt_safe(&scratch, assay_str_of(c->name)),
				whys[c->why].text);
	}
	assay_arena_free(&scratch);
	if (others)
		fprintf(stderr,
			"  %zu processes without a GPU could not have been recorded; run.json names them\n",
			others);
}

void assay_record_summary(const recording *r, const record_args *a, const assay_run *run)
{
	tally n = count_rows(run);
	fprintf(stderr, "\nassay: recorded %.2f s into %s\n",
		(double)(r->stop_boot - r->start_boot) / 1e9, r->dir);
	print_rows(r, run, &n);
	if (n.processes && !run->part.t.gpu.n)
		print_why_empty(r, a, run, &n);
	if (r->signal)
		fprintf(stderr, "  the command was ended by signal %d; what it recorded is kept\n",
			r->signal);
	assay_record_leftovers(r);
	print_unrecorded(r);
	const assay_warning_table *w = &run->part.t.warning;
	for (size_t i = 0; i < w->n; i++)
		fprintf(stderr, "  note: %s\n", assay_z(run, w->text[i]));
	if (r->note)
		fprintf(stderr, "  note: %s\n", r->note);
	if (!n.processes)
		fprintf(stderr, "  the command never used a GPU%s: there is no trace\n",
			assay_recorders_any(r->library) ? "" : " that a recorder was built for");
	else
		fprintf(stderr, "next: assay report %s\n", r->dir);
}
