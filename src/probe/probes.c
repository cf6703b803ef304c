/* The probe table, and one run over it. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test.h"
#include "probe/nvidia.h"
#include "probe/probe.h"
#include "probe/variables.h"
#include "wire/clock.h"

/* Order: a probe may use what the ones before it found. */
static const assay_probe *const probes[] = {
	&assay_probe_runtime, &assay_probe_host,   &assay_probe_process,  &assay_probe_packages,
	&assay_probe_python,  &assay_probe_torch,  &assay_probe_rocm,     &assay_probe_gpu,
	&assay_probe_math,    &assay_probe_ck,     &assay_probe_database, &assay_probe_loader,
	&assay_probe_health,  &assay_probe_nvidia, &assay_probe_hardware, &assay_probe_effective,
	&assay_probe_owners,  &assay_probe_absent,
};

static void time_of(assay_env *env, const char *name, int64_t from)
{
	assay_timing t = {name, assay_clock(CLOCK_MONOTONIC) - from};
	*assay_push(&env->timings) = t;
}

#define LAST_OF_YEAR_9999 253402300799

static void write_moment(char *to, size_t bytes, time_t at)
{
	struct tm tm;
	if (gmtime_r(&at, &tm))
		strftime(to, bytes, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* Snapshots of what has not changed are the same text but for the block `probe`. Schema 1.1 wants a
 * moment on top: the one that was given (reproducible-builds.org), else that of no time at all, as
 * container images have it that are built to be the same. */
static void stamp(assay_env *env)
{
	const char *given = getenv("SOURCE_DATE_EPOCH");
	int64_t seconds = 0;
	if (!given || !assay_str_i64(assay_str_of(given), &seconds) || seconds < 0 ||
	    seconds > LAST_OF_YEAR_9999)
		seconds = 0;
	write_moment(env->captured_at, sizeof env->captured_at, (time_t)seconds);
	write_moment(env->probed_at, sizeof env->probed_at, time(NULL));
}

/* NUL-separated "NAME=value" of another process as an array like environ. */
static char **split_environ(assay_arena *a, assay_str text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++)
		n += !text.p[i];
	char **list = assay_alloc(a, (n + 2) * sizeof *list);
	for (n = 0; text.n;)
		list[n++] = assay_dup(a, assay_str_cut(&text, 0));
	return list;
}

/* Those given by hand come first; an image has no others, least of all the prober's. */
static char **own_variables(assay_ctx *c)
{
	extern char **environ;
	char **from[] = {(char **)(uintptr_t)c->opts->vars, c->root.host ? environ : NULL};
	size_t n = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(from); i++)
		for (char **v = from[i]; v && *v; v++)
			n++;
	char **list = assay_alloc(c->a, (n + 1) * sizeof *list);
	n = 0;
	for (size_t i = 0; i < ASSAY_COUNT_OF(from); i++)
		for (char **v = from[i]; v && *v; v++)
			list[n++] = *v;
	return list;
}

static bool use_variables(assay_ctx *c, assay_err *err)
{
	c->vars_known = c->root.host || c->opts->pid || c->opts->vars;
	c->vars = own_variables(c);
	if (!c->opts->pid)
		return true;
	assay_str text;
	const char *path = assay_printf(c->a, "/proc/%ld/environ", (long)c->opts->pid);
	assay_cause cause = assay_root_read(c->proc, c->a, path, 16 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE)
		return assay_fail(err, ASSAY_IO, 0, "cannot look at process %ld: %s %s",
				  (long)c->opts->pid, path, assay_cause_text(cause));
	c->vars = split_environ(c->a, text);
	return true;
}

/* A process in a container has another file system under the same names: the one it sees is
 * /proc/PID/root. NULL: it shares ours. */
static const char *other_root(assay_ctx *c)
{
	struct stat ours, its;
	if (!c->opts->pid || stat("/", &ours))
		return NULL;
	const char *path = assay_printf(c->a, "/proc/%ld/root", (long)c->opts->pid);
	/* a chroot shows as another folder, a mount namespace as another name space */
	if (stat(path, &its))
		return NULL;
	if (ours.st_dev != its.st_dev || ours.st_ino != its.st_ino)
		return path;
	const char *space = assay_printf(c->a, "/proc/%ld/ns/mnt", (long)c->opts->pid);
	if (stat("/proc/self/ns/mnt", &ours) || stat(space, &its))
		return NULL;
	return ours.st_ino != its.st_ino ? path : NULL;
}

static void run_all(assay_ctx *c)
{
	int64_t start = assay_clock(CLOCK_MONOTONIC);
	assay_nvml_start(c);
	for (size_t i = 0; i < ASSAY_COUNT_OF(probes); i++) {
		int64_t from = assay_clock(CLOCK_MONOTONIC);
		probes[i]->run(c);
		time_of(c->env, probes[i]->name, from);
	}
	int64_t from = assay_clock(CLOCK_MONOTONIC);
	assay_ctx_hash(c);
	time_of(c->env, "hash", from);
	for (size_t i = 0; i < ASSAY_COUNT_OF(probes); i++)
		if (probes[i]->finish)
			probes[i]->finish(c);
	time_of(c->env, "total", start);
}

bool assay_env_probe(assay_env *env, const assay_env_opts *opts, assay_err *err)
{
	static const assay_env_opts defaults;
	*env = (assay_env){0};
	assay_ctx c = {.env = env, .a = &env->arena, .opts = opts ? opts : &defaults};
	assay_root host = {.fd = -1};
	const char *path = c.opts->root ? c.opts->root : other_root(&c);
	if (!assay_root_open(&c.root, path ? path : "/", err))
		return false;
	c.shut.a = c.a;
	c.root.shut = &c.shut;
	c.proc = &c.root;
	if (path && !c.opts->root && assay_root_open(&host, "/", NULL))
		c.proc = &host;
	c.same_kernel = c.root.host || c.proc == &host;
	env->root = c.root.host || !path ? NULL : assay_dup(c.a, assay_str_of(path));
	env->variables = c.opts->pid    ? "process"
			 : c.opts->vars ? "given"
			 : c.root.host  ? "process"
					: "none";
	stamp(env);
	bool ok = use_variables(&c, err);
	assay_ctx_hide_secrets(&c);
	c.running = assay_root_is_dir(&c.root, "/sys/class");
	if (ok)
		run_all(&c);
	assay_vec_free(&c.dirs);
	assay_vec_free(&c.shut.folders);
	assay_vec_free(&c.installed);
	assay_map_free(&c.file_at);
	assay_root_close(&c.root);
	assay_root_close(&host);
	return ok;
}

void assay_env_free(assay_env *e)
{
	for (size_t i = 0; i < e->libs.n; i++)
		assay_vec_free(&e->libs.p[i].copies);
	assay_vec_free(&e->libs);
	for (size_t i = 0; i < e->programs.n; i++) {
		assay_vec_free(&e->programs.p[i].libs);
		assay_vec_free(&e->programs.p[i].unresolved);
		assay_vec_free(&e->programs.p[i].kdbs);
	}
	assay_vec_free(&e->programs);
	assay_vec_free(&e->used_files);
	assay_vec_free(&e->caches);
	assay_vec_free(&e->gpu_arch.arch);
	assay_vec_free(&e->reasons);
	assay_vec_free(&e->absent);
	assay_vec_free(&e->findings);
	assay_vec_free(&e->roots);
	for (size_t i = 0; i < e->kdbs.n; i++)
		assay_vec_free(&e->kdbs.p[i].members);
	assay_vec_free(&e->kdbs);
	for (size_t i = 0; i < e->gpus.n; i++)
		assay_vec_free(&e->gpus.p[i].more);
	assay_vec_free(&e->gpus);
	assay_vec_free(&e->packages);
	assay_vec_free(&e->timings);
	assay_vec_free(&e->files);
	assay_vec_free(&e->python.sites);
	assay_vec_free(&e->torch.shadowed);
	assay_vec_free(&e->torch.settings);
	assay_vec_free(&e->process.maps);
	assay_vec_free(&e->process.replaced);
	assay_pairs *pairs[] = {&e->vars,
				&e->more_vars,
				&e->nvidia,
				&e->amdgpu,
				&e->host_more,
				&e->nics,
				&e->system_packages,
				&e->effective_arch,
				&e->package_sources,
				&e->conda,
				&e->live,
				&e->therock};
	for (size_t i = 0; i < ASSAY_COUNT_OF(pairs); i++)
		assay_vec_free(pairs[i]);
	assay_arena_free(&e->arena);
}

size_t assay_env_partial(const assay_env *env)
{
	size_t n = 0;
	for (size_t i = 0; i < env->reasons.n; i++)
		n += env->reasons.p[i].level != ASSAY_LEVEL_EXPECTED;
	return n;
}

TEST(variables_of_another_process_are_split_at_nul)
{
	assay_arena a = {0};
	char **v = split_environ(&a, (assay_str){"A=1\0B=\0C=3", 11});
	CHECK(!strcmp(v[0], "A=1") && !strcmp(v[1], "B=") && !strcmp(v[2], "C=3") && !v[3]);
	assay_arena_free(&a);
	return 0;
}
