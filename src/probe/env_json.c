/* The snapshot as JSON: schema 1.1 in its order, then our block. */
#include <stdio.h>

#include "base/input.h"
#include "base/sort.h"
#include "base/test.h"
#include "probe/probe.h"

static void tri(assay_jsonw *w, const char *key, assay_tri v)
{
	if (v == ASSAY_TRI_UNKNOWN)
		assay_jsonw_null(w, key);
	else
		assay_jsonw_bool(w, key, v == ASSAY_TRI_YES);
}

static void num(assay_jsonw *w, const char *key, assay_num v)
{
	assay_jsonw_i64_if(w, key, v.known, v.v);
}

static void hash(assay_jsonw *w, const char *key, const assay_file *f)
{
	char text[80];
	if (!f || !f->hashed) {
		assay_jsonw_null(w, key);
		return;
	}
	snprintf(text, sizeof text, "sha256:%s", f->sha256);
	assay_jsonw_z(w, key, text);
}

static void pairs(assay_jsonw *w, const char *key, const assay_pairs *p)
{
	assay_jsonw_open(w, key, '{');
	for (size_t i = 0; i < p->n; i++) {
		assay_jsonw_key(w, assay_str_of(p->p[i].key));
		assay_jsonw_z(w, NULL, p->p[i].value);
	}
	assay_jsonw_close(w, '}');
}

static void list(assay_jsonw *w, const char *key, const char *const *p, size_t n)
{
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < n; i++)
		assay_jsonw_z(w, NULL, p[i]);
	assay_jsonw_close(w, ']');
}

static void math(assay_jsonw *w, const char *key, const assay_env_math *m, bool prs)
{
	assay_jsonw_open(w, key, '{');
	assay_jsonw_z(w, "rocm_release_tweak", m->tweak);
	assay_jsonw_z(w, "package_version", m->package_version);
	hash(w, "lib_hash", m->lib);
	assay_jsonw_z(w, "kernel_db_revision", m->kernel_db);
	if (prs) {
		assay_jsonw_open(w, "applied_prs", '{');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, '}');
}

static void rocm_blocks(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "rocm", '{');
	assay_jsonw_z(w, "version", e->rocm.version);
	assay_jsonw_z(w, "version_dev", e->rocm.version_dev);
	assay_jsonw_z(w, "kmd_version", e->rocm.kmd_version);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "hip", '{');
	assay_jsonw_z(w, "version", e->hip.version);
	assay_jsonw_z(w, "platform", e->hip.platform);
	assay_jsonw_z(w, "compiler", e->hip.compiler);
	assay_jsonw_z(w, "runtime", e->hip.runtime);
	assay_jsonw_z(w, "cpp_config", e->hip.cpp_config);
	assay_jsonw_close(w, '}');
	math(w, "hipblaslt", &e->hipblaslt, true);
	math(w, "rocblas", &e->rocblas, true);
}

static void kernel_blocks(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "composable_kernel", '{');
	assay_jsonw_open(w, "system", '{');
	assay_jsonw_z(w, "version", e->ck.version);
	assay_jsonw_z(w, "commit", e->ck.commit);
	assay_jsonw_bool(w, "ck_tile_present", e->ck.tile_present);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "pytorch_bundled", '{');
	assay_jsonw_bool(w, "present", e->ck.bundled);
	num(w, "symbol_count", e->torch.ck);
	assay_jsonw_close(w, '}');
	tri(w, "pytorch_use_ck_sdpa", e->ck.sdpa);
	tri(w, "pytorch_use_ck_gemm", e->ck.gemm);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "tensile", '{');
	assay_jsonw_z(w, "package_version", e->tensile_version);
	assay_jsonw_z(w, "kernel_db_combined_hash", e->tensile_db);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "triton", '{');
	assay_jsonw_z(w, "package_version", e->triton_version);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "fbgemm", '{');
	assay_jsonw_z(w, "package_version", e->fbgemm_version);
	tri(w, "pytorch_use_fbgemm", e->use_fbgemm);
	tri(w, "pytorch_use_fbgemm_genai", e->use_fbgemm_genai);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "aiter", '{');
	assay_jsonw_z(w, "package_version", e->aiter_version);
	assay_jsonw_close(w, '}');
}

static void library_blocks(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "aotriton", '{');
	assay_jsonw_bool(w, "bundled_present", e->aotriton.present);
	assay_jsonw_z(w, "bundled_version", e->aotriton.version);
	hash(w, "bundled_lib_hash", e->aotriton.lib);
	assay_jsonw_bool(w, "bundled_images_dir_present", e->aotriton.images);
	assay_jsonw_z(w, "installed_prefix", e->aotriton.prefix);
	assay_jsonw_close(w, '}');
	math(w, "miopen", &e->miopen, false);
	assay_jsonw_open(w, "rccl", '{');
	num(w, "version_code", e->rccl.code);
	assay_jsonw_z(w, "version", e->rccl.version);
	hash(w, "lib_hash", e->rccl.lib);
	assay_jsonw_close(w, '}');
}

/* Sorted architectures; equal neighbours are one row of the counts. */
static void gpu_arch(const assay_env *e, assay_jsonw *w)
{
	assay_vec(const char *) sorted = {0};
	size_t n = e->gpu_arch.arch.n;
	for (size_t i = 0; i < n; i++)
		*assay_push(&sorted) = e->gpu_arch.arch.p[i];
	assay_sort_texts(sorted.p, n);
	assay_jsonw_open(w, "gpu_arch", '{');
	if (!e->gpu_arch.known) {
		assay_jsonw_null(w, "agent_count");
		assay_jsonw_null(w, "gfx_targets");
		assay_jsonw_null(w, "agent_arch_counts");
	} else {
		assay_jsonw_u64(w, "agent_count", n);
		assay_jsonw_open(w, "gfx_targets", '[');
		for (size_t i = 0; i < n; i++)
			if (!i || strcmp(sorted.p[i], sorted.p[i - 1]))
				assay_jsonw_z(w, NULL, sorted.p[i]);
		assay_jsonw_close(w, ']');
		assay_jsonw_open(w, "agent_arch_counts", '{');
		for (size_t i = 0, run; i < n; i += run) {
			for (run = 1; i + run < n && !strcmp(sorted.p[i], sorted.p[i + run]);)
				run++;
			assay_jsonw_u64(w, sorted.p[i], run);
		}
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, '}');
	assay_vec_free(&sorted);
}

static void place_blocks(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "runtime_context", '{');
	assay_jsonw_z(w, "type", e->context);
	assay_jsonw_z(w, "python_env", e->python.env_kind);
	assay_jsonw_z(w, "venv_path", e->python.venv_path);
	assay_jsonw_z(w, "conda_env_name", e->python.conda_name);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "host", '{');
	assay_jsonw_z(w, "kernel_release", e->host.release);
	assay_jsonw_z(w, "kernel_version", e->host.version);
	assay_jsonw_z(w, "machine", e->host.machine);
	assay_jsonw_z(w, "glibc_version", e->host.glibc);
	assay_jsonw_close(w, '}');
	if (!e->container) {
		assay_jsonw_null(w, "docker");
	} else {
		assay_jsonw_open(w, "docker", '{');
		assay_jsonw_z(w, "image", e->docker.image);
		assay_jsonw_z(w, "digest", e->docker.digest);
		assay_jsonw_z(w, "container_id", e->docker.id);
		assay_jsonw_close(w, '}');
	}
	pairs(w, "env_vars", &e->vars);
}

static void torch_blocks(const assay_env *e, assay_jsonw *w)
{
	static const char *const names[] = {"composable_kernel", "aiter", "fbgemm"};
	const assay_torch *t = &e->torch;
	assay_jsonw_z(w, "python_version", e->python.version ? e->python.version : "");
	assay_jsonw_z(w, "pytorch_version", t->version);
	assay_jsonw_open(w, "pytorch_build", '{');
	assay_jsonw_z(w, "git_commit", t->git);
	assay_jsonw_z(w, "hip_version", t->hip);
	assay_jsonw_z(w, "cuda_version", t->cuda);
	tri(w, "debug", t->debug);
	assay_jsonw_z(w, "install_kind", t->kind ? t->kind : "unknown");
	assay_jsonw_z(w, "source_path", t->source_path);
	assay_jsonw_open(w, "submodule_commits", '{');
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++)
		assay_jsonw_z(w, names[i], t->sub[i]);
	assay_jsonw_z(w, "_source", t->sub_from_git ? "git" : NULL);
	assay_jsonw_close(w, '}');
	assay_jsonw_close(w, '}');
}

static void reasons(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_bool(w, "partial", assay_env_partial(e) > 0);
	assay_jsonw_open(w, "partial_reasons", '[');
	for (size_t i = 0; i < e->reasons.n; i++)
		if (e->reasons.p[i].level != ASSAY_LEVEL_EXPECTED)
			assay_jsonw_z(w, NULL, e->reasons.p[i].text);
	assay_jsonw_close(w, ']');
}

static void file_fields(assay_jsonw *w, const assay_file *f)
{
	assay_jsonw_z(w, "path", f->path);
	assay_jsonw_u64(w, "size", f->size);
	assay_jsonw_z(w, "soname", f->soname);
	assay_jsonw_z(w, "build_id", f->build_id);
	hash(w, "sha256", f);
}

static void owner(assay_jsonw *w, const assay_installed *o)
{
	if (!o || !o->name) {
		assay_jsonw_null(w, "owner");
		return;
	}
	assay_jsonw_open(w, "owner", '{');
	assay_jsonw_z(w, "manager", o->manager);
	assay_jsonw_z(w, "package", o->name);
	assay_jsonw_z(w, "version", o->version);
	assay_jsonw_close(w, '}');
}

static void chosen_copy(assay_jsonw *w, const char *key, const assay_lib *lib, const assay_file *f,
			const char *by)
{
	if (!f) {
		assay_jsonw_null(w, key);
		return;
	}
	const assay_lib_copy *c = assay_lib_copy_of(lib, f);
	assay_jsonw_open(w, key, '{');
	file_fields(w, f);
	assay_jsonw_z(w, "version", c ? c->version : NULL);
	assay_jsonw_z(w, "rocm_release", c ? c->release : NULL);
	assay_jsonw_z(w, "where", c ? c->where : NULL);
	assay_jsonw_z(w, "chosen_by", by);
	owner(w, c ? &c->owner : NULL);
	assay_jsonw_close(w, '}');
}

/* Every copy in a few words, so that two machines compare without their paths. */
static void builds(assay_jsonw *w, const assay_lib *lib)
{
	assay_jsonw_open(w, "builds", '[');
	for (size_t i = 0; i < lib->copies.n; i++) {
		const assay_lib_copy *c = &lib->copies.p[i];
		char text[256];
		snprintf(text, sizeof text, "%s %.80s %.16s", c->where,
			 c->version ? c->version : "?",
			 c->file->hashed     ? c->file->sha256
			 : c->file->build_id ? c->file->build_id
					     : "?");
		assay_jsonw_z(w, NULL, text);
	}
	assay_jsonw_close(w, ']');
}

static void one_library(assay_jsonw *w, const assay_lib *lib)
{
	assay_jsonw_open(w, lib->name, '{');
	chosen_copy(w, "effective", lib, lib->effective, lib->by);
	chosen_copy(w, "plain", lib, lib->plain, lib->plain_by);
	assay_jsonw_bool(w, "disagree", lib->disagree);
	builds(w, lib);
	assay_jsonw_open(w, "copies", '[');
	for (size_t i = 0; i < lib->copies.n; i++) {
		const assay_lib_copy *c = &lib->copies.p[i];
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "where", c->where);
		assay_jsonw_z(w, "version", c->version);
		assay_jsonw_z(w, "rocm_release", c->release);
		file_fields(w, c->file);
		assay_jsonw_z(w, "rpath", c->file->rpath);
		assay_jsonw_z(w, "runpath", c->file->runpath);
		owner(w, &c->owner);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void one_gpu(assay_jsonw *w, const assay_gpu *g)
{
	const struct {
		const char *key, *v;
	} texts[] = {{"arch", g->arch},
		     {"name", g->name},
		     {"uuid", g->uuid},
		     {"bus", g->bus},
		     {"compute_capability", g->cc},
		     {"vbios_version", g->vbios},
		     {"serial", g->serial},
		     {"unique_id", g->unique_id},
		     {"mig", g->mig},
		     {"ecc", g->ecc},
		     {"persistence", g->persistence},
		     {"compute_mode", g->compute_mode},
		     {"compute_partition", g->partition},
		     {"memory_partition", g->memory_partition},
		     {"performance_level", g->performance_level},
		     {"source", g->source}};
	const struct {
		const char *key;
		assay_num v;
	} nums[] = {{"kfd_node", g->node},
		    {"render_minor", g->render_minor},
		    {"memory_mb", g->memory_mb},
		    {"compute_units", g->compute_units},
		    {"num_xcc", g->xcc},
		    {"fw_version", g->fw_version},
		    {"sdma_fw_version", g->sdma_fw_version},
		    {"device_id", g->device_id},
		    {"power_limit_mw", g->power_limit_mw},
		    {"pcie_link_width", g->link_width}};
	assay_jsonw_open(w, NULL, '{');
	for (size_t i = 0; i < ASSAY_COUNT_OF(texts); i++)
		if (texts[i].v)
			assay_jsonw_z(w, texts[i].key, texts[i].v);
	for (size_t i = 0; i < ASSAY_COUNT_OF(nums); i++)
		if (nums[i].v.known)
			num(w, nums[i].key, nums[i].v);
	if (g->openable != ASSAY_TRI_UNKNOWN)
		tri(w, "permitted", g->openable);
	for (size_t i = 0; i < g->more.n; i++)
		assay_jsonw_z(w, g->more.p[i].key, g->more.p[i].value);
	assay_jsonw_close(w, '}');
}

static void gpus(const assay_env *e, assay_jsonw *w)
{
	if (!e->gpus_known && !e->gpus.n) {
		assay_jsonw_null(w, "gpus");
	} else {
		assay_jsonw_open(w, "gpus", '[');
		for (size_t i = 0; i < e->gpus.n; i++)
			one_gpu(w, &e->gpus.p[i]);
		assay_jsonw_close(w, ']');
	}
	assay_jsonw_open(w, "gpu_arch", '{');
	num(w, "hidden", e->gpus_hidden);
	num(w, "visible", e->gpus_visible);
	assay_jsonw_z(w, "override", e->override_gfx);
	assay_jsonw_z(w, "target_lst", e->target_lst);
	assay_jsonw_open(w, "effective", '[');
	for (size_t i = 0; i < e->effective_arch.n; i++)
		assay_jsonw_z(w, NULL, e->effective_arch.p[i].value);
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
}

static void rocm_more(const assay_env *e, assay_jsonw *w)
{
	const assay_rocm_root *r = NULL;
	for (size_t i = 0; i < e->roots.n; i++)
		if (e->roots.p[i].chosen)
			r = &e->roots.p[i];
	assay_jsonw_open(w, "rocm", '{');
	assay_jsonw_z(w, "root", r ? r->path : NULL);
	assay_jsonw_z(w, "lib_root", r && r->n_lib_dirs ? r->lib_dir[0] : NULL);
	assay_jsonw_z(w, "root_source", r ? r->source : NULL);
	assay_jsonw_z(w, "layout", r ? r->layout : NULL);
	assay_jsonw_z(w, "version_source", r ? r->version_source : NULL);
	assay_jsonw_open(w, "roots", '[');
	for (size_t i = 0; i < e->roots.n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "path", e->roots.p[i].path);
		assay_jsonw_z(w, "source", e->roots.p[i].source);
		assay_jsonw_z(w, "layout", e->roots.p[i].layout);
		assay_jsonw_z(w, "version", e->roots.p[i].version);
		assay_jsonw_bool(w, "chosen", e->roots.p[i].chosen);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
	pairs(w, "amdgpu_driver", &e->amdgpu);
}

static void content_hash(assay_jsonw *w, const assay_kdb *k)
{
	char text[80];
	snprintf(text, sizeof text, "sha256:%s", k->content);
	assay_jsonw_z(w, "content_hash", k->content[0] ? text : NULL);
}

static void kdb_fields(assay_jsonw *w, const assay_kdb *k)
{
	assay_jsonw_u64(w, "files", k->members.n);
	assay_jsonw_u64(w, "bytes", k->bytes);
	assay_jsonw_z(w, "filenames_hash", k->names_hash);
	content_hash(w, k);
	list(w, "archs", k->arch, k->n_arch);
	owner(w, &k->owner);
}

/* tensile_catalog and miopen_catalog: upstream's names for the databases' content. */
static void catalogues(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "kernel_databases", '{');
	for (size_t i = 0; i < e->kdbs.n; i++) {
		const assay_kdb *k = &e->kdbs.p[i];
		if (k->extra)
			continue;
		assay_jsonw_open(w, k->library, '{');
		assay_jsonw_z(w, "path", k->path);
		kdb_fields(w, k);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, '}');
}

bool assay_env_write_catalog(const assay_env *e, assay_jsonw *w)
{
	assay_arena a = {0};
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_u64(w, "catalog_version", 1);
	assay_jsonw_open(w, "databases", '[');
	for (size_t i = 0; i < e->kdbs.n; i++) {
		const assay_kdb *k = &e->kdbs.p[i];
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "library", k->library);
		assay_jsonw_z(w, "path", k->path);
		content_hash(w, k);
		assay_jsonw_open(w, "files", '{');
		for (size_t m = 0; m < k->members.n; m++) {
			const assay_kdb_file *f = &k->members.p[m];
			assay_jsonw_open_flat(w, f->name, '[');
			assay_jsonw_u64(w, NULL, f->file ? f->file->size : 0);
			assay_jsonw_z(w, NULL, assay_kdb_digest(&a, f));
			assay_jsonw_close(w, ']');
		}
		assay_jsonw_close(w, '}');
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_close(w, '}');
	assay_arena_free(&a);
	return e->kdbs.n;
}

static void used_file(assay_jsonw *w, const assay_used_file *f)
{
	assay_jsonw_open(w, f->name, '{');
	assay_jsonw_z(w, "path", f->path);
	assay_jsonw_z(w, "by", f->by);
	assay_jsonw_bool(w, "present", f->file != NULL);
	hash(w, "sha256", f->file);
	assay_jsonw_close(w, '}');
}

static void one_program(const assay_env *e, assay_jsonw *w, const assay_program *p)
{
	assay_jsonw_open(w, p->name, '{');
	assay_jsonw_open(w, "libraries", '{');
	for (size_t i = 0; i < p->libs.n; i++)
		used_file(w, &p->libs.p[i]);
	assay_jsonw_close(w, '}');
	list(w, "unresolved", p->unresolved.p, p->unresolved.n);
	assay_jsonw_open(w, "kernel_databases", '{');
	for (size_t i = 0; i < p->kdbs.n; i++) {
		const assay_used_kdb *k = &p->kdbs.p[i];
		assay_jsonw_open(w, k->library, '{');
		assay_jsonw_z(w, "path", k->path);
		assay_jsonw_z(w, "by", k->by);
		assay_jsonw_bool(w, "present", k->kdb != SIZE_MAX);
		if (k->kdb != SIZE_MAX)
			kdb_fields(w, &e->kdbs.p[k->kdb]);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, '}');
	assay_jsonw_close(w, '}');
}

static void effective(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "effective", '{');
	for (size_t i = 0; i < e->programs.n; i++)
		one_program(e, w, &e->programs.p[i]);
	assay_jsonw_open(w, "files", '{');
	for (size_t i = 0; i < e->used_files.n; i++)
		used_file(w, &e->used_files.p[i]);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "caches", '{');
	for (size_t i = 0; i < e->caches.n; i++) {
		const assay_used_cache *u = &e->caches.p[i];
		assay_jsonw_open(w, u->name, '{');
		assay_jsonw_z(w, "path", u->path);
		assay_jsonw_z(w, "by", u->by);
		assay_jsonw_bool(w, "present", u->present);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, '}');
	assay_jsonw_close(w, '}');
}

/* -DNAME and -DNAME=value words of the flags. */
static void defines(assay_jsonw *w, const char *flags)
{
	assay_str rest = assay_str_of(flags);
	if (!flags) {
		assay_jsonw_null(w, "cxx_defines");
		return;
	}
	assay_jsonw_open(w, "cxx_defines", '[');
	while (rest.n) {
		assay_str word = assay_str_cut(&rest, ' ');
		if (assay_str_starts(word, "-D"))
			assay_jsonw_str(w, NULL, (assay_str){word.p + 2, word.n - 2});
	}
	assay_jsonw_close(w, ']');
}

static void torch_more(const assay_env *e, assay_jsonw *w)
{
	const assay_torch *t = &e->torch;
	assay_str archs = assay_str_of(t->arch_list);
	assay_jsonw_open(w, "pytorch_build", '{');
	assay_jsonw_z(w, "path", t->dir);
	assay_jsonw_z(w, "metadata_version", t->info_version);
	assay_jsonw_z(w, "source_head", t->source_head);
	list(w, "shadowed", t->shadowed.p, t->shadowed.n);
	assay_jsonw_open(w, "flags", '{');
	pairs(w, "build_settings", &t->settings);
	defines(w, t->flags);
	assay_jsonw_z(w, "cxx_flags_raw", t->flags);
	assay_jsonw_z(w, "source", t->flags_source);
	if (!archs.n)
		assay_jsonw_null(w, "gpu_arch_list");
	else
		assay_jsonw_open_flat(w, "gpu_arch_list", '[');
	for (bool any = archs.n; any;) {
		assay_jsonw_str(w, NULL, assay_str_cut(&archs, ' '));
		if (!(any = archs.n))
			assay_jsonw_close(w, ']');
	}
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "binary_introspection", '{');
	num(w, "ck", t->ck);
	num(w, "ck_tile", t->ck_tile);
	num(w, "aotriton", t->aotriton_syms);
	num(w, "pytorch_flash", t->flash);
	assay_jsonw_close(w, '}');
	assay_jsonw_close(w, '}');
}

static void python_more(const assay_env *e, assay_jsonw *w)
{
	const assay_python *p = &e->python;
	assay_jsonw_open(w, "python", '{');
	assay_jsonw_z(w, "executable", p->exe);
	assay_jsonw_z(w, "prefix", p->prefix);
	assay_jsonw_z(w, "base_prefix", p->base_prefix);
	assay_jsonw_z(w, "found_by", p->found_by);
	assay_jsonw_open(w, "sites", '[');
	for (size_t i = 0; i < p->sites.n; i++)
		assay_jsonw_z(w, NULL, p->sites.p[i].path);
	assay_jsonw_close(w, ']');
	assay_jsonw_open(w, "packages", '{');
	for (size_t i = 0; i < e->packages.n; i++) {
		bool first = true; /* a later copy of the same package is never imported */
		for (size_t k = 0; k < i; k++)
			first &= strcmp(e->packages.p[k].name, e->packages.p[i].name) != 0;
		if (first)
			assay_jsonw_z(w, e->packages.p[i].name, e->packages.p[i].version);
	}
	assay_jsonw_close(w, '}');
	pairs(w, "package_sources", &e->package_sources);
	pairs(w, "conda", &e->conda);
	assay_jsonw_open(w, "package_commits", '{');
	for (size_t i = 0; i < e->packages.n; i++)
		if (e->packages.p[i].commit)
			assay_jsonw_z(w, e->packages.p[i].name, e->packages.p[i].commit);
	assay_jsonw_close(w, '}');
	assay_jsonw_close(w, '}');
}

static void process(const assay_env *e, assay_jsonw *w)
{
	if (!e->process.pid) {
		assay_jsonw_null(w, "process");
		return;
	}
	assay_jsonw_open(w, "process", '{');
	assay_jsonw_i64(w, "pid", e->process.pid);
	assay_jsonw_z(w, "exe", e->process.exe);
	list(w, "mapped", e->process.maps.p, e->process.maps.n);
	assay_jsonw_close(w, '}');
}

static void notes(const assay_env *e, assay_jsonw *w)
{
	static const char *const level[] = {"error", "missing", "expected"};
	assay_jsonw_open(w, "findings", '[');
	for (size_t i = 0; i < e->findings.n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "code", e->findings.p[i].code);
		assay_jsonw_z(w, "text", e->findings.p[i].text);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
	assay_jsonw_open(w, "reasons", '[');
	for (size_t i = 0; i < e->reasons.n; i++) {
		assay_jsonw_open(w, NULL, '{');
		assay_jsonw_z(w, "level", level[e->reasons.p[i].level]);
		assay_jsonw_z(w, "text", e->reasons.p[i].text);
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

/* All that differs between two probes of one tree, so that it can be deleted in one place. */
static void volatile_values(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "probe", '{');
	assay_jsonw_z(w, "captured_at", e->probed_at);
	assay_jsonw_open(w, "probe_ms", '{');
	for (size_t i = 0; i < e->timings.n; i++)
		assay_jsonw_f64(w, e->timings.p[i].name,
				(double)(e->timings.p[i].ns / 1000) / 1000);
	assay_jsonw_close(w, '}');
	pairs(w, "live", &e->live);
	assay_jsonw_close(w, '}');
}

/* A header's number and a package's do not compare. */
static void version_sources(const assay_env *e, assay_jsonw *w)
{
	const struct {
		const char *name;
		const assay_env_math *m;
	} rows[] = {{"hipblaslt", &e->hipblaslt}, {"rocblas", &e->rocblas}, {"miopen", &e->miopen}};
	assay_jsonw_open(w, "version_sources", '{');
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (rows[i].m->package_version)
			assay_jsonw_z(w, rows[i].name,
				      rows[i].m->from_package ? "package" : "header");
	assay_jsonw_close(w, '}');
}

static void assay_block(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, "assay", '{');
	assay_jsonw_z(w, "version", ASSAY_VERSION);
	assay_jsonw_z(w, "root", e->root);
	assay_jsonw_z(w, "variables", e->variables);
	assay_jsonw_bool(w, "hashed", e->hashed);
	if (e->left)
		assay_jsonw_u64(w, "files_left", e->left);
	list(w, "absent", e->absent.p, e->absent.n);
	assay_jsonw_bool(w, "container_detected", e->container);
	assay_jsonw_z(w, "container_kind", e->container_kind);
	assay_jsonw_bool(w, "kubernetes", e->kubernetes);
	assay_jsonw_z(w, "container_id_source", e->docker.id_source);
	rocm_more(e, w);
	gpus(e, w);
	pairs(w, "nvidia", &e->nvidia);
	assay_jsonw_open(w, "libraries", '{');
	for (size_t i = 0; i < e->libs.n; i++)
		one_library(w, &e->libs.p[i]);
	assay_jsonw_close(w, '}');
	assay_jsonw_open(w, "library_linkage", '{');
	num(w, "rpath", e->rpath_objects);
	num(w, "runpath", e->runpath_objects);
	num(w, "neither", e->plain_objects);
	assay_jsonw_close(w, '}');
	catalogues(e, w);
	effective(e, w);
	version_sources(e, w);
	pairs(w, "therock", &e->therock);
	torch_more(e, w);
	python_more(e, w);
	pairs(w, "env_vars", &e->more_vars);
	pairs(w, "host", &e->host_more);
	pairs(w, "nics", &e->nics);
	pairs(w, "system_packages", &e->system_packages);
	process(e, w);
	notes(e, w);
	volatile_values(e, w);
	assay_jsonw_close(w, '}');
}

void assay_env_write(const assay_env *e, assay_jsonw *w)
{
	assay_jsonw_open(w, NULL, '{');
	assay_jsonw_z(w, "schema_version", ASSAY_ENV_SCHEMA);
	assay_jsonw_z(w, "captured_at", e->captured_at);
	if (e->system_health)
		assay_jsonw_raw(w, "system_health", assay_str_of(e->system_health));
	else
		assay_jsonw_null(w, "system_health");
	rocm_blocks(e, w);
	kernel_blocks(e, w);
	library_blocks(e, w);
	gpu_arch(e, w);
	place_blocks(e, w);
	torch_blocks(e, w);
	reasons(e, w);
	assay_block(e, w);
	assay_jsonw_close(w, '}');
}

assay_str assay_env_padded(assay_arena *a, const assay_env *e)
{
	assay_jsonw w = {0};
	assay_env_write(e, &w);
	assay_str text = assay_jsonw_text(&w);
	char *copy = assay_alloc(a, text.n + ASSAY_PAD);
	memcpy(copy, text.p, text.n);
	assay_jsonw_free(&w);
	return (assay_str){copy, text.n};
}

TEST(disaster_snapshot_emits_complete_schema)
{
	static const char *const keys[] = {"schema_version",
					   "captured_at",
					   "system_health",
					   "rocm",
					   "hip",
					   "hipblaslt",
					   "rocblas",
					   "composable_kernel",
					   "tensile",
					   "triton",
					   "fbgemm",
					   "aiter",
					   "aotriton",
					   "miopen",
					   "rccl",
					   "gpu_arch",
					   "runtime_context",
					   "host",
					   "docker",
					   "env_vars",
					   "python_version",
					   "pytorch_version",
					   "pytorch_build",
					   "partial",
					   "partial_reasons",
					   "assay"};
	assay_env e = {0};
	assay_jsonw w = {0};
	assay_env_write(&e, &w);
	assay_str text = assay_jsonw_text(&w);
	for (size_t i = 0; i < ASSAY_COUNT_OF(keys); i++) {
		char want[64];
		snprintf(want, sizeof want, "\n  \"%s\": ", keys[i]);
		ptrdiff_t at = assay_str_find(text, want);
		CHECK(at >= 0);
		text = (assay_str){text.p + at + 1,
				   text.n - (size_t)at - 1}; /* and in this order */
	}
	assay_jsonw_free(&w);
	return 0;
}
