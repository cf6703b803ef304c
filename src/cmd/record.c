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
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "read/reader.h"
#include "resolve/resolve.h"
#include "wire/ring.h"

enum { TELEMETRY_MS = 200, SHM_MIN = 256 << 20 };

struct args {
	record_args a;
	assay_opt_list set;
};

extern char **environ;

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- places ---- */

static bool make_dir(recording *r, const char *out, assay_err *err)
{
	char name[64], path[PATH_MAX];
	if (!out) {
		time_t now = time(NULL);
		struct tm tm;
		localtime_r(&now, &tm);
		strftime(name, sizeof name, "assay-%Y%m%d-%H%M%S", &tm);
		out = name;
	}
	r->made = mkdir(out, 0777) == 0;
	if (!r->made && errno != EEXIST)
		return assay_fail(err, ASSAY_IO, 0, "cannot make %s: %s", out, strerror(errno));
	if (!realpath(out, path))
		return assay_fail(err, ASSAY_IO, 0, "cannot use %s: %s", out, strerror(errno));
	r->dir = assay_printf(&r->arena, "%s", path);
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return assay_fail(err, ASSAY_USAGE, 0, "%s is no directory", out);
	if (stat(assay_printf(&r->arena, "%s/run.json", path), &st) == 0)
		return assay_fail(err, ASSAY_USAGE, 0,
				  "%s holds a recording already; name another with -o", out);
	if (strlen(path) > 700)
		return assay_fail(err, ASSAY_LIMIT, 0, "%s is too long a path", path);
	return true;
}

/* Rings want memory, not a disk. But a small /dev/shm is needed by others (NCCL keeps its buffers
 * there), and it may be missing: then the run directory does. */
static void make_rings_dir(recording *r)
{
	struct statvfs fs;
	char *path = assay_printf(&r->arena, "/dev/shm/assay-XXXXXX");
	bool roomy = statvfs("/dev/shm", &fs) == 0 &&
		     (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)SHM_MIN;
	r->rings = roomy && mkdtemp(path) ? path : r->dir;
}

/* Beside the program (build folder), or in ../lib/assay (installed). */
static const char *find_library(recording *r, const char *name)
{
	static const char *const places[] = {"%s/%s", "%s/../lib/assay/%s"};
	char exe[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (n <= 0)
		return NULL;
	exe[n] = 0;
	*strrchr(exe, '/') = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++)
		if (realpath(assay_printf(&r->arena, places[i], exe, name), path))
			return assay_printf(&r->arena, "%s", path);
	return NULL;
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

static char *config_text(recording *r, const struct args *a)
{
	assay_arena *m = &r->arena;
	int64_t now = clock_ns(CLOCK_BOOTTIME);
	char *text = assay_printf(m, "1;dir=%s;rings=%s", escape(m, r->dir), escape(m, r->rings));
	if (a->a.only_range)
		text = assay_printf(m, "%s;range=%s", text, escape(m, a->a.only_range));
	if (a->a.delay)
		text = assay_printf(m, "%s;from=%" PRId64, text, now + a->a.delay);
	if (a->a.duration)
		text = assay_printf(m, "%s;until=%" PRId64, text, now + a->a.delay + a->a.duration);
	if (a->a.all_api)
		text = assay_printf(m, "%s;all_api=1", text);
	if (a->a.exact_waits)
		text = assay_printf(m, "%s;exact_waits=1", text);
	if (a->a.steps_from)
		text = assay_printf(m, "%s;steps=%s", text, escape(m, a->a.steps_from));
	for (size_t i = 0; i < a->set.n; i++)
		text = assay_printf(m, "%s;%s", text, a->set.item[i]);
	return text;
}

typedef assay_vec(char *) strings;

static void put_variable(strings *env, recording *r, const char *name, const char *value)
{
	size_t len = strlen(name);
	char *text = assay_printf(&r->arena, "%s=%s", name, value);
	for (size_t i = 0; i < env->n; i++) {
		if (!strncmp(env->p[i], name, len) && env->p[i][len] == '=') {
			env->p[i] = text;
			return;
		}
	}
	*assay_push(env) = text;
}

static void make_env(strings *env, recording *r, const struct args *a)
{
	for (char **e = environ; *e; e++)
		*assay_push(env) = *e;
	put_variable(env, r, "ASSAY_RECORD", config_text(r, a));
	const char *other = getenv("CUDA_INJECTION64_PATH");
	if (r->cuda && other && *other)
		fprintf(stderr, "assay: replaces the tool in CUDA_INJECTION64_PATH (%s)\n", other);
	if (r->cuda) {
		put_variable(env, r, "CUDA_INJECTION64_PATH", r->cuda);
		put_variable(env, r, "NVTX_INJECTION64_PATH", r->cuda);
	}
	record_rocm rocm = assay_record_rocm(r);
	if (rocm.tools)
		put_variable(env, r, "ROCP_TOOL_LIBRARIES", rocm.tools);
	if (rocm.sdk)
		put_variable(env, r, "ROCPROFILER_REGISTER_LIBRARY", rocm.sdk);
	if (rocm.preload)
		put_variable(env, r, "LD_PRELOAD", rocm.preload);
	*assay_push(env) = NULL;
}

/* ---- after the command ---- */

static void salvage(recording *r, const char *dir)
{
	DIR *d = opendir(dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		const char *dot = strrchr(e->d_name, '.');
		if (!dot || strcmp(dot, ".ring"))
			continue;
		uint64_t n = 0;
		if (assay_ring_salvage(assay_printf(&r->arena, "%s/%s", dir, e->d_name), &n))
			r->salvaged += n;
		else
			r->still_running++;
	}
	closedir(d);
}

static bool is_capture(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 4 && !strcmp(e->d_name + n - 4, ".asy");
}

static assay_run *read_captures(recording *r)
{
	assay_run *run = assay_run_new();
	DIR *d = opendir(r->dir);
	if (!d)
		return run;
	for (struct dirent *e; (e = readdir(d));) {
		assay_err err = {0};
		if (is_capture(e) &&
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
	const char *slash = strrchr(from, '/');
	char *to = assay_printf(&r->arena, "%s/telemetry-%s", r->dir, slash ? slash + 1 : from);
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
	char buffer[65536];
	bool ok = in && out;
	for (size_t n; ok && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		ok = fwrite(buffer, 1, n, out) == n;
	if (in)
		fclose(in);
	if (out)
		ok = fclose(out) == 0 && ok;
	if (!ok)
		return assay_fail(err, ASSAY_IO, 0, "cannot copy %s into %s: %s", from, r->dir,
				  strerror(errno));
	return true;
}

static bool telemetry_period(const char *text, int64_t *ns)
{
	int64_t ms = TELEMETRY_MS;
	*ns = 0;
	if (text && !strcmp(text, "off"))
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
		{"flush", SET_NUMBER},   {"ring", SET_NUMBER}, {"buffer", SET_NUMBER},
		{"no_driver", SET_FLAG}, {"no_api", SET_FLAG}, {"no_nodes", SET_FLAG},
		{"skip", SET_TEXT},      {"rings", SET_TEXT},
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

static bool run_command(recording *r, const struct args *a, int64_t period, assay_err *err)
{
	strings env = {0};
	assay_sampler *sampler = NULL;
	make_env(&env, r, a);
	if (period)
		sampler = assay_sampler_start(assay_printf(&r->arena, "%s/telemetry.csv", r->dir),
					      "", period);
	bool ok = assay_record_command(r, env.p, err);
	if (sampler)
		r->telemetry = assay_sampler_stop(sampler);
	assay_vec_free(&env);
	return ok;
}

/* A command that could not be started leaves nothing, so that the next try may use the same name.
 */
static void forget(recording *r)
{
	static const char *const files[] = {"run.json", "env.json", "telemetry.csv"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(files); i++)
		unlink(assay_printf(&r->arena, "%s/%s", r->dir, files[i]));
	if (r->made)
		rmdir(r->dir);
}

static int fail(const assay_err *err, int status)
{
	assay_cmd_error(err);
	return status;
}

static int finish(recording *r, const struct args *a)
{
	assay_err err = {0};
	r->stop_real = clock_ns(CLOCK_REALTIME);
	r->stop_boot = clock_ns(CLOCK_BOOTTIME);
	salvage(r, r->dir);
	if (strcmp(r->rings, r->dir))
		salvage(r, r->rings);
	if (a->a.telemetry_file && !take_file(r, a->a.telemetry_file, &err))
		assay_cmd_error(&err);
	assay_run *run = read_captures(r);
	assay_waits(run);
	if (!assay_record_write(r, &a->a, run, &err))
		assay_cmd_error(&err);
	if (!a->a.quiet)
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
	(void)n;
	if (!telemetry_period(a->a.telemetry, &period)) {
		fprintf(stderr, "assay record: '%s' is not a value for --telemetry (MS|off)\n",
			a->a.telemetry);
		return ASSAY_EXIT_USAGE;
	}
	if (!step_ranges(a->a.steps_from)) {
		fprintf(stderr, "assay record: '%s' is not a value for --steps-from (RANGES)\n",
			a->a.steps_from);
		return ASSAY_EXIT_USAGE;
	}
	for (size_t i = 0; i < a->set.n; i++)
		if (!is_setting(a->set.item[i])) {
			fprintf(stderr, "assay record: '%s' is not a value for --set (KEY=VALUE)\n",
				a->set.item[i]);
			return ASSAY_EXIT_USAGE;
		}
	if (!make_dir(&r, a->a.out, &err)) {
		assay_arena_free(&r.arena);
		return fail(&err, err.code == ASSAY_USAGE ? ASSAY_EXIT_USAGE : ASSAY_EXIT_FAIL);
	}
	make_rings_dir(&r);
	r.cuda = find_library(&r, "libassay_cuda.so");
	r.rocm = find_library(&r, "libassay_rocm.so");
	r.start_real = clock_ns(CLOCK_REALTIME);
	r.start_boot = clock_ns(CLOCK_BOOTTIME);
	assay_record_env(r.dir);
	int status = ASSAY_EXIT_FAIL;
	if (!assay_record_write(&r, &a->a, NULL, &err))
		status = fail(&err, ASSAY_EXIT_FAIL);
	else if (!run_command(&r, a, period, &err)) {
		status = fail(&err, 127);
		forget(&r);
	} else
		status = finish(&r, a);
	if (strcmp(r.rings, r.dir))
		rmdir(r.rings); /* stays while a process still records */
	assay_arena_free(&r.arena);
	return status;
}

#define AT(field) offsetof(struct args, field)
static const assay_opt opts[] = {
	{"out", 'o', ASSAY_OPT_TEXT, "RUN", "Directory to make; assay-DATE-TIME when not given.",
	 AT(a.out)},
	{"all-api", 0, ASSAY_OPT_FLAG, NULL,
	 "Record every runtime and driver call, also those that only ask; slower.", AT(a.all_api)},
	{"exact-waits", 0, ASSAY_OPT_FLAG, NULL,
	 "Record CUPTI's own numbers of events and waits, too; slower.", AT(a.exact_waits)},
	{"telemetry", 0, ASSAY_OPT_TEXT, "MS",
	 "Sample the GPUs every so many milliseconds; 200, or off.", AT(a.telemetry)},
	{"telemetry-file", 0, ASSAY_OPT_TEXT, "FILE",
	 "Take telemetry that another tool writes meanwhile into the run.", AT(a.telemetry_file)},
	{"delay", 0, ASSAY_OPT_TIME, "TIME",
	 "Record nothing for so long after the start, such as 5s; a bare number is ms.",
	 AT(a.delay)},
	{"duration", 0, ASSAY_OPT_TIME, "TIME",
	 "Record for so long only, such as 20s; the command runs on.", AT(a.duration)},
	{"only-range", 0, ASSAY_OPT_TEXT, "NAME",
	 "Record GPU work and calls inside ranges of that name only.", AT(a.only_range)},
	{"steps-from", 0, ASSAY_OPT_TEXT, "RANGES",
	 "Which ranges are steps: auto, NVTX or roctx, and :NAME for those of one name.",
	 AT(a.steps_from)},
	{"set", 0, ASSAY_OPT_LIST, "KEY=VALUE",
	 "Tune the recorder: flush, ring, buffer, no_driver, no_api, no_nodes, skip.", AT(set)},
	{"quiet", 'q', ASSAY_OPT_FLAG, NULL, "No summary at the end.", AT(a.quiet)},
};

static const assay_example examples[] = {
	{"assay record -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "any program, with its arguments; the run goes into that directory"},
	{"assay record --delay 5s --duration 20s -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "twenty seconds of a long run, without its start"},
	{"assay record --steps-from NVTX:step -o $(mktemp -d) -- python3 -c 'print(42)'",
	 "ranges \"step 1\", \"step 2\", ... are the steps"},
};

const assay_cmd assay_cmd_record = {
	.name = "record",
	.args = "-- CMD...",
	.about = "Run a command and record its GPU work, telemetry and environment",
	.details = "CMD runs unchanged; its output and exit status are its own, and Ctrl-C reaches "
		   "it. The\n"
		   "run directory holds run.json, env.json, telemetry.csv and one "
		   "trace-HOST-PID.asy for\n"
		   "each process that used a GPU. Every other command reads that directory.\n\n"
		   "A program that is killed loses at most the last flush interval (100 ms; --set "
		   "flush=MS).",
	ASSAY_OPTS(opts),
	ASSAY_EXAMPLES(examples),
	.args_size = sizeof(struct args),
	.min_operands = 1,
	.max_operands = -1,
	.run = record_run,
};
