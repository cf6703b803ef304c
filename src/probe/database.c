/* Every file of a kernel database is identified by size and digest. The digests are folded into one
 * for the snapshot; the whole list is the catalog beside it. */
#include "probe/database.h"

#include <dirent.h>
#include <stdio.h>

#include "base/sort.h"
#include "base/test.h"
#include "names/vendors.h"

enum { QUICK_BYTES = 64 << 20, TREE_FROM = 64 << 20, ARCH_MAX = 64 };

/* hipBLASLt sorts its files by GPU, aiter below that by operator and shape. */
enum { DEPTH_BY_GPU = 1, DEPTH_BY_SHAPE = 4 };

/* Everything that is kernel data, not only what the schema's fingerprint looks at. */
static const char *const kernel_data[] = {".yaml", ".dat", ".co",    ".hsaco", ".txt",
					  ".kdb",  ".db",  ".model", ".csv",   NULL};

static bool has_suffix(const char *name, const char *const *suffix)
{
	for (; *suffix; suffix++)
		if (assay_str_ends(assay_str_of(name), *suffix))
			return true;
	return false;
}

assay_cause assay_database_members(assay_ctx *c, const char *dir, const char *const *suffix,
				   assay_member_names *out)
{
	assay_cause cause;
	const assay_entries *names = assay_ctx_list(c, dir, &cause);
	for (size_t i = 0; i < names->n; i++) {
		const char *n = names->p[i].name;
		bool link = names->p[i].type == DT_LNK;
		if ((names->p[i].type == DT_REG ||
		     (link && assay_root_is_file(&c->root, assay_printf(c->a, "%s/%s", dir, n)))) &&
		    has_suffix(n, suffix))
			*assay_push(out) = n;
		if (names->p[i].type != DT_DIR || strncmp(n, "gfx", 3))
			continue;
		const assay_entries *sub =
			assay_ctx_list(c, assay_printf(c->a, "%s/%s", dir, n), NULL);
		for (size_t k = 0; k < sub->n; k++)
			if (sub->p[k].type == DT_REG && has_suffix(sub->p[k].name, suffix))
				*assay_push(out) = assay_printf(c->a, "%s/%s", n, sub->p[k].name);
	}
	assay_sort_texts(out->p, out->n);
	return cause;
}

const char *assay_database_names_hash(assay_ctx *c, const assay_member_names *names)
{
	assay_vec(char) text = {0};
	char hex[65];
	if (!names->n)
		return NULL;
	for (size_t i = 0; i < names->n; i++) {
		size_t n = strlen(names->p[i]);
		assay_vec_reserve(&text, text.n + n + 1);
		memcpy(text.p + text.n, names->p[i], n);
		text.n += n;
		if (i + 1 < names->n)
			text.p[text.n++] = '\n';
	}
	assay_sha256_hex(text.p, text.n, hex);
	assay_vec_free(&text);
	return assay_printf(c->a, "filenames-sha256:%s", hex);
}

bool assay_database_has_arch(const assay_kdb *k, const char *arch)
{
	for (size_t i = 0; i < k->n_arch; i++)
		if (!strcmp(k->arch[i], arch))
			return true;
	return false;
}

static void note_archs(assay_ctx *c, assay_kdb *k, const char *name)
{
	assay_str rest = assay_str_of(name);
	for (assay_str gfx; (gfx = assay_gfx_in(&rest)).n && k->n_arch < ARCH_MAX;) {
		char *arch = assay_dup(c->a, gfx);
		if (assay_database_has_arch(k, arch))
			continue;
		if (!k->arch)
			k->arch = assay_alloc(c->a, ARCH_MAX * sizeof *k->arch);
		k->arch[k->n_arch++] = arch;
	}
}

/* Names below dir, as they are written in the catalog. */
static void walk(assay_ctx *c, const char *dir, const char *below, int depth,
		 assay_member_names *out)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	for (size_t i = 0; i < names->n; i++) {
		const char *n = names->p[i].name, *path = assay_printf(c->a, "%s/%s", dir, n);
		bool link = names->p[i].type == DT_LNK && assay_root_is_file(&c->root, path);
		if ((names->p[i].type == DT_REG || link) && has_suffix(n, kernel_data))
			*assay_push(out) = assay_printf(c->a, "%s%s", below, n);
		else if (names->p[i].type == DT_DIR && depth)
			walk(c, path, assay_printf(c->a, "%s%s/", below, n), depth - 1, out);
	}
}

static void add_member(assay_ctx *c, assay_kdb *k, const char *name)
{
	const char *path = assay_printf(c->a, "%s/%s", k->path, name);
	assay_kdb_file m = {.name = name, .file = assay_ctx_file(c, path, false)};
	note_archs(c, k, name);
	if (m.file) {
		k->bytes += m.file->size;
		m.file->tree = m.file->size > TREE_FROM;
	}
	*assay_push(&k->members) = m;
}

/* A recording starts at once: it takes what is remembered and reads only what is small. */
static void want_digests(assay_ctx *c, const assay_kdb *k)
{
	for (size_t i = 0; i < k->members.n; i++) {
		assay_file *f = k->members.p[i].file;
		if (!f)
			continue;
		f->want_hash = !c->opts->no_hash;
		f->only_remembered = c->opts->quick && k->bytes > QUICK_BYTES;
	}
}

static size_t add(assay_ctx *c, const char *library, const char *dir, const char *hash, int depth)
{
	assay_member_names names = {0};
	assay_kdb k = {.library = library, .path = dir, .names_hash = hash};
	walk(c, dir, "", depth, &names);
	assay_sort_texts(names.p, names.n);
	for (size_t i = 0; i < names.n; i++)
		add_member(c, &k, names.p[i]);
	assay_sort_texts(k.arch, k.n_arch);
	want_digests(c, &k);
	assay_vec_free(&names);
	*assay_push(&c->env->kdbs) = k;
	return c->env->kdbs.n - 1;
}

size_t assay_database_add(assay_ctx *c, const char *library, const char *dir, const char *hash)
{
	return add(c, library, dir, hash, DEPTH_BY_GPU);
}

const char *assay_kdb_digest(assay_arena *a, const assay_kdb_file *m)
{
	const assay_file *f = m->file;
	return f && f->hashed
		       ? assay_printf(a, "%s:%s", f->tree ? "sha256-16m" : "sha256", f->sha256)
		       : NULL;
}

/* The digest of "name digest" lines; none unless every file could be read. */
static void finish_one(assay_ctx *c, assay_kdb *k)
{
	assay_vec(char) text = {0};
	size_t unread = 0, waiting = 0;
	for (size_t i = 0; i < k->members.n; i++) {
		const assay_kdb_file *m = &k->members.p[i];
		if (!m->file || !m->file->hashed) {
			unread++;
			waiting += m->file && m->file->only_remembered;
			continue;
		}
		const char *line = assay_printf(c->a, "%s %s\n", m->name, m->file->sha256);
		size_t n = strlen(line);
		assay_vec_reserve(&text, text.n + n);
		memcpy(text.p + text.n, line, n);
		text.n += n;
	}
	if (text.n && !unread)
		assay_sha256_hex(text.p, text.n, k->content);
	else if (waiting && waiting == unread)
		assay_ctx_reason(
			c, ASSAY_LEVEL_EXPECTED,
			"%s.content: %zu of %zu files, %llu MB in %s not read while a program waits (assay env does)",
			k->library, unread, k->members.n, (unsigned long long)(k->bytes >> 20),
			k->path);
	else if (unread && !c->opts->no_hash)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "%s.content: %zu of %zu files of %s could not be read", k->library,
				 unread, k->members.n, k->path);
	assay_vec_free(&text);
}

static void finish(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->kdbs.n; i++)
		finish_one(c, &c->env->kdbs.p[i]);
}

/* Databases of which the schema has no block: under a lib folder of ROCm, or in a package. */
static const struct {
	const char *library, *below;
} in_rocm[] = {{"rocfft", "rocfft"}, {"hipsparselt", "hipsparselt/library"}};

static const struct {
	const char *library, *package;
} in_python[] = {{"aiter", "aiter_meta/hsa"}, {"aiter", "aiter/hsa"}};

static bool known(const assay_ctx *c, const char *library)
{
	for (size_t i = 0; i < c->env->kdbs.n; i++)
		if (!strcmp(c->env->kdbs.p[i].library, library))
			return true;
	return false;
}

static void look_in(assay_ctx *c, const char *library, const char *top, const char *below)
{
	const char *dir = assay_printf(c->a, "%s/%s", top, below);
	if (!known(c, library) && assay_root_is_dir(&c->root, dir))
		add(c, library, dir, NULL, DEPTH_BY_SHAPE);
}

static void run(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->roots.n; i++) {
		const assay_rocm_root *r = &c->env->roots.p[i];
		for (size_t d = 0; r->chosen && d < r->n_lib_dirs; d++)
			for (size_t k = 0; k < ASSAY_COUNT_OF(in_rocm); k++)
				look_in(c, in_rocm[k].library, r->lib_dir[d], in_rocm[k].below);
	}
	for (size_t i = 0; c->env->aiter_version && i < c->env->python.sites.n; i++)
		for (size_t k = 0; k < ASSAY_COUNT_OF(in_python); k++)
			look_in(c, in_python[k].library, c->env->python.sites.p[i].path,
				in_python[k].package);
}

const assay_probe assay_probe_database = {.name = "databases", .run = run, .finish = finish};

TEST(names_tell_the_gpus_a_database_serves)
{
	assay_arena a = {0};
	assay_ctx c = {.a = &a};
	assay_kdb k = {0};
	note_archs(&c, &k, "Kernels.so-000-gfx90a-xnack+.hsaco");
	note_archs(&c, &k, "gfx942/TensileLibrary_gfx942.dat");
	CHECK(k.n_arch == 2 && assay_database_has_arch(&k, "gfx90a") &&
	      assay_database_has_arch(&k, "gfx942") && !assay_database_has_arch(&k, "gfx1100"));
	assay_arena_free(&a);
	return 0;
}
