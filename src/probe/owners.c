/* Which package installed a library or a kernel database: the distribution's manager, conda or
 * pip. */
#include <limits.h>
#include <stdio.h>

#include "base/json.h"
#include "base/test.h"
#include "probe/packages.h"

enum { LIST_MAX = 64 << 20 };

static uint64_t hash_of(assay_str path)
{
	return assay_hash(path.p, path.n, 0);
}

static void ask(assay_owners *o, const char *path, assay_installed *owner)
{
	*assay_map_at(&o->at, hash_of(assay_str_of(path))) = (uint32_t)o->asked.n;
	*assay_push(&o->asked) = (assay_asked){path, owner};
	o->unowned++;
}

/* dpkg lists /lib/x where /lib is a link to /usr/lib. */
void assay_owners_offer(assay_owners *o, assay_str path, const assay_installed *package)
{
	uint32_t at = assay_map_get(&o->at, hash_of(path));
	char merged[PATH_MAX];
	if (at == ASSAY_MAP_ABSENT && assay_str_starts(path, "/lib") &&
	    path.n < sizeof merged - 4) {
		int n = snprintf(merged, sizeof merged, "/usr%.*s", (int)path.n, path.p);
		path = (assay_str){merged, (size_t)n};
		at = assay_map_get(&o->at, hash_of(path));
	}
	if (at == ASSAY_MAP_ABSENT || !assay_str_is(path, o->asked.p[at].path))
		return;
	assay_installed *owner = o->asked.p[at].owner;
	if (owner->name)
		return;
	*owner = *package;
	o->unowned--;
}

/* Somebody asks for a file below the folder. */
static bool asked_below(const assay_owners *o, const char *dir)
{
	for (size_t i = 0; i < o->asked.n; i++)
		if (!o->asked.p[i].owner->name &&
		    assay_str_starts(assay_str_of(o->asked.p[i].path), dir))
			return true;
	return false;
}

/* A list of files below `top`, one a line, up to `stop` in the line. */
static void offer_lines(assay_owners *o, const char *list, const char *top, char stop,
			const assay_installed *package)
{
	assay_arena scratch = {0};
	assay_str text;
	char path[PATH_MAX];
	if (assay_root_read(&o->c->root, &scratch, list, LIST_MAX, &text) != ASSAY_CAUSE_NONE)
		text = (assay_str){0};
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n'), name = assay_str_cut(&line, stop);
		int n = snprintf(path, sizeof path, "%s%.*s", top, (int)name.n, name.p);
		if (n > 0 && (size_t)n < sizeof path)
			assay_owners_offer(o, (assay_str){path, (size_t)n}, package);
	}
	assay_arena_free(&scratch);
}

/* info/NAME.list, or info/NAME:ARCH.list where several architectures may be installed. */
static void dpkg_lists(assay_owners *o, bool of_gpus)
{
	static const char *const forms[] = {"%s.list", "%s:amd64.list", "%s:arm64.list"};
	assay_ctx *c = o->c;
	for (size_t i = 0; i < c->installed.n && o->unowned; i++) {
		const assay_installed *p = &c->installed.p[i];
		if (strcmp(p->manager, "dpkg") ||
		    assay_is_gpu_package(assay_str_of(p->name)) != of_gpus)
			continue;
		for (size_t k = 0; k < ASSAY_COUNT_OF(forms); k++) {
			const char *file = assay_printf(c->a, forms[k], p->name);
			offer_lines(o, assay_printf(c->a, "/var/lib/dpkg/info/%s", file), "", 0, p);
		}
	}
}

static void pacman_lists(assay_owners *o)
{
	assay_ctx *c = o->c;
	for (size_t i = 0; i < c->installed.n && o->unowned; i++) {
		const assay_installed *p = &c->installed.p[i];
		if (!strcmp(p->manager, "pacman"))
			offer_lines(o,
				    assay_printf(c->a, "/var/lib/pacman/local/%s-%s/files", p->name,
						 p->version),
				    "/", 0, p);
	}
}

/* RECORD of a wheel: "torch/lib/libx.so,sha256=...,123" below site-packages. */
static void wheel_lists(assay_owners *o)
{
	assay_ctx *c = o->c;
	for (size_t i = 0; i < c->env->packages.n && o->unowned; i++) {
		const assay_package *w = &c->env->packages.p[i];
		const char *site = assay_root_real(&c->root, c->a, w->site);
		const char *top = assay_printf(c->a, "%s/", site ? site : w->site);
		assay_installed p = {"pip", w->name, w->version};
		if (asked_below(o, top))
			offer_lines(o, assay_printf(c->a, "%s/RECORD", w->info), top, ',', &p);
	}
}

/* "files" of conda-meta/NAME-VERSION-BUILD.json, below the prefix. */
static void offer_conda_files(assay_owners *o, const char *prefix, assay_str json,
			      const assay_installed *p)
{
	assay_json j = assay_json_on(json.p, json.n);
	assay_str key, file;
	if (!assay_json_enter(&j, '{'))
		return;
	while (assay_json_member(&j, &key)) {
		if (!assay_str_is(key, "files") || !assay_json_enter(&j, '[')) {
			assay_json_skip(&j, NULL);
			continue;
		}
		while (assay_json_element(&j) && assay_json_text(&j, &file)) {
			const char *path =
				assay_printf(o->c->a, "%s/%.*s", prefix, (int)file.n, file.p);
			assay_owners_offer(o, assay_str_of(path), p);
		}
	}
}

static void conda_lists(assay_owners *o)
{
	assay_ctx *c = o->c;
	const char *prefix = assay_ctx_python_home(c);
	prefix = prefix ? assay_root_real(&c->root, c->a, prefix) : NULL;
	if (!prefix || !asked_below(o, assay_printf(c->a, "%s/", prefix)))
		return;
	for (size_t i = 0; i < c->env->conda.n && o->unowned; i++) {
		const assay_pair *pair = &c->env->conda.p[i]; /* value: "VERSION BUILD" */
		assay_arena scratch = {0};
		assay_str json, build = assay_str_of(pair->value),
				version = assay_str_cut(&build, ' ');
		assay_installed p = {"conda", pair->key, assay_dup(c->a, version)};
		const char *path = assay_printf(c->a, "%s/conda-meta/%s-%s-%.*s.json", prefix,
						p.name, p.version, (int)build.n, build.p);
		if (assay_root_read(&c->root, &scratch, path, LIST_MAX, &json) == ASSAY_CAUSE_NONE)
			offer_conda_files(o, prefix, json, &p);
		assay_arena_free(&scratch);
	}
}

static void run(assay_ctx *c)
{
	assay_env *e = c->env;
	assay_owners o = {.c = c};
	for (size_t i = 0; i < e->libs.n; i++)
		for (size_t k = 0; k < e->libs.p[i].copies.n; k++) {
			assay_lib_copy *copy = &e->libs.p[i].copies.p[k];
			ask(&o, copy->file->path, &copy->owner);
		}
	for (size_t i = 0; i < e->kdbs.n; i++) {
		assay_kdb *k = &e->kdbs.p[i];
		if (k->members.n && k->members.p[0].file)
			ask(&o, k->members.p[0].file->path, &k->owner);
	}
	conda_lists(&o);
	wheel_lists(&o);
	dpkg_lists(&o, true);
	assay_rpm_owners(&o);
	pacman_lists(&o);
	/* most packages are not of GPUs, and there may be thousands of lists */
	if (asked_below(&o, "/usr/lib") || asked_below(&o, "/opt/"))
		dpkg_lists(&o, false);
	assay_vec_free(&o.asked);
	assay_map_free(&o.at);
}

const assay_probe assay_probe_owners = {.name = "owners", .run = run};
