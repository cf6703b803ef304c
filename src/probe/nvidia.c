/* NVIDIA: driver and GPUs through NVML where it answers, through /proc where it does not. NVML
 * talks to the driver and can take long or never return, so it runs beside the other probes under a
 * limit. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "base/test.h"
#include "probe/nvidia.h"
#include "probe/probe.h"
#include "vendor/nvml.h"
#include "wire/clock.h"

enum { NVML_LIMIT_SECONDS = 5, GPUS_MAX = 64, MIG_MAX = 16 };

/* Numbers NVML has of a GPU, by the name they get. LIVE ones change by themselves. */
#define NVML_FACTS(X)                                                                              \
	X(max_sm_clock_mhz, STILL, clock_of(n->max_clock, d, ASSAY_NVML_CLOCK_SM))                 \
	X(max_memory_clock_mhz, STILL, clock_of(n->max_clock, d, ASSAY_NVML_CLOCK_MEM))            \
	X(application_sm_clock_mhz, STILL, clock_of(n->application_clock, d, ASSAY_NVML_CLOCK_SM)) \
	X(default_power_limit_mw, STILL, number_of(n->default_power_limit, d))                     \
	X(pcie_max_generation, STILL, number_of(n->pcie_max_generation, d))                        \
	X(pcie_max_width, STILL, number_of(n->pcie_max_width, d))                                  \
	X(pcie_generation, LIVE, number_of(n->pcie_generation, d))                                 \
	X(nvlinks_active, STILL, nvlinks(n, d))                                                    \
	X(nvlink_version, STILL, nvlink_version(n, d))                                             \
	X(gsp_firmware, STILL, gsp(n, d))                                                          \
	X(fabric_state, STILL, fabric(n, d))                                                       \
	X(remapped_rows_correctable, STILL, remapped(n, d, 0))                                     \
	X(remapped_rows_uncorrectable, STILL, remapped(n, d, 1))                                   \
	X(remapped_rows_pending, STILL, remapped(n, d, 2))                                         \
	X(row_remap_failed, STILL, remapped(n, d, 3))                                              \
	X(ecc_uncorrected_total, STILL, ecc_errors(n, d, 1, 1))                                    \
	X(ecc_corrected_total, LIVE, ecc_errors(n, d, 0, 1))                                       \
	X(ecc_uncorrected, LIVE, ecc_errors(n, d, 1, 0))                                           \
	X(ecc_corrected, LIVE, ecc_errors(n, d, 0, 0))

enum { STILL, LIVE };

enum {
#define X(name, when, ask) FACT_##name,
	NVML_FACTS(X)
#undef X
		FACTS
};

struct nvml_gpu {
	char name[ASSAY_NVML_TEXT], uuid[ASSAY_NVML_TEXT], serial[ASSAY_NVML_TEXT],
		vbios[ASSAY_NVML_TEXT];
	char cc[16], bus[32];
	int mig, ecc, persistence, mode; /* -1 unknown */
	int64_t memory_mb, power_mw, width;
	int64_t fact[FACTS]; /* -1 unknown */
	char gsp[ASSAY_NVML_TEXT];
	unsigned instances; /* of MIG, which programs see as devices */
	char instance[MIG_MAX][ASSAY_NVML_TEXT], instance_uuid[MIG_MAX][ASSAY_NVML_TEXT];
};

/* Lives on its own pages: when the driver never answers, the thread keeps it and we go on. */
struct assay_nvml_job {
	assay_undo undo;
	pthread_t thread;
	int started, opened, init_ret;
	char driver[ASSAY_NVML_TEXT], nvml[ASSAY_NVML_TEXT];
	int cuda;
	unsigned n;
	struct nvml_gpu gpu[GPUS_MAX];
};

static void ask_text(int (*f)(assay_nvml_device, char *, unsigned), assay_nvml_device d, char *out)
{
	if (!f || f(d, out, ASSAY_NVML_TEXT))
		out[0] = 0;
	out[ASSAY_NVML_TEXT - 1] = 0;
}

static int64_t number_of(int (*f)(assay_nvml_device, unsigned *), assay_nvml_device d)
{
	unsigned v;
	return f && !f(d, &v) ? (int64_t)v : -1;
}

static int64_t clock_of(int (*f)(assay_nvml_device, int, unsigned *), assay_nvml_device d, int type)
{
	unsigned v;
	return f && !f(d, type, &v) ? (int64_t)v : -1;
}

static int64_t nvlinks(const assay_nvml *n, assay_nvml_device d)
{
	enum { LINKS_MAX = 18 };
	int active;
	int64_t up = -1;
	for (unsigned i = 0; n->nvlink_state && i < LINKS_MAX; i++)
		if (!n->nvlink_state(d, i, &active))
			up = (up < 0 ? 0 : up) + (active == 1);
	return up;
}

static int64_t nvlink_version(const assay_nvml *n, assay_nvml_device d)
{
	unsigned v;
	return n->nvlink_version && !n->nvlink_version(d, 0, &v) ? (int64_t)v : -1;
}

static int64_t gsp(const assay_nvml *n, assay_nvml_device d)
{
	unsigned on, by_default;
	return n->gsp_mode && !n->gsp_mode(d, &on, &by_default) ? (int64_t)on : -1;
}

static int64_t fabric(const assay_nvml *n, assay_nvml_device d)
{
	assay_nvml_fabric f = {0};
	return n->fabric && !n->fabric(d, &f) ? (int64_t)f.state : -1;
}

static int64_t remapped(const assay_nvml *n, assay_nvml_device d, int which)
{
	unsigned v[4];
	return n->remapped_rows && !n->remapped_rows(d, &v[0], &v[1], &v[2], &v[3])
		       ? (int64_t)v[which]
		       : -1;
}

static int64_t ecc_errors(const assay_nvml *n, assay_nvml_device d, int uncorrected, int aggregate)
{
	unsigned long long v;
	return n->ecc_errors && !n->ecc_errors(d, uncorrected, aggregate, &v) ? (int64_t)v : -1;
}

static void ask_facts(const assay_nvml *n, assay_nvml_device d, struct nvml_gpu *g)
{
#define X(name, when, ask) g->fact[FACT_##name] = ask;
	NVML_FACTS(X)
#undef X
	if (!n->gsp_version || n->gsp_version(d, g->gsp))
		g->gsp[0] = 0;
}

/* Numbers of instances need not be in a row. */
static void ask_instances(const assay_nvml *n, assay_nvml_device d, struct nvml_gpu *g)
{
	unsigned most;
	assay_nvml_device part;
	if (g->mig != 1 || !n->mig_device || !n->mig_most || n->mig_most(d, &most))
		return;
	for (unsigned i = 0; i < most && g->instances < MIG_MAX; i++) {
		if (n->mig_device(d, i, &part))
			continue;
		ask_text(n->name, part, g->instance[g->instances]);
		ask_text(n->uuid, part, g->instance_uuid[g->instances++]);
	}
}

static void ask_gpu(const assay_nvml *n, assay_nvml_device d, struct nvml_gpu *g)
{
	int major, minor, pending;
	unsigned now, later;
	assay_nvml_memory mem;
	assay_nvml_pci pci = {0};
	ask_text(n->name, d, g->name);
	ask_text(n->uuid, d, g->uuid);
	ask_text(n->serial, d, g->serial);
	ask_text(n->vbios, d, g->vbios);
	if (n->compute_capability && !n->compute_capability(d, &major, &minor))
		snprintf(g->cc, sizeof g->cc, "%d.%d", major, minor);
	g->mig = n->mig && !n->mig(d, &now, &later) ? (int)now : -1;
	ask_instances(n, d, g);
	if (!n->ecc || n->ecc(d, &g->ecc, &pending))
		g->ecc = -1;
	if (!n->persistence || n->persistence(d, &g->persistence))
		g->persistence = -1;
	if (!n->compute_mode || n->compute_mode(d, &g->mode))
		g->mode = -1;
	g->memory_mb = n->memory && !n->memory(d, &mem) ? (int64_t)(mem.total >> 20) : -1;
	g->power_mw = n->power_limit && !n->power_limit(d, &now) ? (int64_t)now : -1;
	g->width = n->link_width && !n->link_width(d, &now) ? (int64_t)now : -1;
	if (n->pci && !n->pci(d, &pci))
		snprintf(g->bus, sizeof g->bus, "%.31s", pci.bus_id);
	ask_facts(n, d, g);
}

static void *nvml_thread(void *arg)
{
	struct assay_nvml_job *j = arg;
	assay_nvml api = {0};
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib || !assay_nvml_bind(lib, &api))
		return NULL;
	j->opened = 1;
	j->init_ret = api.init();
	if (j->init_ret)
		return NULL;
	if (!api.driver_version || api.driver_version(j->driver, sizeof j->driver))
		j->driver[0] = 0;
	if (!api.nvml_version || api.nvml_version(j->nvml, sizeof j->nvml))
		j->nvml[0] = 0;
	if (!api.cuda_version || api.cuda_version(&j->cuda))
		j->cuda = 0;
	unsigned n = 0;
	if (api.count(&n))
		n = 0;
	for (unsigned i = 0; i < n && i < GPUS_MAX; i++) {
		assay_nvml_device d;
		if (!api.by_index(i, &d))
			ask_gpu(&api, d, &j->gpu[j->n++]);
	}
	/* shutting down would only give back what the end of the process gives back anyway, and
	 * costs as much as the start */
	return NULL;
}

/* False: no answer within the limit; the job's memory stays with the thread. */
static bool nvml_wait(struct assay_nvml_job *j)
{
	struct timespec until =
		assay_timespec_of(assay_clock(CLOCK_REALTIME) + NVML_LIMIT_SECONDS * 1000000000ll);
	bool done = !j->started || pthread_timedjoin_np(j->thread, NULL, &until) == 0;
	if (done)
		j->started = false;
	return done;
}

static void end_job(void *job)
{
	if (nvml_wait(job))
		assay_pages_free(job);
}

void assay_nvml_start(assay_ctx *c)
{
	if (!c->same_kernel)
		return;
	struct assay_nvml_job *j = assay_pages_grow(NULL, sizeof *j);
	assay_pages_disown(j);
	j->started = pthread_create(&j->thread, NULL, nvml_thread, j) == 0;
	assay_undo_add(&j->undo, end_job, j);
	c->nvml = j;
}

static const char *text_or_null(assay_arena *a, const char *s)
{
	return *s ? assay_dup(a, assay_str_of(s)) : NULL;
}

static assay_num num_or_none(int64_t v)
{
	return v < 0 ? (assay_num){0} : (assay_num){true, v};
}

static const char *on_off(int v)
{
	return v < 0 ? NULL : v ? "enabled" : "disabled";
}

static void take_facts(assay_ctx *c, const struct nvml_gpu *n, assay_gpu *g)
{
	static const struct {
		const char *name;
		int when;
	} facts[] = {
#define X(name, when, ask) {#name, when},
		NVML_FACTS(X)
#undef X
	};
	for (size_t i = 0; i < FACTS; i++) {
		if (n->fact[i] < 0)
			continue;
		const char *v = assay_printf(c->a, "%lld", (long long)n->fact[i]);
		if (facts[i].when == LIVE)
			assay_ctx_pair(c, &c->env->live,
				       assay_printf(c->a, "%s.%s", n->bus, facts[i].name), v);
		else
			assay_ctx_pair(c, &g->more, facts[i].name, v);
	}
	if (*n->gsp)
		assay_ctx_pair(c, &g->more, "gsp_version", text_or_null(c->a, n->gsp));
}

/* "1g.18gb, 3g.71gb": the names that NVML gives them, without that of the GPU. */
static void take_instances(assay_ctx *c, const struct nvml_gpu *n, assay_gpu *g)
{
	const char *sizes = "", *uuids = "";
	for (unsigned i = 0; i < n->instances; i++) {
		const char *name = text_or_null(c->a, n->instance[i]), *comma = i ? ", " : "";
		const char *size = name ? strstr(name, "MIG ") : NULL;
		sizes = assay_printf(c->a, "%s%s%s", sizes, comma,
				     size   ? size + 4
				     : name ? name
					    : "?");
		const char *uuid = text_or_null(c->a, n->instance_uuid[i]);
		uuids = assay_printf(c->a, "%s%s%s", uuids, comma, uuid ? uuid : "?");
	}
	if (n->mig != 1)
		return;
	assay_ctx_pair(c, &g->more, "mig_devices", n->instances ? sizes : "none");
	if (n->instances)
		assay_ctx_pair(c, &g->more, "mig_uuids", uuids);
}

static void take_gpu(assay_ctx *c, const struct nvml_gpu *n)
{
	static const char *const modes[] = {"default", "exclusive_thread", "prohibited",
					    "exclusive_process"};
	assay_gpu g = {.source = "nvml"};
	g.name = text_or_null(c->a, n->name);
	g.uuid = text_or_null(c->a, n->uuid);
	g.serial = text_or_null(c->a, n->serial);
	g.vbios = text_or_null(c->a, n->vbios);
	g.cc = text_or_null(c->a, n->cc);
	g.bus = text_or_null(c->a, n->bus);
	g.arch = *n->cc ? assay_printf(c->a, "sm_%c%c", n->cc[0], n->cc[2]) : NULL;
	if (strlen(n->cc) > 3) /* 10.0 is sm_100 */
		g.arch = assay_printf(c->a, "sm_%.2s%s", n->cc, n->cc + 3);
	g.mig = on_off(n->mig);
	g.ecc = on_off(n->ecc);
	g.persistence = on_off(n->persistence);
	g.compute_mode = n->mode >= 0 && n->mode < 4 ? modes[n->mode] : NULL;
	g.memory_mb = num_or_none(n->memory_mb);
	g.power_limit_mw = num_or_none(n->power_mw);
	g.link_width = num_or_none(n->width);
	take_facts(c, n, &g);
	take_instances(c, n, &g);
	*assay_push(&c->env->gpus) = g;
}

static bool take_nvml(assay_ctx *c)
{
	struct assay_nvml_job *j = c->nvml;
	c->nvml = NULL;
	if (!j)
		return false;
	if (!nvml_wait(j)) {
		assay_undo_drop(&j->undo);
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.nvidia: NVML gave no answer in %d s",
				 NVML_LIMIT_SECONDS);
		return false;
	}
	bool ok = j->opened && !j->init_ret;
	if (j->opened && j->init_ret)
		assay_ctx_reason(c, c->nvidia ? ASSAY_LEVEL_ERROR : ASSAY_LEVEL_EXPECTED,
				 "assay.nvidia: nvmlInit failed with %d", j->init_ret);
	if (ok) {
		assay_ctx_pair(c, &c->env->nvidia, "driver_version", text_or_null(c->a, j->driver));
		assay_ctx_pair(c, &c->env->nvidia, "nvml_version", text_or_null(c->a, j->nvml));
		if (j->cuda)
			assay_ctx_pair(
				c, &c->env->nvidia, "cuda_driver_version",
				assay_printf(c->a, "%d.%d", j->cuda / 1000, j->cuda % 1000 / 10));
		for (unsigned i = 0; i < j->n; i++)
			take_gpu(c, &j->gpu[i]);
		c->nvidia = true;
	}
	assay_undo_drop(&j->undo);
	assay_pages_free(j);
	return ok;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ..." */
static const char *driver_in_proc(assay_arena *a, assay_str text)
{
	assay_str line = assay_str_cut(&text, '\n');
	while (line.n) {
		assay_str w = assay_str_cut(&line, ' ');
		if (w.n > 3 && *w.p >= '1' && *w.p <= '9' && assay_str_find(w, ".") > 0 &&
		    assay_str_find(w, "_") < 0)
			return assay_dup(a, w);
	}
	return NULL;
}

static void gpus_in_proc(assay_ctx *c)
{
	static const char top[] = "/proc/driver/nvidia/gpus";
	const assay_entries *names = assay_ctx_list(c, top, NULL);
	for (size_t i = 0; i < names->n; i++) {
		assay_gpu g = {.source = "proc", .bus = names->p[i].name};
		assay_str text;
		const char *path = assay_printf(c->a, "%s/%s/information", top, names->p[i].name);
		if (assay_root_read(&c->root, c->a, path, 64 << 10, &text) != ASSAY_CAUSE_NONE)
			continue;
		while (text.n) {
			assay_str v = assay_str_cut(&text, '\n'),
				  k = assay_str_trim(assay_str_cut(&v, ':'));
			const char *value = assay_dup(c->a, assay_str_trim(v));
			if (assay_str_is(k, "Model"))
				g.name = value;
			else if (assay_str_is(k, "GPU UUID"))
				g.uuid = value;
			else if (assay_str_is(k, "Video BIOS"))
				g.vbios = value;
		}
		*assay_push(&c->env->gpus) = g;
	}
}

static void from_proc(assay_ctx *c, bool have_nvml)
{
	assay_str text;
	const char *v = NULL, *module = assay_ctx_text(c, "/sys/module/nvidia/version");
	if (assay_root_read(&c->root, c->a, "/proc/driver/nvidia/version", 64 << 10, &text) ==
	    ASSAY_CAUSE_NONE)
		v = driver_in_proc(c->a, text);
	if (!have_nvml && (v || module)) {
		assay_ctx_pair(c, &c->env->nvidia, "driver_version", v ? v : module);
		gpus_in_proc(c);
	}
	if (module || v)
		assay_ctx_pair(c, &c->env->nvidia, "kernel_module_version", module ? module : v);
	if (assay_root_read(&c->root, c->a, "/proc/driver/nvidia/version", 64 << 10, &text) ==
	    ASSAY_CAUSE_NONE)
		assay_ctx_pair(c, &c->env->nvidia, "open_kernel_module",
			       assay_str_find(text, "Open Kernel Module") >= 0 ? "true" : "false");
}

/* /usr/local/cuda/version.json: {"cuda": {"version": "13.0.2"}, ...} */
static void toolkit(assay_ctx *c)
{
	assay_str text, key, sub, v;
	if (assay_root_read(&c->root, c->a, "/usr/local/cuda/version.json", 1 << 20, &text) !=
	    ASSAY_CAUSE_NONE)
		return;
	assay_json j = assay_json_on(text.p, text.n);
	if (!assay_json_enter(&j, '{'))
		return;
	while (assay_json_member(&j, &key)) {
		if (!assay_str_is(key, "cuda") || assay_json_peek(&j) != '{') {
			assay_json_skip(&j, NULL);
			continue;
		}
		assay_json_enter(&j, '{');
		while (assay_json_member(&j, &sub))
			if (assay_str_is(sub, "version") && assay_json_peek(&j) == '"' &&
			    assay_json_text(&j, &v))
				assay_ctx_pair(c, &c->env->nvidia, "toolkit_version",
					       assay_dup(c->a, v));
			else
				assay_json_skip(&j, NULL);
	}
}

static void check_arch(assay_ctx *c)
{
	const assay_torch *t = &c->env->torch;
	for (size_t i = 0; t->cuda && t->arch_list && i < c->env->gpus.n; i++) {
		const char *arch = c->env->gpus.p[i].arch;
		if (!arch || strncmp(arch, "sm_", 3) || strstr(t->arch_list, arch))
			continue;
		/* binaries of the same major version and a lower minor one run too */
		char family[16];
		snprintf(family, sizeof family, "%.*s", (int)strlen(arch) - 1, arch);
		if (!strstr(t->arch_list, family))
			assay_ctx_finding(c, "torch-arch", "torch was built for %s, the GPU is %s",
					  t->arch_list, arch);
	}
}

static void run(assay_ctx *c)
{
	bool have = take_nvml(c);
	from_proc(c, have);
	toolkit(c);
	check_arch(c);
	if (c->nvidia && c->root.host && !c->env->nvidia.n)
		assay_ctx_reason(c,
				 c->env->torch.cuda &&
						 !assay_root_exists(&c->root, "/dev/nvidiactl")
					 ? ASSAY_LEVEL_EXPECTED
					 : ASSAY_LEVEL_MISSING,
				 "assay.nvidia: no NVIDIA driver answers on this host");
}

const assay_probe assay_probe_nvidia = {.name = "nvidia", .run = run};

TEST(driver_version_is_found_in_proc_text)
{
	assay_arena a = {0};
	CHECK(!strcmp(
		driver_in_proc(
			&a,
			ASSAY_S("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
				"GCC version: 13.3.0")),
		"580.159.04"));
	CHECK(!driver_in_proc(&a, ASSAY_S("")));
	assay_arena_free(&a);
	return 0;
}
