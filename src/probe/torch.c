/* PyTorch without importing it: where it is, how it was built, how it was installed. */
#include <dirent.h>
#include <stdio.h>

#include "base/folders.h"
#include "base/json.h"
#include "base/test.h"
#include "base/version.h"
#include "probe/elf.h"
#include "probe/git.h"
#include "probe/probe.h"
#include "probe/file_bytes.h"

static const char *const submodules[] = {"composable_kernel", "aiter", "fbgemm"};

/* torch/version.py is generated: `name = literal` or `name: type = literal`. NULL for None. */
static bool py_value(assay_arena *a, assay_str text, const char *name, const char **out)
{
	*out = NULL;
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n');
		if (!assay_str_starts(line, name))
			continue;
		assay_str rest = {line.p + strlen(name), line.n - strlen(name)};
		if (!rest.n || (*rest.p != ' ' && *rest.p != ':' && *rest.p != '='))
			continue;
		ptrdiff_t eq = assay_str_find(rest, "=");
		if (eq < 0)
			continue;
		assay_str v = assay_str_trim((assay_str){rest.p + eq + 1, rest.n - (size_t)eq - 1});
		if (v.n >= 2 && (*v.p == '\'' || *v.p == '"')) {
			const char *end = memchr(v.p + 1, *v.p, v.n - 1);
			v = (assay_str){v.p + 1, end ? (size_t)(end - v.p - 1) : 0};
		}
		*out = assay_str_is(v, "None") ? NULL : assay_dup(a, v);
		return true;
	}
	return false;
}

static void read_version(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	const char *path = assay_printf(c->a, "%s/version.py", t->dir), *debug;
	assay_str text;
	assay_cause cause = assay_root_read(&c->root, c->a, path, 1 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE) {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "pytorch_version: %s %s", path,
				 assay_cause_text(cause));
		return;
	}
	if (!py_value(c->a, text, "__version__", &t->version) || !t->version)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "pytorch_version: %s did not contain __version__", path);
	py_value(c->a, text, "git_version", &t->git);
	if (t->git && !strcmp(t->git, "Unknown"))
		t->git = NULL;
	py_value(c->a, text, "hip", &t->hip);
	py_value(c->a, text, "cuda", &t->cuda);
	if (py_value(c->a, text, "debug", &debug) && debug)
		t->debug = !strcmp(debug, "True") ? ASSAY_TRI_YES : ASSAY_TRI_NO;
}

/* Install through a finder: `MAPPING: dict[str, str] = {'torch': '/src/pytorch/torch'}`. */
static const char *dir_from_finder(assay_ctx *c, const char *site, const char *name)
{
	assay_str text;
	const char *path = assay_printf(c->a, "%s/%s", site, name);
	if (assay_root_read(&c->root, c->a, path, 4 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	ptrdiff_t at = assay_str_find(text, "'torch': '");
	if (at < 0)
		return NULL;
	assay_str rest = {text.p + at + 10, text.n - (size_t)at - 10};
	assay_str dir = assay_str_cut(&rest, '\'');
	return dir.n && *dir.p == '/' ? assay_dup(c->a, dir) : NULL;
}

static const char *torch_in_site(assay_ctx *c, const assay_site *site)
{
	char *dir = assay_printf(c->a, "%s/torch", site->path);
	if (assay_root_is_file(&c->root, assay_printf(c->a, "%s/__init__.py", dir)) ||
	    assay_root_is_file(&c->root, assay_printf(c->a, "%s/version.py", dir)))
		return dir;
	const assay_entries *names = assay_ctx_list(c, site->path, NULL);
	for (size_t i = 0; i < names->n; i++) {
		assay_str n = assay_str_of(names->p[i].name);
		if (!assay_str_starts(n, "__editable___torch") || !assay_str_ends(n, "_finder.py"))
			continue;
		const char *found = dir_from_finder(c, site->path, names->p[i].name);
		if (found && assay_root_is_dir(&c->root, found))
			return found;
	}
	return NULL;
}

static void find_torch(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	assay_python *p = &c->env->python;
	for (size_t i = 0; i < p->sites.n; i++) {
		const char *dir = torch_in_site(c, &p->sites.p[i]);
		if (dir && !t->dir) {
			t->dir = dir;
			t->site = p->sites.p[i].path;
		} else if (dir && strcmp(dir, t->dir)) {
			*assay_push(&t->shadowed) = dir;
			assay_ctx_finding(c, "torch-shadowed", "%s hides another torch in %s",
					  t->dir, dir);
		}
	}
}

static const assay_package *torch_package(const assay_ctx *c)
{
	static const char *const names[] = {"torch", NULL};
	return assay_ctx_package(c, names);
}

static char *percent_decode(assay_arena *a, assay_str s)
{
	char *out = assay_alloc(a, s.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned v;
		char two[3] = {0};
		if (s.p[i] == '%' && i + 2 < s.n) {
			memcpy(two, s.p + i + 1, 2);
			if (sscanf(two, "%2x", &v) == 1) {
				out[n++] = (char)v;
				i += 2;
				continue;
			}
		}
		out[n++] = s.p[i];
	}
	return out;
}

/* Where an editable package lies; NULL when it is not editable. */
static char *editable_source(assay_arena *a, const assay_direct_url *from)
{
	assay_str url = from->url;
	return from->editable && assay_str_starts(url, "file://")
		       ? percent_decode(a, (assay_str){url.p + 7, url.n - 7})
		       : NULL;
}

static bool has_third_party(assay_ctx *c, const char *dir)
{
	return assay_root_is_dir(&c->root, assay_printf(c->a, "%s/third_party", dir));
}

static const char *editable_dir(assay_ctx *c)
{
	const assay_package *p = torch_package(c);
	assay_direct_url from;
	if (!p || !assay_ctx_direct_url(c, p, &from))
		return NULL;
	const char *dir = editable_source(c->a, &from);
	return dir && *dir == '/' && has_third_party(c, dir) ? dir : NULL;
}

static const char *source_above(assay_ctx *c)
{
	const char *dir = assay_root_real(&c->root, c->a, c->env->torch.dir);
	for (int i = 0; dir && i < 2; i++) {
		dir = assay_folder_of(c->a, dir);
		if (assay_root_exists(&c->root, assay_printf(c->a, "%s/.git", dir)) &&
		    has_third_party(c, dir))
			return dir;
	}
	return NULL;
}

/* An override that is not what is installed would describe the wrong program. */
static void check_override(assay_ctx *c, const char *dir)
{
	assay_torch *t = &c->env->torch;
	t->source_head = assay_git_head(&c->root, c->a, dir);
	if (t->source_head && t->git && strcmp(t->source_head, t->git))
		assay_ctx_finding(
			c, "source-mismatch",
			"AORTA_PYTORCH_SRC is at %.10s but the installed torch was built from %.10s",
			t->source_head, t->git);
}

static const char *from_home(assay_ctx *c, const char *path)
{
	const char *home = assay_ctx_var(c, "HOME");
	return path && path[0] == '~' && (!path[1] || path[1] == '/') && home
		       ? assay_printf(c->a, "%s%s", home, path + 1)
		       : path;
}

static void install_kind(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	const char *given = from_home(c, assay_ctx_var(c, "AORTA_PYTORCH_SRC"));
	t->kind = "unknown";
	if (given && *given && has_third_party(c, given)) {
		t->kind = "source";
		t->source_path = given;
		check_override(c, given);
		return;
	}
	if (given && *given)
		assay_ctx_finding(
			c, "source-override-invalid",
			"AORTA_PYTORCH_SRC names %s, which has no third_party folder: not used",
			given);
	if (!t->dir)
		return;
	if ((t->source_path = editable_dir(c)))
		t->kind = "editable";
	else if ((t->source_path = source_above(c)))
		t->kind = "source";
	else
		t->kind = "wheel";
	if (t->source_path)
		t->source_head = assay_git_head(&c->root, c->a, t->source_path);
}

/* What is checked out; what is pinned where nothing is. */
static const char *submodule(assay_ctx *c, const char *name)
{
	assay_torch *t = &c->env->torch;
	const char *rel = assay_printf(c->a, "third_party/%s", name);
	const char *dir = assay_printf(c->a, "%s/%s", t->source_path, rel);
	const char *pinned = assay_git_link(&c->root, c->a, t->source_path, rel), *head = NULL;
	if (assay_root_exists(&c->root, assay_printf(c->a, "%s/.git", dir)))
		head = assay_git_head(&c->root, c->a, dir);
	if (head && pinned && strcmp(head, pinned))
		assay_ctx_finding(c, "submodule-moved",
				  "%s is at %.10s, not at %.10s as %s pins it", rel, head, pinned,
				  t->source_path);
	return head ? head : pinned;
}

static void submodule_commits(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	char missing[160] = "";
	for (size_t i = 0; t->source_path && i < ASSAY_COUNT_OF(submodules); i++) {
		t->sub[i] = submodule(c, submodules[i]);
		t->sub_from_git |= t->sub[i] != NULL;
		if (!t->sub[i]) {
			strcat(missing, *missing ? ", " : "");
			strcat(missing, submodules[i]);
		}
	}
	if (t->source_path && *missing)
		assay_ctx_reason(
			c, ASSAY_LEVEL_MISSING,
			"pytorch_build.submodule_commits: no gitlink for %s in the index of %s",
			missing, t->source_path);
	/* a wheel has no submodules: where to look them up is a hint, not a fault */
	if (!t->source_path)
		assay_ctx_reason(
			c, ASSAY_LEVEL_EXPECTED,
			"pytorch_build.submodule_commits: install kind is %s; see github.com/pytorch/pytorch/tree/%s/third_party/<name>, or set AORTA_PYTORCH_SRC",
			t->kind, t->git ? t->git : "<git_commit>");
}

/* What R"TAG(...)TAG" holds; text begins behind R". */
static assay_str raw_literal(assay_ctx *c, assay_str *text)
{
	assay_str tag = assay_str_cut(text, '(');
	const char *close = assay_printf(c->a, ")%.*s\"", (int)tag.n, tag.p);
	ptrdiff_t n = assay_str_find(*text, close);
	assay_str value = {text->p, n < 0 ? text->n : (size_t)n};
	*text = (assay_str){value.p + value.n, text->n - value.n};
	return value;
}

/* What "..." holds; text begins behind the first quote. */
static assay_str plain_literal(assay_ctx *c, assay_str *text)
{
	size_t n = 0;
	while (n < text->n && text->p[n] != '"')
		n += text->p[n] == '\\' && n + 1 < text->n ? 2 : 1;
	assay_str value = {text->p, n};
	*text = (assay_str){value.p + n, text->n - n};
	return assay_json_unescape(c->a, value);
}

/* {"KEY", "value"} or, in newer torches, {"KEY", R"PYT(value)PYT"}, of the macro
 * CAFFE2_BUILD_STRINGS. */
static void build_strings(assay_ctx *c, assay_str text)
{
	static const struct {
		const char *start;
		assay_str (*rest)(assay_ctx *, assay_str *);
	} literals[] = {{", \"", plain_literal}, {", R\"", raw_literal}};
	assay_torch *t = &c->env->torch;
	ptrdiff_t at = assay_str_find(text, "CAFFE2_BUILD_STRINGS");
	if (at < 0)
		return;
	text = (assay_str){text.p + at, text.n - (size_t)at};
	while ((at = assay_str_find(text, "{\"")) >= 0) {
		text = (assay_str){text.p + at + 2, text.n - (size_t)at - 2};
		assay_str key = assay_str_cut(&text, '"'), value = {0};
		for (size_t i = 0; i < ASSAY_COUNT_OF(literals); i++) {
			size_t n = strlen(literals[i].start);
			if (!assay_str_starts(text, literals[i].start))
				continue;
			text = (assay_str){text.p + n, text.n - n};
			value = literals[i].rest(c, &text);
			break;
		}
		if (!value.n)
			continue; /* show() leaves empty ones out too */
		assay_pair p = {assay_dup(c->a, key), assay_dup(c->a, value)};
		*assay_push(&t->settings) = p;
		if (assay_str_is(key, "CXX_FLAGS"))
			t->flags = p.value;
	}
}

/* The long literal survives in .rodata as one NUL-terminated text; short ones are folded away, so
 * the value is looked for, never the key, and an absent flag then means unknown. */
static const char *flags_in_library(assay_ctx *c, const char *path)
{
	assay_file_bytes m;
	assay_elf e;
	char *found = NULL;
	if (assay_file_bytes_open(&m, &c->root, path) != ASSAY_CAUSE_NONE)
		return NULL;
	assay_str ro = assay_elf_open(&e, &m, NULL) ? assay_elf_section(&e, ".rodata")
						    : (assay_str){"", 0};
	if (!ro.n)
		ro = assay_file_bytes_all(&m);
	ptrdiff_t at = assay_str_find(ro, " -fvisibility-inlines-hidden");
	if (at >= 0) {
		size_t from = (size_t)at, to = (size_t)at;
		while (from && ro.p[from - 1])
			from--;
		while (to < ro.n && ro.p[to])
			to++;
		assay_str text = {ro.p + from, to - from};
		int defines = 0;
		for (size_t i = 0; i + 3 < text.n; i++)
			defines += !memcmp(text.p + i, " -D", 3) || !memcmp(text.p + i, " -W", 3);
		found = defines >= 3 && text.n < (64 << 10) ? assay_dup(c->a, text) : NULL;
	}
	assay_file_bytes_close(&m);
	return found;
}

static void build_flags(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	const char *path = assay_printf(c->a, "%s/include/caffe2/core/macros.h", t->dir);
	assay_str text;
	if (assay_root_read(&c->root, c->a, path, 4 << 20, &text) == ASSAY_CAUSE_NONE) {
		build_strings(c, text);
		t->flags_source = t->flags ? "macros.h" : NULL;
	}
	if (!t->flags) {
		t->flags =
			flags_in_library(c, assay_printf(c->a, "%s/lib/libtorch_cpu.so", t->dir));
		t->flags_source = t->flags ? "libtorch_cpu.so" : NULL;
	}
}

/* -DNAME not followed by a letter, digit or underscore. */
static assay_tri has_flag(const assay_torch *t, const char *name)
{
	char want[64];
	if (!t->flags)
		return ASSAY_TRI_UNKNOWN;
	snprintf(want, sizeof want, "-D%s", name);
	size_t n = strlen(want);
	for (const char *p = t->flags; (p = strstr(p, want)); p += n) {
		char next = p[n];
		if (!assay_is_digit(next) && !assay_is_letter(next) && next != '_')
			return ASSAY_TRI_YES;
	}
	return !strcmp(t->flags_source, "macros.h") ? ASSAY_TRI_NO : ASSAY_TRI_UNKNOWN;
}

/* "sm_80 sm_90 compute_90" or "gfx90a gfx942": words of an architecture list and nothing else. */
static bool is_arch_list(assay_str s)
{
	static const char *const starts[] = {"sm_", "compute_", "gfx"};
	int words = 0;
	while (s.n) {
		assay_str w = assay_str_cut(&s, ' ');
		bool known = false;
		for (size_t i = 0; i < ASSAY_COUNT_OF(starts); i++)
			known |= assay_str_starts(w, starts[i]) && w.n > strlen(starts[i]) &&
				 w.n < 20;
		for (size_t i = 0; i < w.n; i++)
			known &= w.p[i] > ' ' && w.p[i] < 127;
		if (!known)
			return false;
		words++;
	}
	return words > 0;
}

static const char *arch_list_in(assay_ctx *c, const char *path)
{
	static const char *const marks[] = {"sm_", "gfx"};
	assay_file_bytes m;
	assay_elf e;
	const char *best = NULL;
	if (assay_file_bytes_open(&m, &c->root, path) != ASSAY_CAUSE_NONE)
		return NULL;
	assay_str ro = assay_elf_open(&e, &m, NULL) ? assay_elf_section(&e, ".rodata")
						    : (assay_str){"", 0};
	for (size_t k = 0; k < ASSAY_COUNT_OF(marks); k++) {
		const char *p = ro.p, *end = ro.p + ro.n;
		while (ro.n && (size_t)(end - p) > 3 &&
		       (p = memchr(p, marks[k][0], (size_t)(end - p) - 3))) {
			if (memcmp(p, marks[k], strlen(marks[k])) || (p > ro.p && p[-1])) {
				p++;
				continue;
			}
			const char *stop = memchr(p, 0, (size_t)(end - p));
			assay_str s = {p, stop ? (size_t)(stop - p) : 0};
			if (s.n < 4096 && is_arch_list(s) && (!best || s.n > strlen(best)))
				best = assay_dup(c->a, s);
			p += s.n ? s.n : 1;
		}
	}
	assay_file_bytes_close(&m);
	return best;
}

/* A version in the metadata that is another one than the code's: two installs over each other. */
static void check_metadata(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	const assay_package *p = torch_package(c);
	if (!p || !t->version)
		return;
	t->info_version = p->version;
	size_t n = strcspn(t->version, "+"), m = strcspn(p->version, "+");
	if (n != m || memcmp(t->version, p->version, n))
		assay_ctx_finding(c, "torch-metadata",
				  "torch/version.py says %s, its metadata in %s says %s",
				  t->version, p->site, p->version);
}

/* A GPU build has its GPU library whether or not version.py could be read. */
static void note_vendor(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	c->amd |= t->hip != NULL;
	c->nvidia |= t->cuda != NULL;
}

static void package_block(assay_ctx *c, const char *const *names, const char **to)
{
	const assay_package *p = assay_ctx_package(c, names);
	*to = p ? p->version : NULL;
}

static void packages(assay_ctx *c)
{
	static const char *const tensile[] = {"tensile", NULL}, *const triton[] = {
									"triton",
									"pytorch-triton-rocm",
									"pytorch-triton",
									"triton-rocm", NULL};
	static const char *const fbgemm[] = {"fbgemm-gpu", "fbgemm-gpu-rocm", "fbgemm-gpu-nightly",
					     "fbgemm-gpu-genai", NULL};
	static const char *const aiter[] = {"amd-aiter", "aiter", NULL};
	assay_env *e = c->env;
	package_block(c, tensile, &e->tensile_version);
	package_block(c, triton, &e->triton_version);
	package_block(c, fbgemm, &e->fbgemm_version);
	package_block(c, aiter, &e->aiter_version);
	if (!e->triton_version)
		assay_ctx_reason(c,
				 e->torch.hip || e->torch.cuda ? ASSAY_LEVEL_MISSING
							       : ASSAY_LEVEL_EXPECTED,
				 "triton.package_version: no triton in site-packages");
}

static void run(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	find_torch(c);
	if (t->dir) {
		read_version(c);
		build_flags(c);
		t->arch_list =
			t->hip || t->cuda
				? arch_list_in(c, assay_printf(c->a, "%s/lib/libtorch_python.so",
							       t->dir))
				: NULL;
		check_metadata(c);
		note_vendor(c);
	} else if (c->env->python.prefix || c->opts->sites) {
		static const char *const others[] = {"jax", "jaxlib", "tensorflow",
						     "tensorflow-rocm", NULL};
		assay_ctx_reason(c,
				 assay_ctx_package(c, others) ? ASSAY_LEVEL_EXPECTED
							      : ASSAY_LEVEL_MISSING,
				 "pytorch_version: no torch in site-packages of %s",
				 c->env->python.prefix ? c->env->python.prefix : "--site");
	} else {
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "pytorch_version: no interpreter, so no torch");
	}
	install_kind(c);
	submodule_commits(c);
	packages(c);
	c->env->use_fbgemm = has_flag(t, "USE_FBGEMM");
	c->env->use_fbgemm_genai = has_flag(t, "USE_FBGEMM_GENAI");
	c->env->ck.sdpa = has_flag(t, "USE_ROCM_CK_SDPA");
	c->env->ck.gemm = has_flag(t, "USE_ROCM_CK_GEMM");
	if (t->dir && !t->flags)
		assay_ctx_reason(
			c, t->hip ? ASSAY_LEVEL_MISSING : ASSAY_LEVEL_EXPECTED,
			"composable_kernel.pytorch_use_ck_sdpa: no build flags in %s/include or its library",
			t->dir);
}

const assay_probe assay_probe_torch = {.name = "pytorch_build", .run = run};

/* Symbols and bundled libraries of a ROCm build. */
static void count_symbols(assay_ctx *c)
{
	assay_torch *t = &c->env->torch;
	const char *path = assay_printf(c->a, "%s/lib/libtorch_hip.so", t->dir);
	assay_elf_mark marks[] = {
		{"2ck", 0}, {"7ck_tile", 0}, {"8aotriton", 0}, {"13pytorch_flash", 0}};
	assay_num *to[] = {&t->ck, &t->ck_tile, &t->aotriton_syms, &t->flash};
	assay_file_bytes m;
	assay_elf e;
	assay_err err = {0};
	assay_cause cause = assay_file_bytes_open(&m, &c->root, path);
	if (cause != ASSAY_CAUSE_NONE) {
		assay_ctx_reason(c, ASSAY_LEVEL_MISSING, "composable_kernel.pytorch_bundled: %s %s",
				 path, assay_cause_text(cause));
		return;
	}
	if (!assay_elf_open(&e, &m, &err) || !assay_elf_count(&e, marks, ASSAY_COUNT_OF(marks)))
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "composable_kernel.pytorch_bundled: %s: %s",
				 path, err.text[0] ? err.text : "no dynamic symbols");
	else
		for (size_t i = 0; i < ASSAY_COUNT_OF(marks); i++)
			*to[i] = (assay_num){true, (int64_t)marks[i].count};
	c->env->ck.bundled = t->ck.known && t->ck.v + t->ck_tile.v > 0;
	assay_file_bytes_close(&m);
}

static bool three_numbers(const char *s)
{
	int dots = 0;
	for (const char *p = s; *p; p++) {
		if (*p != '.' && (*p < '0' || *p > '9'))
			return false;
		dots += *p == '.';
	}
	return dots == 2 && *s != '.';
}

static void aotriton(assay_ctx *c)
{
	static const char stem[] = "libaotriton_v2.so";
	assay_env *e = c->env;
	const char *lib = assay_printf(c->a, "%s/lib", e->torch.dir), *best = NULL, *any = NULL;
	const assay_entries *names = assay_ctx_list(c, lib, NULL);
	e->aotriton.images =
		assay_root_is_dir(&c->root, assay_printf(c->a, "%s/aotriton.images", lib));
	for (size_t i = 0; i < names->n; i++) {
		const char *n = names->p[i].name;
		if (strncmp(n, stem, sizeof stem - 1) ||
		    (n[sizeof stem - 1] && n[sizeof stem - 1] != '.'))
			continue;
		any = any ? any : n;
		const char *v = n[sizeof stem - 1] ? n + sizeof stem : "";
		if (three_numbers(v) &&
		    (!best || assay_version_cmp(assay_str_of(v), assay_str_of(best)) > 0))
			best = v;
	}
	e->aotriton.present = any != NULL;
	e->aotriton.version = best;
	if (any)
		e->aotriton.lib =
			assay_ctx_file(c,
				       best ? assay_printf(c->a, "%s/%s.%s", lib, stem, best)
					    : assay_printf(c->a, "%s/%s", lib, any),
				       true);
	if (!any)
		assay_ctx_reason(c, ASSAY_LEVEL_MISSING, "aotriton.bundled_present: no %s in %s",
				 stem, lib);
	else if (!best)
		assay_ctx_reason(c, ASSAY_LEVEL_MISSING,
				 "aotriton.bundled_version: %s/%s has no version in its name", lib,
				 any);
}

static void run_ck(assay_ctx *c)
{
	const char *prefix = assay_ctx_var(c, "AOTRITON_INSTALLED_PREFIX");
	c->env->aotriton.prefix = prefix;
	if (!c->env->torch.dir || !c->env->torch.hip)
		return;
	count_symbols(c);
	aotriton(c);
}

const assay_probe assay_probe_ck = {.name = "torch_binary", .run = run_ck};

TEST(version_py_is_read_with_and_without_annotations)
{
	assay_arena a = {0};
	const char *v;
	assay_str t = ASSAY_S(
		"from typing import Optional\n__all__ = ['cuda']\n__version__ = '2.11.0+cu130'\n"
		"debug = False\ncuda: Optional[str] = \"13.0\"\nhip: Optional[str] = None\n");
	CHECK(py_value(&a, t, "__version__", &v) && !strcmp(v, "2.11.0+cu130"));
	CHECK(py_value(&a, t, "cuda", &v) && !strcmp(v, "13.0"));
	CHECK(py_value(&a, t, "hip", &v) && !v);
	CHECK(py_value(&a, t, "debug", &v) && !strcmp(v, "False"));
	CHECK(!py_value(&a, t, "git_version", &v) && !v);
	assay_arena_free(&a);
	return 0;
}

TEST(build_strings_come_from_macros_h)
{
	assay_env env = {0};
	assay_ctx c = {.env = &env, .a = &env.arena};
	build_strings(&c, ASSAY_S("#define CAFFE2_BUILD_STRINGS { \\\n"
				  "  {\"CXX_FLAGS\", \" -DUSE_FBGEMM_GENAI -O2\"}, \\\n"
				  "  {\"ROCM_VERSION\", \"\"}, \\\n"
				  " {\"BLAS_INFO\", \"mkl \\\"x\\\"\"}, \\\n"
				  "}\n"));
	CHECK_EQ(env.torch.settings.n, 2);
	CHECK(!strcmp(env.torch.settings.p[1].value, "mkl \"x\""));
	env.torch.flags_source = "macros.h";
	CHECK(has_flag(&env.torch, "USE_FBGEMM_GENAI") == ASSAY_TRI_YES);
	CHECK(has_flag(&env.torch, "USE_FBGEMM") ==
	      ASSAY_TRI_NO); /* no match inside a longer name */
	assay_vec_free(&env.torch.settings);
	assay_arena_free(&env.arena);
	return 0;
}

TEST(build_strings_may_be_raw_literals)
{
	assay_env env = {0};
	assay_ctx c = {.env = &env, .a = &env.arena};
	build_strings(&c, ASSAY_S("#define CAFFE2_BUILD_STRINGS { \\\n"
				  "  {\"CXX_COMPILER\", R\"PYT(C:\\new\\(x86)\\c++)PYT\"}, \\\n"
				  "  {\"CXX_FLAGS\", R\"PYT( -DUSE_FBGEMM -DX=\"y\")PYT\"}, \\\n"
				  "  {\"CUDA_FLAGS\", R\"PYT()PYT\"}, \\\n"
				  "  {\"BUILD_TYPE\", \"Release\"}, \\\n"
				  "  {\"CUT\", R\"PYT(off"));
	const assay_pair *p = env.torch.settings.p;
	CHECK_EQ(env.torch.settings.n, 4);
	CHECK(!strcmp(p[0].value, "C:\\new\\(x86)\\c++"));
	CHECK(!strcmp(p[1].value, " -DUSE_FBGEMM -DX=\"y\""));
	CHECK(!strcmp(p[2].value, "Release") && !strcmp(p[3].value, "off"));
	env.torch.flags_source = "macros.h";
	CHECK(has_flag(&env.torch, "USE_FBGEMM") == ASSAY_TRI_YES);
	CHECK(has_flag(&env.torch, "USE_FBGEMM_GENAI") == ASSAY_TRI_NO);
	assay_vec_free(&env.torch.settings);
	assay_arena_free(&env.arena);
	return 0;
}

TEST(editable_urls_are_decoded)
{
	assay_arena a = {0};
	char yes[200] = "{\"url\": \"file:///src/py%20torch\", \"dir_info\": {\"editable\": true}}";
	char no[200] = "{\"url\": \"file:///src\", \"dir_info\": {}}";
	assay_direct_url from;
	CHECK(assay_direct_url_parse(&a, assay_str_of(yes), &from));
	CHECK(!strcmp(editable_source(&a, &from), "/src/py torch"));
	CHECK(assay_direct_url_parse(&a, assay_str_of(no), &from) && !editable_source(&a, &from));
	assay_arena_free(&a);
	return 0;
}

TEST(architecture_lists_hold_nothing_else)
{
	CHECK(is_arch_list(ASSAY_S("sm_80 sm_90 compute_90")) &&
	      is_arch_list(ASSAY_S("gfx90a gfx942")));
	CHECK(!is_arch_list(ASSAY_S("sm_ is bad")) && !is_arch_list(ASSAY_S("")));
	return 0;
}
