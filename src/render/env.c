/* The snapshot for a person: one labelled line a block. Absent and normal is said as such. */
#include "render/env.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static const char *yes_no(assay_tri v)
{
	return v == ASSAY_TRI_UNKNOWN ? "unknown" : v == ASSAY_TRI_YES ? "yes" : "no";
}

/* "sha256:ba7816…" */
static void short_hash(FILE *out, const assay_file *f)
{
	if (f && f->hashed)
		fprintf(out, "%.6s…", f->sha256);
	else
		fprintf(out, f ? "not hashed" : "-");
}

enum { LABEL = 13, INDENT = LABEL + 2, LIBRARIES_WIDE = 64 };

static void start(FILE *out, const char *label)
{
	fprintf(out, "  %-*s", LABEL, label);
}

static void math_line(FILE *out, const char *label, const assay_env_math *m)
{
	start(out, label);
	if (!m->lib && !m->package_version) {
		fprintf(out, "not installed\n");
		return;
	}
	fprintf(out, "%s rocm_release_tweak=%s lib=", or_dash(m->package_version),
		or_dash(m->tweak));
	short_hash(out, m->lib);
	fprintf(out, " kernel_db=%.8s%s\n",
		m->kernel_db ? m->kernel_db + strlen("filenames-sha256:") : "-",
		m->kernel_db ? "…" : "");
}

static void rocm_lines(const assay_env *e, FILE *out)
{
	start(out, "rocm:");
	if (e->rocm.version)
		fprintf(out, "%s (dev: %s, kernel driver: %s)\n", e->rocm.version,
			or_dash(e->rocm.version_dev), or_dash(e->rocm.kmd_version));
	else
		fprintf(out, "not installed\n");
	start(out, "hip:");
	if (e->hip.version || e->hip.platform)
		fprintf(out, "%s (%s)\n", e->hip.version ? e->hip.version : "version unknown",
			or_dash(e->hip.platform));
	else
		fprintf(out, "not installed\n");
	math_line(out, "hipblaslt:", &e->hipblaslt);
	math_line(out, "rocblas:", &e->rocblas);
	math_line(out, "miopen:", &e->miopen);
	start(out, "rccl:");
	if (e->rccl.version)
		fprintf(out, "%s (code=%" PRId64 ") lib=", e->rccl.version, e->rccl.code.v);
	else
		fprintf(out, e->rccl.lib ? "version unknown, lib=" : "not installed");
	if (e->rccl.version || e->rccl.lib)
		short_hash(out, e->rccl.lib);
	fprintf(out, "\n");
}

static void gpu_line(const assay_env *e, FILE *out)
{
	start(out, "gpus:");
	if (!e->gpus.n && !e->gpus_hidden.v)
		fprintf(out, "none found");
	for (size_t i = 0; i < e->gpus.n;) {
		const assay_gpu *g = &e->gpus.p[i];
		size_t same = 1;
		while (i + same < e->gpus.n && g->arch && e->gpus.p[i + same].arch &&
		       !strcmp(e->gpus.p[i + same].arch, g->arch))
			same++;
		fprintf(out, "%s%zu x %s%s%s", i ? ", " : "", same, or_dash(g->arch),
			g->name ? " " : "", g->name ? g->name : "");
		i += same;
	}
	if (e->gpus_hidden.v)
		fprintf(out, ", %" PRId64 " hidden", e->gpus_hidden.v);
	if (e->gpus_visible.known && (size_t)e->gpus_visible.v != e->gpus.n)
		fprintf(out, ", %" PRId64 " visible to programs", e->gpus_visible.v);
	if (e->override_gfx)
		fprintf(out, ", runtime made to believe %s", e->override_gfx);
	fprintf(out, "\n");
}

static void nvidia_line(const assay_env *e, FILE *out)
{
	start(out, "nvidia:");
	for (size_t i = 0; i < e->nvidia.n; i++)
		fprintf(out, "%s%s=%s", i ? " " : "", e->nvidia.p[i].key,
			or_dash(e->nvidia.p[i].value));
	fprintf(out, e->nvidia.n ? "\n" : "no driver\n");
}

/* What a torch process loads; without a torch what another program does, or a plain one where there
 * is none. NULL: nobody loads it. */
static const assay_file *loaded(const assay_env *e, const assay_lib *lib)
{
	if (lib->effective || e->torch.dir)
		return lib->effective;
	for (size_t i = 0; i < e->programs.n; i++)
		for (size_t k = 0; k < e->programs.p[i].libs.n; k++) {
			const assay_used_file *used = &e->programs.p[i].libs.p[k];
			if (used->file && !strcmp(used->name, lib->name))
				return used->file;
		}
	return e->programs.n ? NULL : lib->plain;
}

/* Under whichever name. */
static bool same_file(const assay_file *a, const assay_file *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* "cublas 13.1.0 (wheel)" */
static const char *library_text(assay_arena *a, const assay_lib *lib, const assay_file *f)
{
	const char *version = NULL, *where = "";
	for (size_t k = 0; k < lib->copies.n; k++) {
		if (!same_file(lib->copies.p[k].file, f))
			continue;
		version = lib->copies.p[k].version;
		where = lib->copies.p[k].where;
	}
	return assay_printf(a, "%s %s (%s%s)", lib->name, or_dash(version), where,
			    lib->disagree ? ", system differs" : "");
}

static void libraries_line(const assay_env *e, FILE *out)
{
	assay_arena scratch = {0};
	size_t column = 0;
	start(out, "loads:");
	for (size_t i = 0; i < e->libs.n; i++) {
		const assay_file *f = loaded(e, &e->libs.p[i]);
		if (!f)
			continue;
		const char *text = library_text(&scratch, &e->libs.p[i], f);
		size_t width = strlen(text) + 2;
		bool fits = column + width <= LIBRARIES_WIDE;
		if (column)
			fprintf(out, fits ? ", " : ",\n%*s", fits ? 0 : INDENT, "");
		fprintf(out, "%s", text);
		column = fits ? column + width : width;
	}
	fprintf(out, column ? "\n" : "no GPU library\n");
	assay_arena_free(&scratch);
}

static void kernel_lines(const assay_env *e, FILE *out)
{
	start(out, "ck:");
	fprintf(out, "system=%s/%.8s, ck_tile=%s, libtorch_hip=", or_dash(e->ck.version),
		or_dash(e->ck.commit), e->ck.tile_present ? "yes" : "no");
	if (e->torch.ck.known)
		fprintf(out, "%" PRId64 " ck:: and %" PRId64 " ck_tile:: symbols\n", e->torch.ck.v,
			e->torch.ck_tile.v);
	else
		fprintf(out, "none (not a ROCm torch)\n");
	start(out, "tensile:");
	fprintf(out, "kernel_db=%.6s%s [pip: %s]\n",
		e->tensile_db ? e->tensile_db + strlen("filenames-sha256:") : "-",
		e->tensile_db ? "…" : "",
		e->tensile_version ? e->tensile_version : "not installed, optional");
	start(out, "triton:");
	fprintf(out, "%s\n", e->triton_version ? e->triton_version : "(not installed)");
	start(out, "fbgemm:");
	fprintf(out, "USE_FBGEMM=%s USE_FBGEMM_GENAI=%s [pip: %s]\n", yes_no(e->use_fbgemm),
		yes_no(e->use_fbgemm_genai),
		e->fbgemm_version ? e->fbgemm_version : "not installed, optional");
	start(out, "aiter:");
	fprintf(out, "%s\n", e->aiter_version ? e->aiter_version : "not installed [optional]");
	start(out, "aotriton:");
	fprintf(out, "bundled=%s present=%s images_dir=%s [AOTRITON_INSTALLED_PREFIX %s]\n",
		or_dash(e->aotriton.version), e->aotriton.present ? "yes" : "no",
		e->aotriton.images ? "yes" : "no",
		e->aotriton.prefix ? e->aotriton.prefix : "(unset)");
}

static void torch_lines(const assay_env *e, FILE *out)
{
	static const char *const names[] = {"composable_kernel", "aiter", "fbgemm"};
	const assay_torch *t = &e->torch;
	start(out, "python:");
	fprintf(out, "%s | pytorch: %s\n", or_dash(e->python.version),
		t->version ? t->version : "(not installed)");
	start(out, "torch build:");
	if (!t->dir) {
		fprintf(out, "-\n");
		return;
	}
	fprintf(out, "git_commit=%.8s install=%s", or_dash(t->git), or_dash(t->kind));
	if (t->arch_list)
		fprintf(out, " archs=%s", t->arch_list);
	if (t->sub_from_git)
		fprintf(out, " submodules(git):");
	for (size_t i = 0; t->sub_from_git && i < ASSAY_COUNT_OF(names); i++)
		fprintf(out, " %s=%.8s", names[i], or_dash(t->sub[i]));
	fprintf(out, "\n");
}

static void print_summary(const assay_env *e, FILE *out)
{
	start(out, "runtime:");
	bool other = e->container_kind && strcmp(e->container_kind, e->context);
	fprintf(out, "%s%s%s%s / python=%s\n", e->context, other ? " (" : "",
		other ? e->container_kind : "", other ? ")" : "", e->python.env_kind);
	rocm_lines(e, out);
	gpu_line(e, out);
	nvidia_line(e, out);
	libraries_line(e, out);
	start(out, "host:");
	fprintf(out, "kernel=%s machine=%s glibc=%s\n", or_dash(e->host.release),
		or_dash(e->host.machine), or_dash(e->host.glibc));
	kernel_lines(e, out);
	start(out, "rdhc:");
	fprintf(out,
		e->system_health ? "present\n" : "not asked or not there (system_health=null)\n");
	torch_lines(e, out);
}

static void print_reasons(FILE *out, const assay_env *e)
{
	if (e->findings.n)
		fprintf(out, "\nFindings:\n");
	for (size_t i = 0; i < e->findings.n; i++)
		fprintf(out, "  - %s: %s\n", e->findings.p[i].code, e->findings.p[i].text);
	if (assay_env_partial(e))
		fprintf(out, "\nPartial reasons:\n");
	for (size_t i = 0; i < e->reasons.n; i++)
		if (e->reasons.p[i].level != ASSAY_LEVEL_EXPECTED)
			fprintf(out, "  - %s\n", e->reasons.p[i].text);
}

/* Lines whose values come from files and variables of the machine. */
static void print_tamed(FILE *out, char *lines)
{
	for (char *next; *lines; lines = next) {
		size_t n = strcspn(lines, "\n");
		next = lines + n + (lines[n] != 0);
		fprintf(out, "%.*s\n", (int)assay_utf8_tame(lines, n), lines);
	}
}

void assay_env_text(FILE *out, const assay_env *e, const char *path, const char *json)
{
	size_t n = assay_env_partial(e), size = 0;
	char *lines = NULL;
	FILE *f = open_memstream(&lines, &size);
	if (!f)
		assay_oom(0);
	fprintf(f, "Environment snapshot: %s (schema_version=" ASSAY_ENV_SCHEMA ")%s\n",
		path ? path : "not kept (-o FILE keeps it)", n ? " [PARTIAL]" : "");
	print_summary(e, f);
	print_reasons(f, e);
	if (fclose(f))
		assay_oom(size);
	print_tamed(out, lines);
	free(lines);
	if (json)
		fprintf(out, "\n--- Full snapshot ---\n%s\n", json);
	if (n)
		fprintf(out, "\n[PARTIAL, %zu reason(s)]\n", n);
	else
		fprintf(out, "\n[OK]\n");
}
