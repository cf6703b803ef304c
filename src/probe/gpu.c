/* AMD GPUs as the kernel's KFD topology shows them: the silicon, whatever overrides make a runtime
 * believe. Property names and the gfx_target_version code: kernel drivers/gpu/drm/amd/amdkfd. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/sort.h"
#include "base/test.h"
#include "probe/probe.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"

/* Code of a KFD gfx_target_version as an architecture name; NULL for a CPU node. */
static const char *gfx_name(assay_arena *a, uint64_t v)
{
	unsigned major = (unsigned)(v / 10000 % 100), minor = (unsigned)(v / 100 % 100),
		 step = (unsigned)(v % 100);
	return v ? assay_printf(a, "gfx%u%x%x", major, minor, step) : NULL;
}

static bool property(assay_str text, const char *name, uint64_t *v)
{
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n'), key = assay_str_cut(&line, ' ');
		if (assay_str_is(key, name))
			return assay_str_u64(assay_str_trim(line), v);
	}
	return false;
}

static assay_num number(assay_str text, const char *name)
{
	uint64_t v;
	return property(text, name, &v) && v <= INT64_MAX ? (assay_num){true, (int64_t)v}
							  : (assay_num){0};
}

static assay_tri openable(assay_ctx *c, int64_t minor)
{
	if (!c->root.host)
		return ASSAY_TRI_UNKNOWN;
	char path[64];
	snprintf(path, sizeof path, "/dev/dri/renderD%" PRId64, minor);
	return faccessat(c->root.fd, path, R_OK | W_OK, 0) == 0 ? ASSAY_TRI_YES : ASSAY_TRI_NO;
}

/* What the card's own folder adds; files differ by kernel and card, so absence says nothing. */
static void card_facts(assay_ctx *c, assay_gpu *g)
{
	char *dir =
		assay_printf(c->a, "/sys/class/drm/renderD%" PRId64 "/device", g->render_minor.v);
	const struct {
		const char *file;
		const char **to;
	} rows[] = {{"vbios_version", &g->vbios},
		    {"unique_id", &g->unique_id},
		    {"product_name", &g->name},
		    {"serial_number", &g->serial},
		    {"current_compute_partition", &g->partition},
		    {"current_memory_partition", &g->memory_partition},
		    {"power_dpm_force_performance_level", &g->performance_level}};
	if (!assay_root_is_dir(&c->root, dir))
		return;
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++) {
		char *v = assay_ctx_text(c, assay_printf(c->a, "%s/%s", dir, rows[i].file));
		if (v)
			*rows[i].to = v;
	}
	const char *real = assay_root_real(&c->root, c->a, dir),
		   *slash = real ? strrchr(real, '/') : NULL;
	if (slash && strchr(slash, ':'))
		g->bus = slash + 1;
}

/* Before gfx_target_version existed the device id was the only clue. */
static const char *arch_of_device(uint64_t id)
{
	static const struct {
		uint16_t id;
		const char *arch;
	} known[] = {
		{0x66a0, "gfx906"}, {0x66a1, "gfx906"},  {0x66a7, "gfx906"},  {0x66af, "gfx906"},
		{0x738c, "gfx908"}, {0x738e, "gfx908"},  {0x7408, "gfx90a"},  {0x740c, "gfx90a"},
		{0x740f, "gfx90a"}, {0x74a0, "gfx942"},  {0x74a1, "gfx942"},  {0x74a2, "gfx942"},
		{0x74a5, "gfx942"}, {0x744c, "gfx1100"}, {0x73bf, "gfx1030"}, {0x6860, "gfx900"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(known); i++)
		if (known[i].id == id)
			return known[i].arch;
	return NULL;
}

static bool is_xgmi(assay_ctx *c, const char *link)
{
	enum { XGMI = 11 }; /* of the kernel's CRAT link types */
	assay_str text;
	uint64_t type;
	return assay_root_read(&c->root, c->a, assay_printf(c->a, "%s/properties", link), 1 << 16,
			       &text) == ASSAY_CAUSE_NONE &&
	       property(text, "type", &type) && type == XGMI;
}

static void count_links(assay_ctx *c, int64_t node, assay_gpu *g)
{
	const char *dir = assay_printf(c->a, NODES "/%" PRId64 "/io_links", node);
	const assay_entries *links = assay_ctx_list(c, dir, NULL);
	int xgmi = 0;
	for (size_t i = 0; i < links->n; i++)
		xgmi += is_xgmi(c, assay_printf(c->a, "%s/%s", dir, links->p[i].name));
	if (links->n)
		assay_ctx_pair(c, &g->more, "xgmi_links", assay_printf(c->a, "%d", xgmi));
}

static void gpu_node(assay_ctx *c, int64_t node, assay_str text)
{
	uint64_t code = 0, id = 0, loc = 0, domain = 0, simds = 0, per = 0;
	bool has_code = property(text, "gfx_target_version", &code);
	bool has_id = property(text, "device_id", &id);
	const char *arch = has_code       ? gfx_name(c->a, code)
			   : has_id && id ? arch_of_device(id)
					  : NULL;
	if ((has_code && !code) || (!has_code && !id))
		return; /* a CPU */
	if (!arch) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "gpu_arch.gfx_targets: node %" PRId64 " has device id 0x%" PRIx64
				 " and no gfx_target_version",
				 node, id);
		arch = "unknown";
	}
	assay_gpu g = {.arch = arch, .source = "kfd", .node = {true, node}};
	g.render_minor = number(text, "drm_render_minor");
	g.fw_version = number(text, "fw_version");
	g.sdma_fw_version = number(text, "sdma_fw_version");
	g.device_id = number(text, "device_id");
	g.xcc = number(text, "num_xcc");
	if (property(text, "simd_count", &simds) && property(text, "simd_per_cu", &per) && per)
		g.compute_units = (assay_num){true, (int64_t)(simds / per)};
	property(text, "domain", &domain);
	if (property(text, "location_id", &loc))
		g.bus = assay_printf(c->a, "%04x:%02x:%02x.%x", (unsigned)domain,
				     (unsigned)(loc >> 8 & 0xff), (unsigned)(loc >> 3 & 31),
				     (unsigned)(loc & 7));
	if (g.render_minor.known) {
		g.openable = openable(c, g.render_minor.v);
		card_facts(c, &g);
	}
	count_links(c, node, &g);
	*assay_push(&c->env->gpus) = g;
	*assay_push(&c->env->gpu_arch.arch) = arch;
}

static void walk_nodes(assay_ctx *c, const assay_entries *names)
{
	assay_vec(int64_t) nodes = {0};
	int64_t v, hidden = 0;
	for (size_t i = 0; i < names->n; i++)
		if (assay_str_i64(assay_str_of(names->p[i].name), &v))
			*assay_push(&nodes) = v;
	assay_sort_i64(nodes.p, nodes.n); /* as text, 10 would come before 2 */
	for (size_t i = 0; i < nodes.n; i++) {
		assay_str text;
		const char *path = assay_printf(c->a, NODES "/%" PRId64 "/properties", nodes.p[i]);
		assay_cause cause = assay_root_read(&c->root, c->a, path, 1 << 20, &text);
		if (cause == ASSAY_CAUSE_NONE)
			gpu_node(c, nodes.p[i], text);
		else if (cause == ASSAY_CAUSE_DENIED)
			hidden++; /* the device cgroup keeps this one from us */
		else
			assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "gpu_arch.gfx_targets: %s %s", path,
					 assay_cause_text(cause));
	}
	c->env->gpus_hidden = (assay_num){true, hidden};
	assay_vec_free(&nodes);
}

/* "9.4.2" as ROCr reads HSA_OVERRIDE_GFX_VERSION; NULL when it is malformed. */
static const char *override_arch(assay_arena *a, const char *text)
{
	unsigned major, minor, step;
	char more;
	if (sscanf(text, "%u.%u.%u%c", &major, &minor, &step, &more) != 3 || major > 63 ||
	    minor > 255 || step > 255)
		return NULL;
	return assay_printf(a, "gfx%u%x%x", major, minor, step);
}

/* GPUs left by a visible-devices variable: a list of indices (or UUIDs) that ends at the first bad
 * one. */
static size_t visible_of(const char *list, size_t n)
{
	size_t seen = 0;
	assay_str rest = assay_str_of(list);
	while (rest.n) {
		assay_str word = assay_str_trim(assay_str_cut(&rest, ','));
		int64_t i;
		bool uuid = assay_str_starts(word, "GPU-");
		if (!uuid && (!assay_str_i64(word, &i) || i < 0 || i >= (int64_t)n))
			break;
		seen++;
	}
	return seen < n ? seen : n;
}

static void effective(assay_ctx *c)
{
	assay_env *e = c->env;
	static const char *const limits[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"};
	const char *over = assay_ctx_var(c, "HSA_OVERRIDE_GFX_VERSION");
	size_t n = e->gpus.n;
	e->override_gfx = over && *over ? override_arch(c->a, over) : NULL;
	if (over && *over && !e->override_gfx)
		assay_ctx_finding(c, "override-malformed",
				  "HSA_OVERRIDE_GFX_VERSION=%s is not of the form 9.4.2", over);
	e->target_lst = assay_ctx_var(c, "ROCM_TARGET_LST");
	for (size_t i = 0; i < e->gpus.n; i++) {
		const char *arch = e->gpus.p[i].arch;
		assay_ctx_pair(c, &e->effective_arch, assay_printf(c->a, "%zu", i),
			       e->override_gfx ? e->override_gfx : arch);
		if (e->override_gfx && strcmp(e->override_gfx, arch) && i == 0)
			assay_ctx_finding(c, "arch-override",
					  "HSA_OVERRIDE_GFX_VERSION makes %s run as %s", arch,
					  e->override_gfx);
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(limits); i++) {
		const char *v = assay_ctx_var(c, limits[i]);
		if (v)
			n = visible_of(v, n);
	}
	/* HIP on AMD also listens to the CUDA name, when its own is not set */
	const char *cuda = assay_ctx_var(c, "CUDA_VISIBLE_DEVICES");
	if (cuda && !assay_ctx_var(c, "HIP_VISIBLE_DEVICES"))
		n = visible_of(cuda, n);
	e->gpus_visible = (assay_num){e->gpu_arch.known, (int64_t)n};
}

/* "gfx942" in "gfx90a gfx942:sramecc+": a whole word before any feature. */
static bool list_has(const char *list, const char *arch)
{
	size_t n = strlen(arch);
	for (const char *p = list; (p = strstr(p, arch)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' ' || p[n] == ':'))
			return true;
	return strstr(list, "generic") != NULL; /* code for a whole family */
}

static void check_torch(assay_ctx *c)
{
	const assay_torch *t = &c->env->torch;
	for (size_t i = 0; t->hip && t->arch_list && i < c->env->effective_arch.n; i++) {
		const char *arch = c->env->effective_arch.p[i].value;
		if (list_has(t->arch_list, arch))
			continue;
		assay_ctx_finding(c, "torch-arch", "torch was built for %s, the GPU %s %s",
				  t->arch_list, c->env->override_gfx ? "is taken for" : "is", arch);
		return;
	}
}

static void run(assay_ctx *c)
{
	assay_cause cause;
	const assay_entries *names = assay_ctx_list(c, NODES, &cause);
	if (cause != ASSAY_CAUSE_NONE) {
		assay_ctx_reason(
			c,
			cause != ASSAY_CAUSE_MISSING ? ASSAY_LEVEL_ERROR
			: c->amd && c->root.host     ? ASSAY_LEVEL_MISSING
						     : ASSAY_LEVEL_EXPECTED,
			"gpu_arch: %s %s%s", NODES, assay_cause_text(cause),
			c->amd ? " (is the amdgpu driver loaded, and /sys in this container?)"
			       : "");
		effective(c);
		return;
	}
	walk_nodes(c, names);
	c->env->gpu_arch.known = true;
	if (!c->env->gpus.n && c->env->gpus_hidden.v)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "gpu_arch.agent_count: %" PRId64
				 " KFD node(s) are there but permission is denied",
				 c->env->gpus_hidden.v);
	effective(c);
	check_torch(c);
}

const assay_probe assay_probe_gpu = {.name = "gpu_arch", .run = run};

TEST(gfx_names_are_decimal_hex_hex)
{
	static const struct {
		uint64_t v;
		const char *name;
	} cases[] = {{90402, "gfx942"},   {90010, "gfx90a"},   {90500, "gfx950"},
		     {100300, "gfx1030"}, {110000, "gfx1100"}, {120001, "gfx1201"},
		     {90012, "gfx90c"}};
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++)
		CHECK(!strcmp(gfx_name(&a, cases[i].v), cases[i].name));
	CHECK(!gfx_name(&a, 0));
	assay_arena_free(&a);
	return 0;
}

TEST(overrides_are_parsed_like_the_runtime)
{
	assay_arena a = {0};
	CHECK(!strcmp(override_arch(&a, "9.4.2"), "gfx942") &&
	      !strcmp(override_arch(&a, "10.3.0"), "gfx1030"));
	CHECK(!override_arch(&a, "gfx942") && !override_arch(&a, "9.4") &&
	      !override_arch(&a, "9.4.2x"));
	assay_arena_free(&a);
	return 0;
}

TEST(architectures_are_whole_words)
{
	CHECK(list_has("gfx90a gfx942", "gfx942") && list_has("gfx90a:xnack- gfx942", "gfx90a"));
	CHECK(!list_has("gfx1100", "gfx942") && !list_has("gfx1100", "gfx110"));
	CHECK(list_has("gfx9-4-generic", "gfx942"));
	return 0;
}

TEST(visible_devices_end_at_the_first_bad_index)
{
	CHECK_EQ(visible_of("0,1", 8), 2);
	CHECK_EQ(visible_of("0,9,1", 8), 1);
	CHECK_EQ(visible_of("", 8), 0);
	CHECK_EQ(visible_of("GPU-abc,2", 8), 2);
	return 0;
}
