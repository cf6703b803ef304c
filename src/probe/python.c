/* The interpreter the user would run, the folders it imports from, and the packages in them: found
 * without running it. Order of search: --python, a process (--pid), VIRTUAL_ENV, CONDA_PREFIX,
 * of an image /opt/venv and /opt/conda, PATH. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/json.h"
#include "base/test.h"
#include "base/version.h"
#include "probe/packages.h"
#include "wire/secret.h"

static const char *parent(assay_arena *a, const char *path)
{
	const char *dir = assay_folder_of(a, path);
	return *dir ? dir : "/";
}

static const char *join(assay_ctx *c, const char *dir, const char *name)
{
	return assay_printf(c->a, "%s/%s", strcmp(dir, "/") ? dir : "", name);
}

/* "key = value" of pyvenv.cfg, or NULL. */
static const char *cfg_value(assay_arena *a, assay_str text, const char *key)
{
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n'), name = assay_str_cut(&line, '=');
		if (assay_str_same(assay_str_trim(name), assay_str_of(key)))
			return assay_dup(a, assay_str_trim(line));
	}
	return NULL;
}

static bool is_xy(const char *name, const char **xy)
{
	static const char prefix[] = "python";
	if (strncmp(name, prefix, sizeof prefix - 1))
		return false;
	*xy = name + sizeof prefix - 1;
	size_t n = strspn(*xy, "0123456789.");
	return n >= 3 && (*xy)[1] == '.' && (!(*xy)[n] || !strcmp(*xy + n, "t"));
}

/* Highest pythonX.Y folder in prefix/lib; NULL when there is none. */
static const char *xy_in_lib(assay_ctx *c, const char *prefix)
{
	const char *best = NULL, *xy;
	const assay_entries *names = assay_ctx_list(c, join(c, prefix, "lib"), NULL);
	for (size_t i = 0; i < names->n; i++)
		if (is_xy(names->p[i].name, &xy) &&
		    (!best || assay_version_cmp(assay_str_of(xy), assay_str_of(best)) > 0))
			best = xy;
	return best;
}

static const char *xy_of_version(assay_arena *a, const char *version)
{
	assay_str rest = assay_str_of(version), x = assay_str_cut(&rest, '.'),
		  y = assay_str_cut(&rest, '.');
	return x.n && y.n ? assay_printf(a, "%.*s.%.*s", (int)x.n, x.p, (int)y.n, y.p) : NULL;
}

/* "3.12.3.final.0" and "3.12.3" are both written; three parts are wanted. */
static const char *three_parts(assay_arena *a, const char *version)
{
	int dots = 0;
	size_t n = 0;
	while (version[n] && !(version[n] == '.' && ++dots == 3))
		n++;
	return assay_dup(a, (assay_str){version, n});
}

static void use_venv(assay_ctx *c, const char *prefix, assay_str cfg)
{
	assay_python *p = &c->env->python;
	const char *home = cfg_value(c->a, cfg, "home"), *version = cfg_value(c->a, cfg, "version");
	version = version ? version : cfg_value(c->a, cfg, "version_info");
	p->prefix = p->venv_path = prefix;
	p->env_kind = "venv";
	p->base_prefix = home ? parent(c->a, home) : NULL;
	if (version) {
		p->version = three_parts(c->a, version);
		p->xy = xy_of_version(c->a, version);
	}
}

static bool try_venv(assay_ctx *c, const char *prefix)
{
	assay_str cfg;
	if (assay_root_read(&c->root, c->a, join(c, prefix, "pyvenv.cfg"), 1 << 20, &cfg) !=
	    ASSAY_CAUSE_NONE)
		return false;
	use_venv(c, assay_dup(c->a, assay_str_of(prefix)), cfg);
	return true;
}

static void use_conda(assay_ctx *c, const char *prefix)
{
	assay_python *p = &c->env->python;
	p->prefix = prefix;
	p->env_kind = "conda";
	p->conda_name = assay_ctx_var(c, "CONDA_DEFAULT_ENV");
}

/* PEP 405: pyvenv.cfg beside the executable or one folder up, before any link is followed. */
static bool use_exe(assay_ctx *c, const char *exe)
{
	assay_python *p = &c->env->python;
	const char *dir = parent(c->a, exe), *xy;
	p->exe = assay_dup(c->a, assay_str_of(exe));
	if (try_venv(c, dir) || try_venv(c, parent(c->a, dir)))
		return true;
	const char *real = assay_root_real(&c->root, c->a, exe);
	if (!real) {
		p->exe = NULL;
		return false;
	}
	const char *name = assay_file_name(real);
	p->prefix = parent(c->a, parent(c->a, real));
	if (is_xy(name, &xy))
		p->xy = assay_dup(c->a, assay_str_of(xy));
	if (assay_root_is_dir(&c->root, join(c, p->prefix, "conda-meta")))
		use_conda(c, p->prefix);
	return true;
}

/* pyenv puts a script in front of the interpreter; its choice is in PYENV_VERSION or a version
 * file. */
static const char *behind_shim(assay_ctx *c, const char *shim)
{
	const char *top = parent(c->a, parent(c->a, shim)),
		   *chosen = assay_ctx_var(c, "PYENV_VERSION");
	if (!chosen)
		chosen = assay_ctx_text(c, "/.python-version");
	if (!chosen)
		chosen = assay_ctx_text(c, join(c, top, "version"));
	if (!chosen)
		return NULL;
	assay_str first = assay_str_of(chosen);
	first.n = strcspn(chosen, ":\n \t");
	if (!first.n || assay_str_is(first, "system"))
		return NULL;
	return assay_printf(c->a, "%s/versions/%.*s/bin/python3", top, (int)first.n, first.p);
}

static bool search_path(assay_ctx *c)
{
	static const char *const names[] = {"python3", "python"};
	const char *path = assay_ctx_var(c, "PATH");
	if (!path || !*path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++) {
		assay_str rest = assay_str_of(path);
		while (rest.n) {
			assay_str dir = assay_str_cut(&rest, ':');
			if (!dir.n || *dir.p != '/')
				continue;
			const char *exe =
				assay_printf(c->a, "%.*s/%s", (int)dir.n, dir.p, names[i]);
			if (!assay_root_is_file(&c->root, exe))
				continue;
			if (assay_str_ends(dir, "/shims") && !(exe = behind_shim(c, exe)))
				continue;
			if (use_exe(c, exe))
				return true;
		}
	}
	/* a root is looked at from outside, so this PATH may know nothing of it */
	return !c->root.host &&
	       (use_exe(c, "/usr/local/bin/python3") || use_exe(c, "/usr/bin/python3"));
}

/* An image whose variables nobody told: its PATH led to the interpreter that was put in for it,
 * where there is one, not to the distribution's. */
static bool usual_place(assay_ctx *c)
{
	if (c->root.host || assay_ctx_var(c, "PATH"))
		return false;
	const char *only = "";
	const assay_entries *envs = assay_ctx_list(c, "/opt/conda/envs", NULL);
	if (envs->n == 1)
		only = assay_printf(c->a, "/envs/%s", envs->p[0].name);
	const char *const places[] = {"/opt/venv", assay_printf(c->a, "/opt/conda%s", only),
				      "/opt/conda"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(places); i++) {
		const char *exe = join(c, places[i], "bin/python3");
		if (assay_root_is_file(&c->root, exe) && use_exe(c, exe))
			return true;
	}
	return false;
}

/* A path given on the command line is the user's: relative to where he stands on the host. */
static const char *given_path(assay_ctx *c, const char *path)
{
	char here[4096];
	if (*path == '/' || !c->root.host || !getcwd(here, sizeof here))
		return *path == '/' ? path : join(c, "", path);
	return assay_printf(c->a, "%s/%s", here, path);
}

static bool find_interpreter(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	const char *venv = assay_ctx_var(c, "VIRTUAL_ENV"),
		   *conda = assay_ctx_var(c, "CONDA_PREFIX");
	if (c->opts->python) {
		const char *at = given_path(c, c->opts->python);
		p->found_by = "--python";
		if (assay_root_is_dir(&c->root, at))
			at = join(c, at, "bin/python3");
		return assay_root_is_file(&c->root, at) && use_exe(c, at);
	}
	if (c->opts->pid && c->env->process.exe && strstr(c->env->process.exe, "python")) {
		const char *called = c->env->process.called;
		p->found_by = "--pid";
		if (venv && *venv == '/' && try_venv(c, venv))
			return true;
		return (called && assay_root_is_file(&c->root, called) && use_exe(c, called)) ||
		       use_exe(c, c->env->process.exe);
	}
	if (venv && *venv == '/' && try_venv(c, venv)) {
		p->found_by = "VIRTUAL_ENV";
		return true;
	}
	if (conda && *conda == '/' && assay_root_is_dir(&c->root, conda)) {
		p->found_by = "CONDA_PREFIX";
		use_conda(c, assay_dup(c->a, assay_str_of(conda)));
		return true;
	}
	p->found_by = "usual place";
	if (usual_place(c))
		return true;
	p->found_by = "PATH";
	return search_path(c);
}

static void add_site(assay_ctx *c, const char *path, const char *origin)
{
	assay_python *p = &c->env->python;
	if (!assay_root_is_dir(&c->root, path))
		return;
	const char *real = assay_root_real(&c->root, c->a, path);
	for (size_t i = 0; i < p->sites.n; i++) {
		const char *known = assay_root_real(&c->root, c->a, p->sites.p[i].path);
		if (known && real && !strcmp(known, real))
			return;
	}
	assay_site s = {.path = assay_dup(c->a, assay_str_of(path)), .origin = origin};
	*assay_push(&p->sites) = s;
}

/* .pth files add folders; lines that start with "import" are code and are not run. */
static void read_pth(assay_ctx *c, const char *site, const char *name)
{
	assay_str text;
	if (assay_root_read(&c->root, c->a, join(c, site, name), 1 << 20, &text) !=
	    ASSAY_CAUSE_NONE)
		return;
	while (text.n) {
		assay_str line = assay_str_trim(assay_str_cut(&text, '\n'));
		if (!line.n || *line.p == '#' || assay_str_starts(line, "import ") ||
		    assay_str_starts(line, "import\t"))
			continue;
		add_site(c,
			 *line.p == '/' ? assay_dup(c->a, line)
					: assay_printf(c->a, "%s/%.*s", site, (int)line.n, line.p),
			 "pth");
	}
}

static void add_site_and_pth(assay_ctx *c, const char *path, const char *origin)
{
	assay_python *p = &c->env->python;
	size_t before = p->sites.n;
	add_site(c, path, origin);
	if (p->sites.n == before)
		return;
	const char *site = p->sites.p[before].path;
	const assay_entries *names = assay_ctx_list(c, site, NULL);
	for (size_t i = 0; i < names->n; i++)
		if (assay_str_ends(assay_str_of(names->p[i].name), ".pth"))
			read_pth(c, site, names->p[i].name);
}

static void prefix_sites(assay_ctx *c, const char *prefix, const char *xy, const char *origin)
{
	static const char *const lib[] = {"lib", "lib64"};
	for (size_t i = 0; xy && i < ASSAY_COUNT_OF(lib); i++)
		add_site_and_pth(c,
				 assay_printf(c->a, "%s/%s/python%s/site-packages",
					      strcmp(prefix, "/") ? prefix : "", lib[i], xy),
				 origin);
}

/* Debian keeps the distribution's packages apart from what pip installs. */
static void debian_sites(assay_ctx *c, const char *xy)
{
	if (xy)
		add_site_and_pth(c, assay_printf(c->a, "/usr/local/lib/python%s/dist-packages", xy),
				 "system");
	add_site_and_pth(c, "/usr/lib/python3/dist-packages", "system");
	if (xy)
		add_site_and_pth(c, assay_printf(c->a, "/usr/lib/python%s/dist-packages", xy),
				 "system");
}

static void user_site(assay_ctx *c, const char *xy)
{
	const char *home = assay_ctx_var(c, "HOME"), *base = assay_ctx_var(c, "PYTHONUSERBASE");
	if (!xy || assay_ctx_var(c, "PYTHONNOUSERSITE"))
		return;
	if (base && *base == '/')
		add_site_and_pth(c, assay_printf(c->a, "%s/lib/python%s/site-packages", base, xy),
				 "user");
	else if (home && *home == '/')
		add_site_and_pth(
			c, assay_printf(c->a, "%s/.local/lib/python%s/site-packages", home, xy),
			"user");
}

static bool venv_sees_system(assay_ctx *c)
{
	assay_str cfg;
	const char *v = NULL;
	if (assay_root_read(&c->root, c->a, join(c, c->env->python.prefix, "pyvenv.cfg"), 1 << 20,
			    &cfg) == ASSAY_CAUSE_NONE)
		v = cfg_value(c->a, cfg, "include-system-site-packages");
	return v && assay_str_same(assay_str_of(v), ASSAY_S("true"));
}

static void all_sites(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	const char *list = assay_ctx_var(c, "PYTHONPATH");
	for (const char *const *s = (const char *const *)c->opts->sites; s && *s; s++)
		add_site_and_pth(c, given_path(c, *s), "option");
	if (c->env->process.site)
		add_site_and_pth(c, c->env->process.site, "process");
	assay_str rest = assay_str_of(list);
	while (list && rest.n) {
		assay_str dir = assay_str_cut(&rest, ':');
		if (dir.n && *dir.p == '/')
			add_site(c, assay_dup(c->a, dir), "PYTHONPATH");
	}
	if (!p->prefix)
		return;
	bool venv = p->venv_path != NULL, system = !venv || venv_sees_system(c);
	const char *base = venv ? p->base_prefix : p->prefix;
	if (venv)
		prefix_sites(c, p->prefix, p->xy, "venv");
	if (system)
		user_site(c, p->xy);
	if (!system || !base)
		return;
	if (!strcmp(base, "/usr") || !strcmp(base, "/"))
		debian_sites(c, p->xy);
	prefix_sites(c, base, p->xy, "system");
}

/* PY_VERSION of patchlevel.h, for interpreters that left no other trace of their patch level. */
static const char *version_from_header(assay_ctx *c, const char *prefix)
{
	assay_python *p = &c->env->python;
	const char *path = assay_printf(c->a, "%s/include/python%s/patchlevel.h", prefix, p->xy);
	assay_str text;
	if (assay_root_read(&c->root, c->a, path, 1 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	ptrdiff_t at = assay_str_find(text, "define PY_VERSION");
	if (at < 0)
		return NULL;
	assay_str line = {text.p + at, text.n - (size_t)at};
	line = assay_str_cut(&line, '\n');
	assay_str_cut(&line, '"');
	return assay_dup(c->a, assay_str_cut(&line, '"'));
}

/* conda-meta/python-3.11.9-hb806964_0_cpython.json */
static const char *version_from_conda(assay_ctx *c, const char *prefix)
{
	const assay_entries *names = assay_ctx_list(c, join(c, prefix, "conda-meta"), NULL);
	for (size_t i = 0; i < names->n; i++) {
		assay_str rest = assay_str_of(names->p[i].name);
		if (!assay_str_starts(rest, "python-"))
			continue;
		assay_str_cut(&rest, '-');
		if (assay_digits_first(rest))
			return assay_dup(c->a, assay_str_cut(&rest, '-'));
	}
	return NULL;
}

static const char *version_from_dpkg(assay_ctx *c)
{
	const assay_installed *p = assay_ctx_installed(
		c, assay_printf(c->a, "libpython%s-minimal", c->env->python.xy));
	return p ? assay_upstream_version(c->a, p->version) : NULL;
}

const char *assay_ctx_python_home(const assay_ctx *c)
{
	const assay_python *p = &c->env->python;
	return p->base_prefix ? p->base_prefix : p->prefix;
}

static void full_version(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	const char *base = assay_ctx_python_home(c);
	if (!p->xy && p->prefix)
		p->xy = xy_in_lib(c, p->prefix);
	if (!p->xy && base)
		p->xy = xy_in_lib(c, base);
	if (!p->xy || p->version)
		return;
	p->version = version_from_conda(c, base);
	if (!p->version)
		p->version = version_from_header(c, base);
	if (!p->version && !strcmp(base, "/usr"))
		p->version = version_from_dpkg(c);
	if (!p->version)
		p->version = p->xy;
}

/* PEP 503: runs of - _ . are one -, letters are small. */
static void normalise(char *s)
{
	char *out = s;
	for (char *p = s; *p; p++) {
		bool dash = *p == '-' || *p == '_' || *p == '.';
		if (dash && out > s && out[-1] == '-')
			continue;
		*out++ = dash ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
	}
	*out = 0;
}

static bool all_hex(assay_str s)
{
	return assay_str_is_hex(s, 7, 40);
}

/* A commit in a version: +g<sha>, .git<sha>, +git<sha>, a bare hex local part; +d20240131 is a
 * date. */
static const char *commit_in(assay_arena *a, const char *version)
{
	assay_str rest = assay_str_of(version);
	assay_str_cut(&rest, '+');
	while (rest.n) {
		assay_str part = assay_str_cut(&rest, '.');
		if (assay_str_starts(part, "git"))
			part = (assay_str){part.p + 3, part.n - 3};
		else if (part.n && *part.p == 'g')
			part = (assay_str){part.p + 1, part.n - 1};
		else if (part.n == 9 && *part.p == 'd')
			continue;
		if (all_hex(part))
			return assay_dup(a, part);
	}
	return NULL;
}

/* "Key: value" in the head of METADATA or PKG-INFO. */
static const char *metadata_value(assay_ctx *c, const char *path, const char *key)
{
	assay_str text;
	if (assay_root_read(&c->root, c->a, path, 16 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	size_t n = strlen(key);
	while (text.n) {
		assay_str line = assay_str_trim(assay_str_cut(&text, '\n'));
		if (!line.n)
			break;
		if (assay_str_starts(line, key))
			return assay_dup(c->a, assay_str_trim((assay_str){line.p + n, line.n - n}));
	}
	return NULL;
}

static void push_package(assay_ctx *c, const assay_site *site, assay_str name, const char *version,
			 const char *info)
{
	char *n = assay_dup(c->a, name);
	normalise(n);
	assay_package p = {.name = n, .version = version, .site = site->path, .info = info};
	p.commit = commit_in(c->a, version);
	*assay_push(&c->env->packages) = p;
}

/* name-version.dist-info; a folder without METADATA is what an uninstall left behind. */
static void add_wheel(assay_ctx *c, const assay_site *site, const char *info)
{
	assay_str rest = {info, strlen(info) - strlen(".dist-info")};
	assay_str name = assay_str_cut(&rest, '-');
	const char *dir = join(c, site->path, info);
	if (name.n && *name.p != '~' && rest.n &&
	    assay_root_is_file(&c->root, join(c, dir, "METADATA")))
		push_package(c, site, name, assay_dup(c->a, rest), dir);
}

/* An egg says its name and version in PKG-INFO: a folder's, or the file itself. */
static void add_egg(assay_ctx *c, const assay_site *site, const char *info)
{
	const char *file = assay_root_is_dir(&c->root, info) ? join(c, info, "PKG-INFO") : info;
	const char *name = metadata_value(c, file, "Name:");
	const char *version = metadata_value(c, file, "Version:");
	if (name && version)
		push_package(c, site, assay_str_of(name), version, info);
}

/* The first line of name.egg-link is the folder whose name.egg-info describes it. */
static void add_egg_link(assay_ctx *c, const assay_site *site, const char *link)
{
	char *text = assay_ctx_text(c, join(c, site->path, link));
	assay_str rest = assay_str_of(text);
	assay_str dir = assay_str_trim(assay_str_cut(&rest, '\n'));
	if (!text || !dir.n || *dir.p != '/')
		return;
	const char *folder = assay_dup(c->a, dir);
	const assay_entries *names = assay_ctx_list(c, folder, NULL);
	for (size_t i = 0; i < names->n; i++)
		if (assay_str_ends(assay_str_of(names->p[i].name), ".egg-info"))
			add_egg(c, site, join(c, folder, names->p[i].name));
}

static void add_package(assay_ctx *c, const assay_site *site, const char *name)
{
	assay_str s = assay_str_of(name);
	if (assay_str_ends(s, ".dist-info"))
		add_wheel(c, site, name);
	else if (assay_str_ends(s, ".egg-info"))
		add_egg(c, site, join(c, site->path, name));
	else if (assay_str_ends(s, ".egg-link"))
		add_egg_link(c, site, name);
	else if (assay_str_ends(s, ".egg"))
		add_egg(c, site, join(c, join(c, site->path, name), "EGG-INFO"));
}

static void all_packages(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	for (size_t i = 0; i < p->sites.n; i++) {
		assay_cause cause;
		const assay_entries *names = assay_ctx_list(c, p->sites.p[i].path, &cause);
		if (cause != ASSAY_CAUSE_NONE)
			assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "python_version.site: %s %s",
					 p->sites.p[i].path, assay_cause_text(cause));
		for (size_t k = 0; k < names->n; k++)
			add_package(c, &p->sites.p[i], names->p[k].name);
	}
}

/* "https://user:token@host/x?key=1" without what a URL may hide. */
static const char *public_url(assay_arena *a, assay_str url)
{
	size_t n = strcspn(url.p, "?#");
	url.n = url.n < n ? url.n : n;
	char *text = assay_dup(a, url);
	text[assay_hide_secrets(text, url.n)] = 0;
	/* with a login or without, it is the same place */
	char *login = strstr(text, "://***@");
	if (login)
		memmove(login + 3, login + 7, strlen(login + 7) + 1);
	return text;
}

bool assay_direct_url_parse(assay_arena *a, assay_str json, assay_direct_url *from)
{
	assay_json j = assay_json_on(json.p, json.n);
	assay_str key, sub;
	*from = (assay_direct_url){0};
	if (!assay_json_enter(&j, '{'))
		return false;
	while (assay_json_member(&j, &key)) {
		if (assay_str_is(key, "url") && assay_json_peek(&j) == '"') {
			assay_json_text(&j, &from->url);
		} else if (assay_json_peek(&j) == '{' && assay_json_enter(&j, '{')) {
			while (assay_json_member(&j, &sub)) {
				char first = assay_json_peek(&j);
				from->editable |= assay_str_is(sub, "editable") && first == 't';
				if (assay_str_is(sub, "commit_id") && first == '"')
					assay_json_text(&j, &from->commit);
				else
					assay_json_skip(&j, NULL);
			}
		} else {
			assay_json_skip(&j, NULL);
		}
	}
	if (!assay_json_ok(&j) || !from->url.n)
		return false;
	from->url = assay_str_of(assay_dup(a, assay_json_unescape(a, from->url)));
	return true;
}

bool assay_ctx_direct_url(assay_ctx *c, const assay_package *p, assay_direct_url *from)
{
	assay_str text;
	return assay_root_read(&c->root, c->a, join(c, p->info, "direct_url.json"), 1 << 20,
			       &text) == ASSAY_CAUSE_NONE &&
	       assay_direct_url_parse(c->a, text, from);
}

static void package_sources(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->packages.n; i++) {
		const assay_package *p = &c->env->packages.p[i];
		assay_direct_url from;
		if (!assay_str_ends(assay_str_of(p->info), ".dist-info") ||
		    !assay_ctx_direct_url(c, p, &from))
			continue;
		assay_ctx_pair(c, &c->env->package_sources, p->name,
			       assay_printf(c->a, "%s%s%s%.*s", from.editable ? "editable " : "",
					    public_url(c->a, from.url), from.commit.n ? "@" : "",
					    (int)from.commit.n,
					    from.commit.n ? from.commit.p : ""));
	}
}

/* conda-meta/NAME-VERSION-BUILD.json; names hold dashes themselves. */
static void conda_packages(assay_ctx *c)
{
	const char *prefix = assay_ctx_python_home(c);
	const assay_entries *names =
		prefix ? assay_ctx_list(c, join(c, prefix, "conda-meta"), NULL) : NULL;
	for (size_t i = 0; names && i < names->n; i++) {
		assay_str s = assay_str_of(names->p[i].name);
		if (!assay_str_ends(s, ".json"))
			continue;
		char *text = assay_dup(c->a, (assay_str){s.p, s.n - 5});
		char *build = strrchr(text, '-'), *version;
		if (!build)
			continue;
		*build = 0;
		if (!(version = strrchr(text, '-')))
			continue;
		*version = 0;
		assay_ctx_pair(c, &c->env->conda, text,
			       assay_printf(c->a, "%s %s", version + 1, build + 1));
	}
}

const assay_package *assay_ctx_package(const assay_ctx *c, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < c->env->packages.n; i++)
			if (!strcmp(c->env->packages.p[i].name, *names))
				return &c->env->packages.p[i];
	return NULL;
}

static void run(assay_ctx *c)
{
	assay_python *p = &c->env->python;
	p->env_kind = "system";
	if (!find_interpreter(c))
		assay_ctx_reason(
			c, ASSAY_LEVEL_MISSING,
			"python_version: no python3 on PATH, in VIRTUAL_ENV or in CONDA_PREFIX (--python names one)");
	full_version(c);
	all_sites(c);
	all_packages(c);
	package_sources(c);
	conda_packages(c);
}

const assay_probe assay_probe_python = {.name = "python", .run = run};

TEST(venv_settings_are_read)
{
	assay_arena a = {0};
	assay_str cfg = ASSAY_S("home = /usr/bin\n"
				"uv = 0.5\n"
				"Include-System-Site-Packages=True\n"
				"version_info = 3.12.3.final.0");
	CHECK(!strcmp(cfg_value(&a, cfg, "home"), "/usr/bin"));
	CHECK(!strcmp(cfg_value(&a, cfg, "include-system-site-packages"), "True"));
	CHECK(!strcmp(three_parts(&a, cfg_value(&a, cfg, "version_info")), "3.12.3"));
	CHECK(!cfg_value(&a, cfg, "version") && !strcmp(xy_of_version(&a, "3.12.3"), "3.12"));
	assay_arena_free(&a);
	return 0;
}

TEST(commits_hide_in_versions)
{
	assay_arena a = {0};
	CHECK(!strcmp(commit_in(&a, "3.6.0+git8b3c4f1"), "8b3c4f1"));
	CHECK(!strcmp(commit_in(&a, "0.1.5.dev3+gabcdef0.d20250102"), "abcdef0"));
	CHECK(!strcmp(commit_in(&a, "2.5.0a0+70d99e998b"), "70d99e998b"));
	CHECK(!commit_in(&a, "1.0+d20250102") && !commit_in(&a, "2.11.0+cu130") &&
	      !commit_in(&a, "1.2"));
	assay_arena_free(&a);
	return 0;
}

TEST(urls_lose_their_credentials)
{
	assay_arena a = {0};
	CHECK(!strcmp(public_url(&a, ASSAY_S("https://me:tok@h.org/x.git?k=1")),
		      "https://h.org/x.git"));
	CHECK(!strcmp(public_url(&a, ASSAY_S("file:///src/a@b")), "file:///src/a@b"));
	assay_arena_free(&a);
	return 0;
}

TEST(package_names_are_normalised)
{
	char name[] = "NVIDIA_cuda.-runtime";
	normalise(name);
	CHECK(!strcmp(name, "nvidia-cuda-runtime"));
	return 0;
}
