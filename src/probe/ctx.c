/* What probes share: variables, reasons, listings, identified files. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "base/version.h"
#include "probe/elf.h"
#include "probe/probe.h"
#include "probe/file_bytes.h"
#include "wire/clock.h"

static const uint32_t UNREADABLE_FILE = UINT32_MAX - 1; /* seen, and could not be read */

const char *assay_ctx_var(const assay_ctx *c, const char *name)
{
	size_t n = strlen(name);
	for (char **v = c->vars; v && *v; v++)
		if (!strncmp(*v, name, n) && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

static char *format(assay_arena *a, const char *fmt, va_list ap)
{
	char buf[2048];
	vsnprintf(buf, sizeof buf, fmt, ap);
	return assay_dup(a, assay_str_of(buf));
}

void assay_ctx_reason(assay_ctx *c, assay_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	assay_reason r = {level, format(c->a, fmt, ap)};
	va_end(ap);
	*assay_push(&c->env->reasons) = r;
}

void assay_ctx_finding(assay_ctx *c, const char *code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	assay_finding f = {code, format(c->a, fmt, ap)};
	va_end(ap);
	*assay_push(&c->env->findings) = f;
}

void assay_ctx_pair(assay_ctx *c, assay_pairs *to, const char *key, const char *value)
{
	assay_pair p = {assay_dup(c->a, assay_str_of(key)),
			value ? assay_dup(c->a, assay_str_of(value)) : NULL};
	*assay_push(to) = p;
}

const assay_entries *assay_ctx_list(assay_ctx *c, const char *path, assay_cause *cause)
{
	for (size_t i = 0; i < c->dirs.n; i++)
		if (!strcmp(c->dirs.p[i]->path, path)) {
			if (cause)
				*cause = c->dirs.p[i]->cause;
			return &c->dirs.p[i]->names;
		}
	assay_dir_seen *d = assay_alloc(c->a, sizeof *d);
	d->path = assay_dup(c->a, assay_str_of(path));
	d->cause = assay_root_list(&c->root, c->a, path, &d->names);
	if (cause)
		*cause = d->cause;
	*assay_push(&c->dirs) = d;
	return &d->names;
}

char *assay_ctx_text(assay_ctx *c, const char *path)
{
	char *text;
	assay_root_text(&c->root, c->a, path, &text);
	return text;
}

static char *hex_of(assay_arena *a, assay_str bytes)
{
	char *out = assay_alloc(a, bytes.n * 2 + 1);
	for (size_t i = 0; i < bytes.n; i++)
		snprintf(out + 2 * i, 3, "%02x", (unsigned char)bytes.p[i]);
	return out;
}

static const char *dup_or_null(assay_arena *a, assay_str s)
{
	return s.n ? assay_dup(a, s) : NULL;
}

static void describe_elf(assay_ctx *c, assay_file *f, const assay_elf *e)
{
	f->elf = true;
	f->soname = dup_or_null(c->a, e->soname);
	f->rpath = dup_or_null(c->a, e->rpath);
	f->runpath = dup_or_null(c->a, e->runpath);
	if (e->build_id.n && e->build_id.n <= 64)
		f->build_id = hex_of(c->a, e->build_id);
	f->needed = assay_alloc(c->a, (e->n_needed + 1) * sizeof *f->needed);
	for (size_t i = 0; i < e->n_needed; i++)
		f->needed[f->n_needed++] = assay_dup(c->a, e->needed[i]);
	if (e->needed_lost)
		assay_ctx_reason(
			c, ASSAY_LEVEL_ERROR,
			"assay.loader: %s needs %zu libraries, %zu of them are not followed",
			f->path, e->n_needed + e->needed_lost, e->needed_lost);
}

/* Linker scripts start with a comment of GNU ld or with one of their commands. */
static bool is_ld_script(assay_file_bytes *m)
{
	static const char *const starts[] = {"/* GNU ld script", "INPUT", "GROUP", "OUTPUT_FORMAT"};
	assay_file_bytes_need(m, 0, 64);
	assay_str s = assay_str_trim((assay_str){(const char *)m->p, m->n < 64 ? m->n : 64});
	return assay_str_starts_any(s, starts, ASSAY_COUNT_OF(starts));
}

/* Slot of the file in the by-identity map; a database may hold a million files. */
static uint32_t *file_slot(assay_ctx *c, const struct stat *st)
{
	uint64_t id[2] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino};
	return assay_map_at(&c->file_at, assay_hash(id, sizeof id, 0));
}

assay_file *assay_ctx_file(assay_ctx *c, const char *path, bool want_hash)
{
	assay_file_bytes m;
	assay_elf e;
	struct stat st;
	assay_file *f;
	if (!assay_root_stat(&c->root, path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	uint32_t *slot = file_slot(c, &st);
	if (*slot != ASSAY_MAP_ABSENT) {
		f = *slot == UNREADABLE_FILE ? NULL : c->env->files.p[*slot];
		if (f)
			f->want_hash |= want_hash;
		return f;
	}
	*slot = UNREADABLE_FILE;
	assay_cause cause = assay_file_bytes_open(&m, &c->root, path);
	if (cause != ASSAY_CAUSE_NONE && cause != ASSAY_CAUSE_EMPTY)
		return NULL;
	f = assay_alloc(c->a, sizeof *f);
	f->path = assay_root_real(&c->root, c->a, path);
	if (!f->path)
		f->path = assay_dup(c->a, assay_str_of(path));
	f->dev = m.st.st_dev;
	f->ino = m.st.st_ino;
	f->size = (uint64_t)m.st.st_size;
	f->mtime_ns = assay_timespec_ns(m.st.st_mtim);
	f->ctime_ns = assay_timespec_ns(m.st.st_ctim);
	f->want_hash = want_hash;
	f->ld_script = m.n && is_ld_script(&m);
	if (m.n && assay_elf_open(&e, &m, NULL))
		describe_elf(c, f, &e);
	if (m.shrunk)
		f->cause = ASSAY_CAUSE_CHANGED;
	assay_file_bytes_close(&m);
	*slot = (uint32_t)c->env->files.n;
	*assay_push(&c->env->files) = f;
	return f;
}

static bool numeric_suffix(const char *s)
{
	for (; *s; s++)
		if ((*s < '0' || *s > '9') && *s != '.')
			return false;
	return true;
}

/* Highest numeric suffix first, then the others in reverse byte order. */
static bool better(const char *a, const char *b)
{
	bool na = numeric_suffix(a), nb = numeric_suffix(b);
	if (na != nb)
		return na;
	return na ? assay_version_cmp(assay_str_of(a), assay_str_of(b)) > 0 : strcmp(a, b) > 0;
}

/* The best name of stem.* below `limit` in that order; NULL at the end. Suffix only. */
static const char *next_best(const assay_entries *names, const char *stem, const char *limit)
{
	const char *best = NULL;
	size_t n = strlen(stem);
	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->p[i].name;
		if (strncmp(name, stem, n) || name[n] != '.' || !name[n + 1])
			continue;
		const char *suffix = name + n + 1;
		if ((!limit || better(limit, suffix)) && (!best || better(suffix, best)))
			best = suffix;
	}
	return best;
}

assay_file *assay_ctx_pick(assay_ctx *c, const char *dir, const char *stem)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	if (!names->n)
		return NULL;
	assay_file *f = assay_ctx_file(c, assay_printf(c->a, "%s/%s", dir, stem), false);
	if (f && f->ld_script)
		f = NULL;
	for (const char *s = NULL; !f && (s = next_best(names, stem, s));) {
		f = assay_ctx_file(c, assay_printf(c->a, "%s/%s.%s", dir, stem, s), false);
		if (f && f->ld_script)
			f = NULL;
	}
	if (f)
		f->want_hash = true;
	return f;
}

/* Libraries of ROCm's own version scheme. HIP's (amdhip64, hiprtc, hiprtc-builtins) and comgr's
 * third part is a build number. */
static bool names_release(const char *path)
{
	static const char *const stems[] = {
		"librocblas.",         "librocsolver.",   "librocsparse.",
		"librocfft.",          "librocrand.",     "librocalution.",
		"libhipblas.",         "libhipblaslt.",   "libhipsolver.",
		"libhipsparse.",       "libhipsparselt.", "libhipfft.",
		"libhiprand.",         "libMIOpen.",      "librccl.",
		"libhsa-runtime64.",   "libhiptensor.",   "libmigraphx.",
		"librocprofiler-sdk.", "librocm-core.",   "libamd_smi.",
		"librocm_smi64."};
	const char *name = assay_file_name(path);
	for (size_t i = 0; i < ASSAY_COUNT_OF(stems); i++)
		if (!strncmp(name, stems[i], strlen(stems[i])))
			return true;
	return false;
}

void assay_lib_version(assay_arena *a, const char *path, const char **version, const char **release)
{
	*version = *release = NULL;
	const char *so = strstr(path, ".so.");
	for (const char *next; so && (next = strstr(so + 1, ".so."));)
		so = next;
	if (!so || !numeric_suffix(so + 4) || !strchr(so + 4, '.'))
		return;
	*version = assay_dup(a, assay_str_of(so + 4));
	/* ROCm writes its release as the third part: major * 10000 + minor * 100 + patch */
	const char *dot = strrchr(*version, '.');
	long code = strtol(dot + 1, NULL, 10);
	long major = code / 10000;
	if (!names_release(path) || strchr(*version, '.') == dot || major < 3 || major > 30)
		return;
	*release = assay_printf(a, "%ld.%ld.%ld", major, code / 100 % 100, code % 100);
	*version = assay_dup(a, (assay_str){*version, (size_t)(dot - *version)});
}

TEST(library_names_carry_version_and_release)
{
	static const struct {
		const char *path, *version, *release;
	} cases[] = {{"/opt/rocm/lib/librocblas.so.5.0.70002", "5.0", "7.0.2"},
		     {"/x/libamdhip64.so.5.2.21153", "5.2.21153", NULL},
		     {"/x/libhiprtc-builtins.so.5.7.31921", "5.7.31921", NULL},
		     {"/x/libamdhip64.so.6.4.43484", "6.4.43484", NULL},
		     {"/x/libcudnn.so.9.14.0", "9.14.0", NULL},
		     {"/x/libnccl.so.2", NULL, NULL},
		     {"/x/libfoo.so.5.1.bak", NULL, NULL},
		     {"/x/libfoo.so", NULL, NULL}};
	assay_arena a = {0};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		const char *v, *r;
		assay_lib_version(&a, cases[i].path, &v, &r);
		CHECK(cases[i].version ? v && !strcmp(v, cases[i].version) : !v);
		CHECK(cases[i].release ? r && !strcmp(r, cases[i].release) : !r);
	}
	assay_arena_free(&a);
	return 0;
}

TEST(numeric_suffixes_beat_others_and_compare_as_numbers)
{
	assay_entry list[] = {{"libx.so.5.10", DT_REG},    {"libx.so.5.9", DT_REG},
			      {"libx.so.5.9.bak", DT_REG}, {"libx.so", DT_REG},
			      {"libxy.so.9", DT_REG},      {"libx.so.z", DT_REG}};
	assay_entries names = {list, ASSAY_COUNT_OF(list)};
	const char *s = next_best(&names, "libx.so", NULL);
	CHECK(!strcmp(s, "5.10"));
	s = next_best(&names, "libx.so", s);
	CHECK(!strcmp(s, "5.9"));
	s = next_best(&names, "libx.so", s);
	CHECK(!strcmp(s, "z"));
	s = next_best(&names, "libx.so", s);
	CHECK(!strcmp(s, "5.9.bak") && !next_best(&names, "libx.so", s));
	return 0;
}
