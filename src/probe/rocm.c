/* ROCm: every root there is, the one that counts, and what it says about itself. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "probe/header.h"
#include "probe/packages.h"

static const char *under(assay_ctx *c, const char *root, const char *rest)
{
	return assay_printf(c->a, "%s/%s", strcmp(root, "/") ? root : "", rest);
}

static bool any_dir(assay_ctx *c, const char *root, const char *const *names)
{
	for (; *names; names++)
		if (assay_root_is_dir(&c->root, under(c, root, *names)))
			return true;
	return false;
}

static void add_lib_dir(assay_ctx *c, assay_rocm_root *r, const char *dir)
{
	if (r->n_lib_dirs < ASSAY_COUNT_OF(r->lib_dir) && assay_root_is_dir(&c->root, dir))
		r->lib_dir[r->n_lib_dirs++] = dir;
}

static assay_rocm_root *add_root(assay_ctx *c, const char *path, const char *source,
				 const char *layout)
{
	assay_env *e = c->env;
	const char *real = assay_root_real(&c->root, c->a, path);
	for (size_t i = 0; i < e->roots.n; i++) {
		const char *known = assay_root_real(&c->root, c->a, e->roots.p[i].path);
		if (real && known && !strcmp(real, known))
			return NULL;
	}
	assay_rocm_root r = {
		.path = assay_dup(c->a, assay_str_of(path)), .source = source, .layout = layout};
	*assay_push(&e->roots) = r;
	return &e->roots.p[e->roots.n - 1];
}

/* Loose test for a root somebody named; strict one for the usual place, where a shim may stand. */
static bool looks_like_root(assay_ctx *c, const char *path, bool strict)
{
	static const char *const loose[] = {".info", "bin", "lib", "lib64", NULL};
	static const char *const libs[] = {"lib", "lib64", NULL};
	if (!strict)
		return any_dir(c, path, loose);
	return assay_ctx_text(c, under(c, path, ".info/version")) ||
	       assay_ctx_text(c, under(c, path, ".info/version-dev")) || any_dir(c, path, libs);
}

static void named_root(assay_ctx *c, const char *variable)
{
	const char *path = assay_ctx_var(c, variable);
	if (!path || *path != '/')
		return;
	if (!looks_like_root(c, path, false)) {
		assay_ctx_finding(c, "rocm-variable", "%s names %s, which is no ROCm root",
				  variable, path);
		return;
	}
	bool wheel = strstr(path, "_rocm_sdk_") != NULL;
	assay_rocm_root *r = add_root(c, path, variable, wheel ? "wheel" : "classic");
	if (r) {
		add_lib_dir(c, r, under(c, path, "lib"));
		add_lib_dir(c, r, under(c, path, "lib64"));
	}
}

static void classic_root(assay_ctx *c, const char *path, const char *source, const char *layout)
{
	if (!looks_like_root(c, path, true))
		return;
	assay_rocm_root *r = add_root(c, path, source, layout);
	if (r) {
		add_lib_dir(c, r, under(c, path, "lib"));
		add_lib_dir(c, r, under(c, path, "lib64"));
	}
}

/* /opt/rocm/core-10.0 of native packages, and /opt/rocm-6.4.1 beside /opt/rocm. */
static void listed_roots(assay_ctx *c, const char *dir, const char *prefix, const char *layout)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	for (size_t i = names->n; i-- > 0;)
		if (assay_str_starts(assay_str_of(names->p[i].name), prefix))
			classic_root(c, under(c, dir, names->p[i].name), dir, layout);
}

/* TheRock wheels: _rocm_sdk_core, _rocm_sdk_libraries*, _rocm_sdk_devel side by side. */
static void wheel_roots(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	for (size_t i = 0; i < p->sites.n; i++) {
		const char *site = p->sites.p[i].path;
		if (!assay_root_is_dir(&c->root, under(c, site, "_rocm_sdk_core")))
			continue;
		assay_rocm_root *r =
			add_root(c, under(c, site, "_rocm_sdk_core"), "site-packages", "wheel");
		const assay_entries *names = assay_ctx_list(c, site, NULL);
		for (size_t k = 0; r && k < names->n; k++)
			if (assay_str_starts(assay_str_of(names->p[k].name), "_rocm_sdk_"))
				add_lib_dir(
					c, r,
					assay_printf(c->a, "%s/%s/lib", site, names->p[k].name));
	}
}

/* A distribution puts ROCm in /usr. It counts as a root when one of its libraries is there. */
static void distro_root(assay_ctx *c)
{
	static const char *const dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64",
					   "/usr/lib/aarch64-linux-gnu", "/usr/lib"};
	static const char *const stems[] = {"libamdhip64.so",      "librocblas.so",
					    "libhsa-runtime64.so", "libhipblaslt.so",
					    "librccl.so",          "libMIOpen.so"};
	assay_rocm_root *r = NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(dirs); i++) {
		const assay_entries *names = assay_ctx_list(c, dirs[i], NULL);
		bool here = false;
		for (size_t k = 0; k < names->n && !here; k++)
			for (size_t s = 0; s < ASSAY_COUNT_OF(stems); s++)
				here |= assay_str_starts(assay_str_of(names->p[k].name), stems[s]);
		if (here && !r)
			r = add_root(c, "/usr", "system", "distro");
		if (here && r)
			add_lib_dir(c, r, dirs[i]);
	}
}

/* "submodules": [{"submodule_name": ..., "pin_sha": ..., "patches": [...]}, ...] */
static void manifest_pins(assay_ctx *c, assay_json *j)
{
	if (!assay_json_enter(j, '['))
		return;
	while (assay_json_element(j)) {
		assay_str key, v, name = {0}, pin = {0};
		int patches = 0;
		if (assay_json_peek(j) != '{' || !assay_json_enter(j, '{')) {
			assay_json_skip(j, NULL);
			continue;
		}
		while (assay_json_member(j, &key)) {
			char first = assay_json_peek(j);
			if (first == '"' && assay_str_is(key, "submodule_name"))
				assay_json_text(j, &name);
			else if (first == '"' && assay_str_is(key, "pin_sha"))
				assay_json_text(j, &pin);
			else if (first == '[' && assay_str_is(key, "patches") &&
				 assay_json_enter(j, '['))
				while (assay_json_element(j) && assay_json_skip(j, &v))
					patches++;
			else
				assay_json_skip(j, NULL);
		}
		if (name.n && pin.n)
			assay_ctx_pair(c, &c->env->therock,
				       assay_printf(c->a, "pins.%.*s", (int)name.n, name.p),
				       assay_printf(c->a, patches ? "%.*s + %d patches" : "%.*s",
						    (int)pin.n, pin.p, patches));
	}
}

/* rocm_version of share/therock/therock_manifest.json. */
static const char *manifest_version(assay_ctx *c, const char *root)
{
	const char *path = under(c, root, "share/therock/therock_manifest.json");
	assay_str text, key, v;
	if (assay_root_read(&c->root, c->a, path, 16 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	assay_json j = assay_json_on(text.p, text.n);
	const char *version = NULL;
	if (assay_json_enter(&j, '{'))
		while (assay_json_member(&j, &key)) {
			char first = assay_json_peek(&j);
			bool told = c->env->therock.n != 0;
			if (assay_str_is(key, "rocm_version") && first == '"' &&
			    assay_json_text(&j, &v))
				version = assay_dup(c->a, assay_json_unescape(c->a, v));
			else if (assay_str_is(key, "the_rock_commit") && first == '"' && !told &&
				 assay_json_text(&j, &v))
				assay_ctx_pair(c, &c->env->therock, "the_rock_commit",
					       assay_dup(c->a, v));
			else if (assay_str_is(key, "submodules") && first == '[')
				manifest_pins(c, &j);
			else
				assay_json_skip(&j, NULL);
		}
	if (!assay_json_ok(&j) && !version) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "rocm.version: %s is not valid JSON", path);
	}
	return version;
}

static const char *version_from_sonames(assay_ctx *c, const assay_rocm_root *r)
{
	for (size_t i = 0; i < r->n_lib_dirs; i++) {
		const assay_entries *names = assay_ctx_list(c, r->lib_dir[i], NULL);
		for (size_t k = 0; k < names->n; k++) {
			const char *version, *release = NULL;
			if (assay_str_starts(assay_str_of(names->p[k].name), "libroc") ||
			    assay_str_starts(assay_str_of(names->p[k].name), "libhip"))
				assay_lib_version(c->a, names->p[k].name, &version, &release);
			if (release)
				return release;
		}
	}
	return NULL;
}

/* A distribution numbers its packages by the ROCm release they come from: "5.2.3-8". */
static const assay_installed *distribution_package(assay_ctx *c)
{
	static const char *const packages[] = {"rocminfo",           "rocm-core",
					       "libhsa-runtime64-1", "librocm-smi64-1",
					       "rocm-runtime",       "hsa-rocr"};
	const assay_installed *p = NULL;
	for (size_t i = 0; !p && i < ASSAY_COUNT_OF(packages); i++)
		p = assay_ctx_installed(c, packages[i]);
	return p;
}

static void root_version(assay_ctx *c, assay_rocm_root *r)
{
	static const char *const dists[] = {"rocm-sdk-core", "rocm", NULL};
	const assay_package *p = !strcmp(r->layout, "wheel") ? assay_ctx_package(c, dists) : NULL;
	const assay_installed *d = strcmp(r->layout, "distro") ? NULL : distribution_package(c);
	const struct {
		const char *source, *version;
	} ways[] = {
		{".info/version", strcmp(r->layout, "distro")
					  ? assay_ctx_text(c, under(c, r->path, ".info/version"))
					  : NULL},
		{"therock_manifest.json", manifest_version(c, r->path)},
		{"dist-info", p ? p->version : NULL},
		{"soname", version_from_sonames(c, r)},
		{d ? d->manager : NULL, d ? assay_upstream_version(c->a, d->version) : NULL},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(ways) && !r->version; i++)
		if (ways[i].version) {
			r->version = ways[i].version;
			r->version_source = ways[i].source;
		}
}

static assay_rocm_root *choose_root(assay_ctx *c)
{
	assay_env *e = c->env;
	named_root(c, "ROCM_PATH");
	named_root(c, "ROCM_HOME");
	classic_root(c, "/opt/rocm", "/opt/rocm", "classic");
	listed_roots(c, "/opt/rocm", "core-", "native");
	wheel_roots(c);
	listed_roots(c, "/opt", "rocm-", "classic");
	distro_root(c);
	for (size_t i = 0; i < e->roots.n; i++)
		root_version(c, &e->roots.p[i]);
	if (!e->roots.n)
		return NULL;
	/* /opt/rocm itself is only links when packages are native: the core folder says more */
	size_t best = 0;
	for (size_t i = 0; i < e->roots.n; i++)
		if (!strcmp(e->roots.p[i].layout, "native") && !e->roots.p[best].version)
			best = i;
	e->roots.p[best].chosen = true;
	return &e->roots.p[best];
}

/* A file that should hold one line. */
static const char *version_file(assay_ctx *c, const char *field, const char *path,
				assay_level if_missing)
{
	char *text;
	assay_cause cause = assay_root_text(&c->root, c->a, path, &text);
	if (cause == ASSAY_CAUSE_NONE)
		return text;
	assay_ctx_reason(c, cause == ASSAY_CAUSE_MISSING ? if_missing : ASSAY_LEVEL_ERROR,
			 "%s: %s %s", field, path, assay_cause_text(cause));
	return NULL;
}

static void rocm_versions(assay_ctx *c, const assay_rocm_root *r)
{
	assay_env *e = c->env;
	assay_level absent = c->amd ? ASSAY_LEVEL_MISSING : ASSAY_LEVEL_EXPECTED;
	const char *torch_rocm = e->torch.version ? strstr(e->torch.version, "+rocm") : NULL;
	if (!r && c->bundled) {
		/* the wheel carries ROCm with it: nothing is missing from the machine */
		absent = ASSAY_LEVEL_EXPECTED;
		e->rocm.version = torch_rocm ? torch_rocm + 5 : NULL;
	}
	bool info = r && (!strcmp(r->layout, "classic") || !strcmp(r->layout, "native"));
	const char *top = r ? r->path : "/opt/rocm";
	if (r && !strcmp(r->layout, "distro")) {
		absent = ASSAY_LEVEL_EXPECTED; /* no distribution has these files */
		e->rocm.version = r->version;
	} else if (r && r->version && strcmp(r->version_source, ".info/version")) {
		e->rocm.version = r->version;
		if (info)
			version_file(c, "rocm.version", under(c, top, ".info/version"),
				     ASSAY_LEVEL_EXPECTED);
	}
	if (!e->rocm.version) {
		e->rocm.version =
			version_file(c, "rocm.version", under(c, top, ".info/version"), absent);
	}
	/* only -dev packages have the second file */
	e->rocm.version_dev =
		version_file(c, "rocm.version_dev", under(c, top, ".info/version-dev"),
			     e->rocm.version ? ASSAY_LEVEL_EXPECTED : absent);
	/* the kernel's own amdgpu carries no version, only the out-of-tree one does */
	bool module =
		assay_root_is_dir(&c->root, "/sys/module/amdgpu") ||
		!assay_root_is_dir(&c->root, "/sys/module"); /* an image that is not running */
	e->rocm.kmd_version =
		version_file(c, "rocm.kmd_version", "/sys/module/amdgpu/version",
			     module || !c->amd ? ASSAY_LEVEL_EXPECTED : ASSAY_LEVEL_MISSING);
}

static const char *hip_from_file(assay_ctx *c, const char *path)
{
	static const char *const keys[] = {"HIP_VERSION_MAJOR=", "HIP_VERSION_MINOR=",
					   "HIP_VERSION_PATCH=", "HIP_VERSION_GITHASH="};
	assay_str text, v[4] = {{0}};
	if (assay_root_read(&c->root, c->a, path, 64 << 10, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	while (text.n) {
		assay_str line = assay_str_trim(assay_str_cut(&text, '\n'));
		for (size_t i = 0; i < 4; i++)
			if (assay_str_starts(line, keys[i]))
				v[i] = (assay_str){line.p + strlen(keys[i]),
						   line.n - strlen(keys[i])};
	}
	if (!v[0].n || !v[1].n || !v[2].n)
		return NULL;
	return assay_printf(c->a, "%.*s.%.*s.%.*s%s%.*s", (int)v[0].n, v[0].p, (int)v[1].n, v[1].p,
			    (int)v[2].n, v[2].p, v[3].n ? "-" : "", (int)v[3].n,
			    v[3].p ? v[3].p : "");
}

static const char *hip_from_header(assay_ctx *c, const char *path)
{
	assay_str text, git;
	if (assay_root_read(&c->root, c->a, path, 1 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	char *v = assay_header_version(c->a, text, "HIP_VERSION");
	if (v && assay_header_define(text, "HIP_VERSION_GITHASH", false, &git) && git.n)
		return assay_printf(c->a, "%s-%.*s", v, (int)git.n, git.p);
	return v;
}

static const char *hip_version(assay_ctx *c, const char *root)
{
	const char *v = hip_from_file(c, under(c, root, "share/hip/version"));
	if (!v)
		v = hip_from_file(c, under(c, root, "bin/.hipVersion"));
	return v ? v : hip_from_header(c, under(c, root, "include/hip/hip_version.h"));
}

/* A tree with the HSA runtime alone (what hwloc pulls in) has no HIP. */
static bool has_hip(assay_ctx *c, const assay_rocm_root *r)
{
	for (size_t i = 0; r && i < r->n_lib_dirs; i++) {
		const assay_entries *names = assay_ctx_list(c, r->lib_dir[i], NULL);
		for (size_t k = 0; k < names->n; k++)
			if (assay_str_starts(assay_str_of(names->p[k].name), "libamdhip64.so"))
				return true;
	}
	return r && assay_root_is_file(&c->root, under(c, r->path, "bin/hipconfig"));
}

static void hip_block(assay_ctx *c, const assay_rocm_root *r)
{
	assay_env *e = c->env;
	const char *platform = assay_ctx_var(c, "HIP_PLATFORM");
	if (!r && c->bundled) {
		e->hip.version = e->torch.hip;
	} else if (!r) {
		assay_ctx_reason(c, c->amd ? ASSAY_LEVEL_MISSING : ASSAY_LEVEL_EXPECTED,
				 "hip: no ROCm root, so no HIP toolchain");
		return;
	} else {
		e->hip.version = hip_version(c, r->path);
	}
	if (!e->hip.version && e->torch.hip && r && !strcmp(r->layout, "wheel"))
		e->hip.version = e->torch.hip;
	if (!e->hip.version && r)
		assay_ctx_reason(
			c, strcmp(r->layout, "distro") ? ASSAY_LEVEL_MISSING : ASSAY_LEVEL_EXPECTED,
			"hip.version: neither share/hip/version nor include/hip/hip_version.h in %s gives it",
			r->path);
	if (!e->hip.version && !has_hip(c, r))
		return;
	e->hip.platform = platform && *platform ? platform : "amd";
	e->hip.compiler = !strcmp(e->hip.platform, "nvidia") ? "nvcc" : "clang";
	e->hip.runtime = !strcmp(e->hip.platform, "nvidia") ? "cuda" : "rocclr";
	assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
			 "hip.cpp_config: only hipconfig itself composes it");
}

/* Is there reason to expect ROCm? A driver, a GPU, a torch built for it, or a root. */
static void expect_amd(assay_ctx *c)
{
	c->amd |= assay_root_is_dir(&c->root, "/sys/class/kfd/kfd/topology") ||
		  assay_root_is_dir(&c->root, "/sys/module/amdgpu") ||
		  assay_ctx_var(c, "ROCM_PATH") || assay_ctx_var(c, "ROCM_HOME");
	c->nvidia |= assay_root_is_dir(&c->root, "/proc/driver/nvidia") ||
		     assay_root_is_dir(&c->root, "/sys/module/nvidia");
}

static void driver_facts(assay_ctx *c)
{
	static const struct {
		const char *key, *path;
	} facts[] = {{"module_version", "/sys/module/amdgpu/version"},
		     {"module_srcversion", "/sys/module/amdgpu/srcversion"}};
	assay_env *e = c->env;
	bool module = assay_root_is_dir(&c->root, "/sys/module/amdgpu");
	bool kfd = assay_root_is_dir(&c->root, "/sys/class/kfd/kfd");
	if (!module && !kfd)
		return;
	assay_ctx_pair(c, &e->amdgpu, "scope", "host");
	assay_ctx_pair(c, &e->amdgpu, "status", module ? "loaded" : "built_in");
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++)
		assay_ctx_pair(c, &e->amdgpu, facts[i].key, assay_ctx_text(c, facts[i].path));
	assay_ctx_pair(c, &e->amdgpu, "kfd_device_present",
		       assay_root_exists(&c->root, "/dev/kfd") ? "true" : "false");
	assay_ctx_pair(c, &e->amdgpu, "kfd_sysfs_present", kfd ? "true" : "false");
	const assay_entries *params = assay_ctx_list(c, "/sys/module/amdgpu/parameters", NULL);
	for (size_t i = 0; i < params->n; i++) {
		const char *name = params->p[i].name;
		char *v = assay_ctx_text(
			c, assay_printf(c->a, "/sys/module/amdgpu/parameters/%s", name));
		if (v)
			assay_ctx_pair(c, &e->amdgpu, assay_printf(c->a, "parameters.%s", name), v);
	}
}

/* "2.11.0+rocm7.2" or the hip version against the root's release: first two parts must agree. */
static void compare_with_torch(assay_ctx *c)
{
	assay_env *e = c->env;
	const char *mark = e->torch.version ? strstr(e->torch.version, "+rocm") : NULL;
	if (!mark || !e->rocm.version)
		return;
	assay_str a = assay_str_of(mark + 5), b = assay_str_of(e->rocm.version);
	for (int i = 0; i < 2; i++) {
		assay_str x = assay_str_cut(&a, '.'), y = assay_str_cut(&b, '.');
		if (!assay_str_eq(x, y)) {
			assay_ctx_finding(c, "torch-rocm-release",
					  "torch was built for ROCm %s, the installed one is %s",
					  mark + 5, e->rocm.version);
			return;
		}
	}
}

/* Distributions bring parts of ROCm up one by one: of Debian 13 the HIP runtime is 5.7.1 and the
 * HSA runtime 6.1.2, and no single number is the release. */
static void tell_mixture(assay_ctx *c, const assay_rocm_root *r)
{
	static const char *const parts[] = {"rocminfo",     "rocm-runtime", "libhsa-runtime64-",
					    "libamdhip64-", "rocm-hip",     "hip-runtime-amd"};
	const char *list = "", *first = NULL;
	bool mixed = false;
	for (size_t i = 0; r && !strcmp(r->layout, "distro") && i < c->installed.n; i++) {
		const assay_installed *p = &c->installed.p[i];
		bool part = false;
		for (size_t k = 0; k < ASSAY_COUNT_OF(parts); k++)
			part |= assay_str_starts(assay_str_of(p->name), parts[k]) &&
				!assay_str_ends(assay_str_of(p->name), "-dev");
		if (!part)
			continue;
		const char *version = assay_upstream_version(c->a, p->version);
		first = first ? first : version;
		mixed |= strcmp(first, version) != 0;
		list = assay_printf(c->a, "%s%s%s %s", list, *list ? ", " : "", p->name, version);
	}
	if (mixed)
		assay_ctx_finding(c, "rocm-mixed",
				  "the distribution's packages are of several ROCm releases: %s",
				  list);
}

static void run(assay_ctx *c)
{
	expect_amd(c);
	assay_rocm_root *r = choose_root(c);
	/* distributions pull libhsa-runtime64 in behind hwloc and Open MPI: no sign of an AMD
	 * GPU */
	c->amd |= r && strcmp(r->layout, "distro") != 0;
	c->bundled = c->env->torch.dir && c->env->torch.hip &&
		     assay_root_is_file(&c->root, assay_printf(c->a, "%s/lib/libamdhip64.so",
							       c->env->torch.dir));
	rocm_versions(c, r);
	tell_mixture(c, r);
	hip_block(c, r);
	driver_facts(c);
	compare_with_torch(c);
}

const assay_probe assay_probe_rocm = {.name = "rocm", .run = run};
