/* What a recording says about itself: run.json for programs, and one screen for people. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "cmd/record.h"
#include "wire/secret.h"

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

/* Secrets are hidden in the whole line: `--password` may stand in one word, its value in the
 * next. */
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
		assay_jsonw_i64(w, "signal", r->end.signal);
	}
	assay_jsonw_open(w, "recorders", '{');
	for (int i = 0; i < ASSAY_RECORDERS; i++)
		assay_jsonw_z(w, assay_recorders[i]->name, r->library[i]);
	assay_jsonw_close(w, '}');
	assay_jsonw_z(w, "rings", left_rings(r));
	json_options(w, a);
	assay_jsonw_open_flat(w, "telemetry", '{');
	assay_jsonw_z(w, "from", r->end.telemetry.from);
	assay_jsonw_u64(w, "devices", r->end.telemetry.devices);
	assay_jsonw_u64(w, "rows", r->end.telemetry.rows);
	assay_jsonw_close(w, '}');
	if (run) {
		assay_unrecorded_json(w, &r->end);
		assay_recorded_counts_json(w, run);
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
	return assay_str_is_any(key, keys, ASSAY_COUNT_OF(keys));
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
	assay_jsonw_u64(&w, "records", r->end.salvaged);
	assay_jsonw_u64(&w, "still_running", r->end.still_running);
	assay_jsonw_close(&w, '}');
	assay_recorded_counts_json(&w, run);
	assay_jsonw_close(&w, '}');
	bool ok = save(r->dir, assay_jsonw_text(&w), err);
	assay_arena_free(&scratch);
	assay_jsonw_free(&w);
	return ok;
}

/* What was asked for explains a trace without work, or the command did nothing. */
static const char *why_empty(recording *r, const record_args *a, const assay_run *run)
{
	if (a->delay && r->end.ns < a->delay)
		return "the command ended before the delay was over";
	if (r->end.failed)
		return "it could not be written";
	if (a->paused && run->part.t.off.n == run->part.t.source.n)
		return "it was switched off all the time";
	if (a->only_range)
		return assay_printf(&r->arena, "none lies in a range named '%s'", a->only_range);
	return a->delay || a->duration ? "the command did none in that time" : NULL;
}

void assay_record_summary(recording *r, const record_args *a, const assay_run *run)
{
	r->end.dir = assay_fmt_safe(&r->arena, assay_str_of(r->dir));
	r->end.ns = r->stop_boot - r->start_boot;
	r->end.why_empty = why_empty(r, a, run);
	r->end.can_record = assay_recorders_any(r->library);
	assay_recorded_text(stderr, &r->end, run);
}
