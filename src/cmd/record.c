/* assay record: run a command with the recorders in it, leave a run directory. */
#define _GNU_SOURCE /* mkdtemp, realpath */
#include "cmd/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "base/fmt.h"
#include "base/folders.h"
#include "base/test.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "names/calls.h"
#include "names/launchers.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "vendor/rocprof.h"
#include "wire/clock.h"

enum { TELEMETRY_MS = 200, SHM_MIN = 256 << 20 };
#define RINGS "rings="

struct args {
	record_args a;
	assay_opt_list set;
};

extern char **environ;

/* ---- places ---- */

/* assay-DATE-TIME, with a number behind it when two start in one second. */
static bool make_named(recording *r, const char **out)
{
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	localtime_r(&now, &tm);
	strftime(name, sizeof name, "assay-%Y%m%d-%H%M%S", &tm);
	*out = assay_printf(&r->arena, "%s", name);
	for (int n = 2; mkdir(*out, 0777) < 0; n++) {
		if (errno != EEXIST || n > 1000)
			return false;
		*out = assay_printf(&r->arena, "%s-%d", name, n);
	}
	r->made = 1;
	return true;
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	bool empty = true;
	for (struct dirent *e; d && empty && (e = readdir(d));)
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

static bool check_dir(recording *r, const char *out, assay_err *err)
{
	struct stat st;
	if (stat(r->dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return assay_fail(err, ASSAY_USAGE, 0, "%s is not a directory", out);
	if (stat(assay_printf(&r->arena, "%s/run.json", r->dir), &st) == 0)
		return assay_fail(err, ASSAY_USAGE, 0,
				  "%s holds a recording already; name another with -o", out);
	if (!is_empty(r->dir))
		return assay_fail(
			err, ASSAY_USAGE, 0,
			"%s is not empty, and what is in it would be read with the run; name another with -o",
			out);
	if (strlen(r->dir) > 700)
		return assay_fail(err, ASSAY_LIMIT, 0, "%s is too long a path", r->dir);
	return true;
}

/* Two recordings started at once with one name: the second finds the first one's lock, which lasts
 * as long as the process. The folder belongs to who has the lock, whoever made it. */
static bool lock_dir(recording *r, const char *out, assay_err *err)
{
	r->lock = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0 || flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return true;
	r->made = 0;
	return assay_fail(err, ASSAY_USAGE, 0, "%s is being recorded into; name another with -o",
			  out);
}

static bool make_dir(recording *r, const char *out, assay_err *err)
{
	char path[PATH_MAX];
	if (out ? !assay_make_folders(out, 0777, &r->made) : !make_named(r, &out))
		return assay_fail(err, *out ? ASSAY_IO : ASSAY_USAGE, 0, "cannot make '%s': %s",
				  out, strerror(errno));
	if (!realpath(out, path))
		return assay_fail(err, ASSAY_IO, 0, "cannot use %s: %s", out, strerror(errno));
	r->dir = assay_printf(&r->arena, "%s", path);
	if (lock_dir(r, out, err) && check_dir(r, out, err))
		return true;
	assay_remove_folders(r->dir, r->made);
	return false;
}

/* A folder for this rank inside the one that all ranks of the job are given. */
static bool choose_rank_dir(recording *r, const record_args *a, const char **out, assay_err *err)
{
	assay_place p;
	*out = a->out;
	if (!a->per_rank)
		return true;
	if (!a->out)
		return assay_fail(err, ASSAY_USAGE, 0,
				  "--per-rank needs -o DIR, the same for all ranks");
	if (!assay_place_here(&p, false))
		return assay_fail(err, ASSAY_USAGE, 0,
				  "--per-rank: no launcher says which rank this is");
	r->silent = p.rank > 0;
	r->end.job = assay_fmt_safe(&r->arena, assay_str_of(a->out));
	*out = assay_printf(&r->arena, "%s/rank-%05d", a->out, (int)p.rank);
	return true;
}

static const char *rings_given(const struct args *a)
{
	const char *dir = NULL;
	for (size_t i = 0; i < a->set.n; i++)
		if (!strncmp(a->set.item[i], RINGS, strlen(RINGS)))
			dir = a->set.item[i] + strlen(RINGS);
	return dir;
}

/* Rings want memory, not a disk. But a small /dev/shm is needed by others (NCCL keeps its buffers
 * there), and it may be missing: then the run directory does. */
static void make_rings_dir(recording *r, const struct args *a)
{
	struct statvfs fs;
	const char *given = rings_given(a);
	char *path = assay_printf(&r->arena, "%s/assay-XXXXXX", given ? given : "/dev/shm");
	bool roomy = given || (statvfs("/dev/shm", &fs) == 0 &&
			       (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)SHM_MIN);
	char absolute[PATH_MAX];
	r->rings = r->dir;
	if (roomy && mkdtemp(path) && realpath(path, absolute))
		r->rings = assay_printf(&r->arena, "%s", absolute);
	if (r->rings != r->dir && symlink(r->dir, assay_record_link(r)) < 0)
		assay_say("assay: cannot write into %s: %s", r->rings, strerror(errno));
}

/* ---- the command's environment ---- */

static char *escape(assay_arena *a, const char *text)
{
	char *out = assay_alloc(a, strlen(text) * 3 + 1), *p = out;
	for (; *text; text++)
		p += *text == ';' || *text == '%' || (unsigned char)*text < ' '
			     ? sprintf(p, "%%%02x", (unsigned char)*text)
			     : sprintf(p, "%c", *text);
	return out;
}

static bool is_off(const char *text)
{
	return text && !strcmp(text, "off");
}

/* ns between looks at host threads; 0: none. */
static bool sample_period(const char *text, int64_t *ns)
{
	enum { USUAL = 1000000, LEAST = 50000 };
	*ns = text ? 0 : USUAL;
	return !text || is_off(text) ||
	       (assay_opt_time(text, ns) && *ns >= LEAST && *ns <= 1000ll * USUAL);
}

static char *config_text(recording *r, const struct args *a)
{
	assay_arena *m = &r->arena;
	int64_t now = assay_clock(CLOCK_BOOTTIME);
	char *text = assay_printf(m, "1;dir=%s;rings=%s", escape(m, r->dir), escape(m, r->rings));
	if (a->a.only_range)
		text = assay_printf(m, "%s;range=%s", text, escape(m, a->a.only_range));
	if (a->a.paused)
		text = assay_printf(m, "%s;paused=1", text);
	if (a->a.delay)
		text = assay_printf(m, "%s;from=%" PRId64, text, now + a->a.delay);
	if (a->a.duration)
		text = assay_printf(m, "%s;until=%" PRId64, text, now + a->a.delay + a->a.duration);
	if (a->a.all_api)
		text = assay_printf(m, "%s;all_api=1", text);
	if (a->a.exact_waits)
		text = assay_printf(m, "%s;exact_waits=1", text);
	if (a->a.no_blas)
		text = assay_printf(m, "%s;no_blas=1", text);
	if (a->a.steps_from)
		text = assay_printf(m, "%s;steps=%s", text, escape(m, a->a.steps_from));
	int64_t sample;
	if (sample_period(a->a.sample, &sample))
		text = assay_printf(m, "%s;sample=%" PRId64, text, sample / 1000);
	if (is_off(a->a.stacks))
		text = assay_printf(m, "%s;no_stacks=1", text);
	if (is_off(a->a.children))
		text = assay_printf(m, "%s;no_children=1", text);
	if (a->a.graph_nodes && strcmp(a->a.graph_nodes, "all"))
		text = assay_printf(m, "%s;%s_nodes=1", text,
				    strcmp(a->a.graph_nodes, "none") ? a->a.graph_nodes : "no");
	if (r->keep.bytes)
		text = assay_printf(m, "%s;keep=%" PRId64 ";keep_ns=%" PRId64, text, r->keep.bytes,
				    r->keep.ns);
	uint32_t filters = assay_record_filters();
	if (filters)
		text = assay_printf(m, "%s;filters=%" PRIu32, text, filters);
	for (size_t i = 0; i < a->set.n; i++)
		if (strncmp(a->set.item[i], RINGS, strlen(RINGS)))
			text = assay_printf(m, "%s;%s", text, a->set.item[i]);
	return text;
}

static void make_variables(record_variables *v, recording *r, const struct args *a)
{
	for (char **e = environ; *e; e++)
		*assay_push(&v->text) = *e;
	assay_variables_put(v, "ASSAY_RECORD", config_text(r, a));
	assay_variables_put(v, "ASSAY_RUN", r->dir);
	if (getenv("ASSAY_RECORD"))
		assay_say(
			"assay: this runs inside another `assay record`, which will record nothing of this command");
	for (int i = 0; i < ASSAY_RECORDERS; i++)
		if (r->library[i])
			assay_recorders[i]->enter(r, r->library[i], v);
	*assay_push(&v->text) = NULL;
}

/* ---- after the command ---- */

/* With something in it: what waits in rings for an empty one is told of these. */
static bool is_capture(int dir, const char *name)
{
	struct stat st;
	return assay_str_ends(assay_str_of(name), ".asy") &&
	       (fstatat(dir, name, &st, 0) < 0 || st.st_size > 0);
}

assay_run *assay_record_read(recording *r)
{
	assay_run *run = assay_run_new();
	DIR *d = opendir(r->dir);
	if (!d)
		return run;
	for (struct dirent *e; (e = readdir(d));) {
		assay_err err = {0};
		if (is_capture(dirfd(d), e->d_name) &&
		    !assay_read_path(run, assay_printf(&r->arena, "%s/%s", r->dir, e->d_name),
				     &err))
			assay_warn(run, "capture", "%s", err.text);
	}
	closedir(d);
	return run;
}

/* Telemetry that another tool wrote meanwhile, beside ours. */
static bool take_file(recording *r, const char *from, assay_err *err)
{
	char *to = assay_printf(&r->arena, "%s/telemetry-%s", r->dir, assay_file_name(from));
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
	char buffer[65536];
	bool ok = in && out;
	for (size_t n; ok && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		ok = fwrite(buffer, 1, n, out) == n;
	ok = ok && !ferror(in); /* a folder opens, and does not read */
	int why = errno;
	if (in)
		fclose(in);
	if (out && fclose(out) != 0 && ok) {
		ok = false;
		why = errno;
	}
	if (ok)
		return true;
	if (out)
		unlink(to);
	return assay_fail(err, ASSAY_IO, 0, "cannot copy %s into %s: %s", from, r->dir,
			  strerror(why));
}

static bool telemetry_period(const char *text, int64_t *ns)
{
	int64_t ms = TELEMETRY_MS;
	*ns = 0;
	if (is_off(text))
		return true;
	if (text && (!assay_str_i64(assay_str_of(text), &ms) || ms < 1 || ms > 3600000))
		return false;
	*ns = ms * 1000000;
	return true;
}

enum set_type { SET_NUMBER, SET_FLAG, SET_TEXT };

/* KEY=VALUE of --set: the recorder itself passes over what it does not know. */
static bool is_setting(const char *text)
{
	static const struct {
		const char *key;
		enum set_type type;
	} keys[] = {
		{"flush", SET_NUMBER},  {"tick", SET_NUMBER},    {"ring", SET_NUMBER},
		{"buffer", SET_NUMBER}, {"no_driver", SET_FLAG}, {"driver_launches", SET_FLAG},
		{"no_api", SET_FLAG},   {"no_native", SET_FLAG}, {"skip", SET_TEXT},
		{"rings", SET_TEXT},    {"hang", SET_NUMBER},
	};
	assay_str value = assay_str_of(text), key = assay_str_cut(&value, '=');
	uint64_t n;
	if (!strchr(text, '=') || strchr(text, ';'))
		return false;
	for (size_t i = 0; i < ASSAY_COUNT_OF(keys); i++)
		if (assay_str_is(key, keys[i].key))
			return keys[i].type == SET_TEXT ||
			       (assay_str_u64(value, &n) && n <= UINT32_MAX &&
				(keys[i].type == SET_NUMBER || n <= 1));
	return false;
}

static bool step_ranges(const char *text)
{
	assay_step_choice choice;
	return !text || assay_step_choice_of(assay_str_of(text), &choice);
}

/* Options whose values only this command knows; the message is written. */
static bool options_make_sense(const struct args *a, int64_t *period)
{
	const char *bad = NULL, *name = NULL;
	if (!telemetry_period(a->a.telemetry, period))
		bad = a->a.telemetry, name = "telemetry (MS|off)";
	int64_t sample;
	if (!sample_period(a->a.sample, &sample))
		bad = a->a.sample, name = "sample (TIME|off; 50us to 1s)";
	record_keep keep;
	if (!assay_record_keep(a->a.keep, &keep))
		bad = a->a.keep, name = "keep (TIME, BYTES of at least 16M, or TIME,BYTES)";
	if (!step_ranges(a->a.steps_from))
		bad = a->a.steps_from, name = "steps-from (RANGES)";
	if (a->a.only_range && !*a->a.only_range)
		bad = a->a.only_range, name = "only-range (NAME)";
	for (size_t i = 0; i < a->set.n; i++)
		if (!is_setting(a->set.item[i]))
			bad = a->set.item[i], name = "set (KEY=VALUE)";
	if (bad)
		assay_say("assay record: '%s' is not a value for --%s", bad, name);
	return !bad;
}

/* Without it the command still runs, unless the control was asked for. */
static bool make_control(recording *r, const struct args *a, assay_err *err)
{
	r->status = ASSAY_EXIT_FAIL;
	r->control = assay_record_control(r, &a->a, err);
	if (r->control || a->a.paused || a->a.control)
		return r->control;
	assay_say("assay: %s: 'assay ctl' cannot reach this recording", err->text);
	*err = (assay_err){0};
	return true;
}

static bool run_command(recording *r, const struct args *a, int64_t period, assay_err *err)
{
	record_variables v = {.arena = &r->arena};
	assay_sampler *sampler = NULL;
	if (!make_control(r, a, err))
		return false;
	make_variables(&v, r, a);
	r->watch = !is_off(a->a.children);
	if (period)
		sampler = assay_sampler_start(assay_printf(&r->arena, "%s/telemetry.csv", r->dir),
					      "", period);
	bool ok = assay_record_command(r, v.text.p, err);
	if (sampler)
		r->end.telemetry = assay_sampler_stop(sampler);
	assay_vec_free(&v.text);
	return ok;
}

/* A command that could not be started leaves nothing, so that the next try may use the same
 * name. */
static void forget(recording *r)
{
	static const char *const files[] = {"run.json", ".run.json", "env.json", "env.catalog.json",
					    "telemetry.csv"};
	assay_record_env_drop(r->env);
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++)
		unlink(assay_printf(&r->arena, "%s/%s", r->dir, files[i]));
	assay_record_drop_rings(r);
	assay_remove_folders(r->dir, r->made);
}

static int fail(const assay_err *err, int status)
{
	assay_cmd_error(err);
	return status;
}

static int finish(recording *r, const struct args *a)
{
	assay_err err = {0};
	r->stop_real = assay_clock(CLOCK_REALTIME);
	r->stop_boot = assay_clock(CLOCK_BOOTTIME);
	if (a->a.telemetry_file && !take_file(r, a->a.telemetry_file, &err))
		assay_cmd_error(&err);
	assay_children_not_begun(r);
	assay_run *run = assay_record_read(r);
	assay_waits(run);
	assay_check_failures(run);
	if (!r->end.removed && !assay_record_write(r, &a->a, run, &err))
		assay_cmd_error(&err);
	bool tells = !a->a.quiet && !r->silent;
	if (r->end.removed)
		assay_record_env_drop(r->env);
	else
		assay_record_env_end(r->env, tells);
	if (tells)
		assay_record_summary(r, &a->a, run);
	assay_run_free(run);
	return r->status;
}

static int record_run(const void *args, char **operands, int n)
{
	const struct args *a = args;
	recording r = {.command = operands};
	assay_err err = {0};
	int64_t period;
	if (a->a.recover)
		return assay_record_recover(&a->a, operands, n);
	if (!n) {
		assay_say("assay record: expected -- CMD...");
		assay_say("Try 'assay record --help'.");
		return ASSAY_EXIT_USAGE;
	}
	if (!options_make_sense(a, &period))
		return ASSAY_EXIT_USAGE;
	assay_record_own_signals();
	const char *out;
	if (!choose_rank_dir(&r, &a->a, &out, &err) || !make_dir(&r, out, &err)) {
		assay_arena_free(&r.arena);
		return fail(&err, err.code == ASSAY_USAGE ? ASSAY_EXIT_USAGE : ASSAY_EXIT_FAIL);
	}
	make_rings_dir(&r, a);
	assay_record_keep(a->a.keep, &r.keep);
	assay_record_keep_room(&r, &r.keep);
	assay_recorders_find(&r.arena, r.library);
	r.env = assay_record_env_start(&r);
	r.start_real = assay_clock(CLOCK_REALTIME);
	r.start_boot = assay_clock(CLOCK_BOOTTIME);
	int status = ASSAY_EXIT_FAIL;
	bool started = false;
	if (!assay_record_write(&r, &a->a, NULL, &err))
		status = fail(&err, ASSAY_EXIT_FAIL);
	else if (!(started = run_command(&r, a, period, &err)))
		status = fail(&err, r.status);
	else
		status = finish(&r, a);
	if (!started)
		forget(&r);
	assay_arena_free(&r.arena);
	return status;
}

#define AT(field) offsetof(struct args, field)
static const assay_opt opts[] = {
	{"out", 'o', ASSAY_OPT_TEXT, "RUN", "Directory to make. Default: assay-DATE-TIME.",
	 AT(a.out)},
	{"per-rank", 0, ASSAY_OPT_FLAG, NULL,
	 "Under a launcher (srun, mpirun, flux, torchrun): record each rank into RUN/rank-NNNNN; assay report RUN reads them all.",
	 AT(a.per_rank)},
	{"all-api", 0, ASSAY_OPT_FLAG, NULL,
	 "Record every runtime and driver call, even those that only query; slower.",
	 AT(a.all_api)},
	{"exact-waits", 0, ASSAY_OPT_FLAG, NULL,
	 "Record CUPTI's own ids of events and waits, too; slower.", AT(a.exact_waits)},
	{"stacks", 0, ASSAY_OPT_TEXT, "on|off",
	 "Record the Python stack of every recorded call. Default: on.", AT(a.stacks)},
	{"sample", 0, ASSAY_OPT_TEXT, "TIME",
	 "How often to sample threads that launch GPU work while they do something else, or off. Default: 1ms.",
	 AT(a.sample)},
	{"children", 0, ASSAY_OPT_TEXT, "on|off",
	 "Sample child processes, such as loader workers, too. Default: on.", AT(a.children)},
	{"graph-nodes", 0, ASSAY_OPT_TEXT, "all|sample|none|auto",
	 "What to record of CUDA graphs: the work of all nodes; none, only each launch as a whole, which is cheaper; sample, the nodes of one launch in 32; auto, of more when launches are few. Default: all.",
	 AT(a.graph_nodes)},
	{"no-blas", 0, ASSAY_OPT_FLAG, NULL,
	 "Do not intercept cuBLAS, hipBLAS and rocBLAS, which is how matrix products are recorded.",
	 AT(a.no_blas)},
	{"telemetry", 0, ASSAY_OPT_TEXT, "MS",
	 "How often to sample the GPUs, in milliseconds, or off. Default: 200.", AT(a.telemetry)},
	{"telemetry-file", 0, ASSAY_OPT_TEXT, "FILE",
	 "Take telemetry that another tool writes meanwhile into the run.", AT(a.telemetry_file)},
	{"paused", 0, ASSAY_OPT_FLAG, NULL,
	 "Record nothing, at no cost, until `assay ctl RUN start`.", AT(a.paused)},
	{"control", 0, ASSAY_OPT_TEXT, "FILE",
	 "Where to make the socket for `assay ctl`. Default: RUN/control.", AT(a.control)},
	{"keep", 0, ASSAY_OPT_TEXT, "SIZE",
	 "Flight recorder: keep only the last stretch, in memory (30s, 512M a process, or 30s,512M). It is written at the end, on `assay ctl RUN flush`, on a signal to `assay record`, when a step takes three times as long as usual (at most 16 times, and 4 times what is kept) or when something hangs.",
	 AT(a.keep)},
	{"delay", 0, ASSAY_OPT_TIME, "TIME",
	 "Record nothing for this long after the start, such as 5s; a bare number is ms.",
	 AT(a.delay)},
	{"duration", 0, ASSAY_OPT_SPAN, "TIME",
	 "Record for this long only, such as 20s; the command runs on.", AT(a.duration)},
	{"only-range", 0, ASSAY_OPT_TEXT, "NAME",
	 "Record only GPU work and calls inside ranges of that name.", AT(a.only_range)},
	{"steps-from", 0, ASSAY_OPT_TEXT, "RANGES",
	 "Which ranges are steps: auto, NVTX or roctx, followed by :NAME for ranges of one name.",
	 AT(a.steps_from)},
	{"set", 0, ASSAY_OPT_LIST, "KEY=VALUE",
	 "Tune the recorder: flush, tick, ring, buffer, no_driver, driver_launches, no_api, no_native, skip, rings, hang.",
	 AT(set)},
	{"recover", 0, ASSAY_OPT_FLAG, NULL,
	 "Instead of running a command: move what a killed recording left in memory into its RUN.",
	 AT(a.recover)},
	{"quiet", 'q', ASSAY_OPT_FLAG, NULL, "Print no summary at the end.", AT(a.quiet)},
};

static const assay_example examples[] = {
	{"assay record -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "any program with its arguments; the run goes into that directory"},
	{"assay record --delay 5s --duration 20s -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "twenty seconds of a long run, without its start"},
	{"assay record --paused -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "only what `assay ctl RUN start` asks for while it runs"},
	{"assay record --keep 30s -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "of a job of days, its last half minute, however it ends"},
	{"assay record --steps-from NVTX:step -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "ranges \"step 1\", \"step 2\", ... are the steps"},
};

const assay_cmd assay_cmd_record = {
	.name = "record",
	.args = "-- CMD... | --recover [RUN...]",
	.about = "Run a command and record its GPU work, telemetry and environment",
	.details =
		"CMD runs unchanged; its output and exit status are its own, and Ctrl-C reaches it. The run\n"
		"directory holds run.json, env.json, telemetry.csv and one trace-HOST-PID.asy for each process\n"
		"that used a GPU. Every other command reads that directory. It must be new or empty; missing\n"
		"folders above it are made. The exit status is 127 when CMD is not found and 126 when it cannot\n"
		"be run.\n\n"
		"A program that is killed loses at most the GPU work of its last moments (--set tick=MS); the\n"
		"summary says how much. When `assay record` itself was killed, the last records are still in\n"
		"memory: `assay record --recover RUN` moves them into the run, and without RUN into every run of\n"
		"yours on this machine that left some.",
	ASSAY_OPTS(opts),
	ASSAY_EXAMPLES(examples),
	.args_size = sizeof(struct args),
	.max_operands = -1,
	.run = record_run,
};

/* What the recorder for AMD marks as launching, ordering or making graphs means the same to
 * everyone. */
TEST(every_hip_call_that_matters_to_the_recorder_has_a_meaning)
{
	static const struct {
		const char *name;
		unsigned flags;
	} calls[] = {
#define ROCPROF_HIP_STEP      9999
#define CALL(function, flags) {#function, flags},
#define FIELD(function, role, member, offset, bytes)
#include "vendor/rocprof_hip.def"
#undef CALL
#undef FIELD
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		assay_call_meaning m = assay_call_meaning_of(calls[i].name, strlen(calls[i].name));
		if (calls[i].flags & (ROCPROF_LAUNCH | ROCPROF_GRAPH))
			CHECK(m.takes & ASSAY_TAKES_LAUNCHES);
		if (calls[i].flags & ROCPROF_MAKES_GRAPH)
			CHECK_EQ(m.does, ASSAY_DOES_MAKE_GRAPH);
	}
	return 0;
}
