/* Which file the dynamic loader would pick. The order is ld.so(8)'s: LD_PRELOAD, then for each
 * needed name the DT_RPATH chain of whoever needs it (unless it has a DT_RUNPATH), LD_LIBRARY_PATH,
 * its DT_RUNPATH, ld.so.cache, the default folders. What is loaded once is not searched again. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/folders.h"
#include "base/test.h"
#include "probe/header.h"
#include "probe/ldcache.h"
#include "probe/probe.h"

enum { LOADED_MAX = 1024 };

static const struct {
	const char *name, *stem;
	assay_vendor vendor;
	const char *dist; /* wheel that carries it, without -cuNN */
} known[] = {
	{"hipblaslt", "libhipblaslt.so", ASSAY_VENDOR_AMD, NULL},
	{"rocblas", "librocblas.so", ASSAY_VENDOR_AMD, NULL},
	{"miopen", "libMIOpen.so", ASSAY_VENDOR_AMD, NULL},
	{"rccl", "librccl.so", ASSAY_VENDOR_AMD, NULL},
	{"rocfft", "librocfft.so", ASSAY_VENDOR_AMD, NULL},
	{"rocsolver", "librocsolver.so", ASSAY_VENDOR_AMD, NULL},
	{"rocsparse", "librocsparse.so", ASSAY_VENDOR_AMD, NULL},
	{"hipsparselt", "libhipsparselt.so", ASSAY_VENDOR_AMD, NULL},
	{"amdhip64", "libamdhip64.so", ASSAY_VENDOR_AMD, NULL},
	{"hsa-runtime64", "libhsa-runtime64.so", ASSAY_VENDOR_AMD, NULL},
	{"cudart", "libcudart.so", ASSAY_VENDOR_NVIDIA, "nvidia-cuda-runtime"},
	{"cudnn", "libcudnn.so", ASSAY_VENDOR_NVIDIA, "nvidia-cudnn"},
	{"cublas", "libcublas.so", ASSAY_VENDOR_NVIDIA, "nvidia-cublas"},
	{"cublasLt", "libcublasLt.so", ASSAY_VENDOR_NVIDIA, "nvidia-cublas"},
	{"nccl", "libnccl.so", ASSAY_VENDOR_NVIDIA, "nvidia-nccl"},
	{"nvshmem", "libnvshmem_host.so", ASSAY_VENDOR_NVIDIA, "nvidia-nvshmem"},
	{"cufft", "libcufft.so", ASSAY_VENDOR_NVIDIA, "nvidia-cufft"},
	{"cusolver", "libcusolver.so", ASSAY_VENDOR_NVIDIA, "nvidia-cusolver"},
	{"cusparse", "libcusparse.so", ASSAY_VENDOR_NVIDIA, "nvidia-cusparse"},
	{"cusparseLt", "libcusparseLt.so", ASSAY_VENDOR_NVIDIA, "nvidia-cusparselt"},
	{"cupti", "libcupti.so", ASSAY_VENDOR_NVIDIA, "nvidia-cuda-cupti"},
	{"nvrtc", "libnvrtc.so", ASSAY_VENDOR_NVIDIA, "nvidia-cuda-nvrtc"},
	{"nvJitLink", "libnvJitLink.so", ASSAY_VENDOR_NVIDIA, "nvidia-nvjitlink"},
	{"cuda", "libcuda.so", ASSAY_VENDOR_NVIDIA, NULL},
};

static const char *const default_dirs[] = {"/lib/x86_64-linux-gnu",
					   "/usr/lib/x86_64-linux-gnu",
					   "/lib/aarch64-linux-gnu",
					   "/usr/lib/aarch64-linux-gnu",
					   "/lib64",
					   "/usr/lib64",
					   "/lib",
					   "/usr/lib"};

struct loaded {
	assay_file *file;
	const char *path; /* as the loader opened it: $ORIGIN is its folder */
	const char *name; /* asked for under this name */
	const char *by;
	int parent; /* who needed it; -1 for a start object */
};

struct loader {
	assay_ctx *c;
	assay_str cache;
	const char *library_path;
	assay_vec(struct loaded) objects;
	assay_program *program; /* whose objects they are; NULL: nobody keeps a list */
};

/* $ORIGIN and ${ORIGIN}; other tokens ($LIB, $PLATFORM) are left and simply do not match. */
static const char *expand(assay_arena *a, assay_str dir, const char *origin)
{
	static const char *const tokens[] = {"${ORIGIN}", "$ORIGIN"};
	for (size_t i = 0; i < 2; i++) {
		ptrdiff_t at = assay_str_find(dir, tokens[i]);
		if (at < 0)
			continue;
		size_t n = strlen(tokens[i]);
		return assay_printf(a, "%.*s%s%.*s", (int)at, dir.p, origin,
				    (int)(dir.n - (size_t)at - n), dir.p + at + n);
	}
	return assay_dup(a, dir);
}

/* A file the loader would accept: an ELF file, whatever its name. */
static assay_file *acceptable(struct loader *l, const char *path)
{
	assay_file *f = assay_ctx_file(l->c, path, false);
	return f && f->elf ? f : NULL;
}

struct found {
	assay_file *file;
	const char *path, *by;
};

static bool search_list(struct loader *l, const char *list, const char *origin, const char *name,
			struct found *out)
{
	while (list && *list) {
		size_t n = strcspn(list, ":;");
		assay_str dir = {list, n};
		list += n + (list[n] != 0);
		if (!dir.n)
			continue;
		const char *path =
			assay_printf(l->c->a, "%s/%s", expand(l->c->a, dir, origin), name);
		if (*path == '/' && (out->file = acceptable(l, path))) {
			out->path = path;
			return true;
		}
	}
	return false;
}

static bool search_rpath_chain(struct loader *l, int from, const char *name, struct found *out)
{
	/* an object with a DT_RUNPATH takes no part of anybody's DT_RPATH */
	if (from >= 0 && l->objects.p[from].file->runpath)
		return false;
	for (int i = from; i >= 0; i = l->objects.p[i].parent) {
		const struct loaded *o = &l->objects.p[i];
		if (o->file->runpath || !o->file->rpath)
			continue;
		const char *origin = assay_folder_of(l->c->a, o->path),
			   *owner = assay_file_name(o->path);
		if (search_list(l, o->file->rpath, origin, name, out)) {
			out->by = assay_printf(l->c->a, "RPATH of %s", owner);
			return true;
		}
	}
	return false;
}

static bool search_system(struct loader *l, const char *name, struct found *out)
{
	assay_str hit = assay_ldcache_find(l->cache, name);
	if (hit.n) {
		out->path = assay_dup(l->c->a, hit);
		out->by = "ld.so.cache";
		if ((out->file = acceptable(l, out->path)))
			return true;
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(default_dirs); i++)
		if (search_list(l, default_dirs[i], "", name, out)) {
			out->by = "default folders";
			return true;
		}
	return false;
}

static bool search(struct loader *l, int from, const char *name, struct found *out)
{
	*out = (struct found){0};
	if (strchr(name, '/')) {
		out->path = name;
		out->by = "path in DT_NEEDED";
		return *name == '/' && (out->file = acceptable(l, name));
	}
	if (search_rpath_chain(l, from, name, out))
		return true;
	if (search_list(l, l->library_path, "", name, out)) {
		out->by = "LD_LIBRARY_PATH";
		return true;
	}
	if (from >= 0) {
		const char *path = l->objects.p[from].path,
			   *origin = assay_folder_of(l->c->a, path);
		if (search_list(l, l->objects.p[from].file->runpath, origin, name, out)) {
			out->by = assay_printf(l->c->a, "RUNPATH of %s", assay_file_name(path));
			return true;
		}
	}
	return search_system(l, name, out);
}

static struct loaded *already(struct loader *l, const char *name)
{
	for (size_t i = 0; i < l->objects.n; i++) {
		struct loaded *o = &l->objects.p[i];
		if (!strcmp(o->name, name) || (o->file->soname && !strcmp(o->file->soname, name)))
			return o;
	}
	return NULL;
}

static void add_loaded(struct loader *l, assay_file *f, const char *path, const char *name,
		       const char *by, int parent)
{
	struct loaded o = {.file = f, .path = path, .name = name, .by = by, .parent = parent};
	if (l->objects.n < LOADED_MAX)
		*assay_push(&l->objects) = o;
}

static bool is_stem(const char *name, const char *stem)
{
	size_t n = strlen(stem);
	return !strncmp(name, stem, n) && (!name[n] || name[n] == '.');
}

/* Of the driver, a toolkit or ROCm: none of them has a libcurl. */
static bool is_gpu_library(const char *name)
{
	static const char *const begins[] = {
		"libcublas",   "libcud",      "libcufft",    "libcufile",   "libcupti", "libcurand",
		"libcusolver", "libcusparse", "libcutensor", "libnccl",     "libnv",    "libamd",
		"libhip",      "libhsa",      "libMIOpen",   "libmigraphx", "librccl",  "libroc"};
	return assay_str_starts_any(assay_str_of(name), begins, ASSAY_COUNT_OF(begins));
}

static void not_found(struct loader *l, const char *name)
{
	assay_program *p = l->program;
	for (size_t i = 0; p && i < p->unresolved.n; i++)
		if (!strcmp(p->unresolved.p[i], name))
			return;
	if (p && is_gpu_library(name))
		*assay_push(&p->unresolved) = name;
}

/* Breadth first, as the loader maps them. */
static void load_all(struct loader *l, size_t from)
{
	for (size_t i = from; i < l->objects.n; i++) {
		assay_file *f = l->objects.p[i].file;
		for (size_t k = 0; k < f->n_needed; k++) {
			struct found hit;
			if (already(l, f->needed[k]))
				continue;
			if (search(l, (int)i, f->needed[k], &hit))
				add_loaded(l, hit.file, hit.path, f->needed[k], hit.by, (int)i);
			else
				not_found(l, f->needed[k]);
		}
	}
}

static void start_with(struct loader *l, const char *path, const char *by)
{
	assay_file *f = path ? assay_ctx_file(l->c, path, false) : NULL;
	size_t from = l->objects.n;
	if (!f || !f->elf || already(l, assay_file_name(path)))
		return;
	add_loaded(l, f, path, assay_file_name(path), by, -1);
	load_all(l, from);
}

/* What `import torch` opens, in its order: the global dependencies, then the extension module. */
static void start_torch(struct loader *l)
{
	const char *dir = l->c->env->torch.dir;
	const assay_entries *names = assay_ctx_list(l->c, dir, NULL);
	start_with(l, assay_printf(l->c->a, "%s/lib/libtorch_global_deps.so", dir), "torch");
	for (size_t i = 0; i < names->n; i++)
		if (!strncmp(names->p[i].name, "_C.", 3) && strstr(names->p[i].name, ".so"))
			start_with(l, assay_printf(l->c->a, "%s/%s", dir, names->p[i].name),
				   "torch");
	/* a tree without the extension module still says what its libraries need */
	start_with(l, assay_printf(l->c->a, "%s/lib/libtorch_hip.so", dir), "torch");
	start_with(l, assay_printf(l->c->a, "%s/lib/libtorch_cuda.so", dir), "torch");
	/* torch opens it at the first decomposition */
	start_with(l, assay_printf(l->c->a, "%s/lib/libtorch_cuda_linalg.so", dir), "torch");
}

static const char *wheel_version(assay_ctx *c, const char *dist, const char *path)
{
	size_t n = dist ? strlen(dist) : 0;
	for (size_t i = 0; dist && i < c->env->packages.n; i++) {
		const assay_package *p = &c->env->packages.p[i];
		if (strncmp(p->name, dist, n) != 0 ||
		    (p->name[n] && strncmp(p->name + n, "-cu", 3) != 0))
			continue;
		const char *site = assay_root_real(&c->root, c->a, p->site);
		if (site && !strncmp(path, site, strlen(site)))
			return p->version;
	}
	return NULL;
}

/* Version of the header that was installed with the library, beside its folder; CUDA's runtime
 * has one number: 13020 is 13.2. */
static const char *header_version(assay_ctx *c, const char *lib, const char *path)
{
	static const struct {
		const char *lib, *header, *prefix, *number;
	} headers[] = {
		{"cudnn", "cudnn_version.h", "CUDNN", NULL},
		{"cublas", "cublas_api.h", "CUBLAS_VER", NULL},
		{"cublasLt", "cublas_api.h", "CUBLAS_VER", NULL},
		{"nccl", "nccl.h", "NCCL", NULL},
		{"cudart", "cuda_runtime_api.h", NULL, "CUDART_VERSION"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(headers); i++) {
		assay_str text, v;
		int64_t number;
		if (strcmp(headers[i].lib, lib))
			continue;
		const char *file =
			assay_printf(c->a, "%.*s/../include/%s",
				     (int)(assay_file_name(path) - path), path, headers[i].header);
		if (assay_root_read(&c->root, c->a, file, 4 << 20, &text) != ASSAY_CAUSE_NONE)
			return NULL;
		if (headers[i].prefix)
			return assay_header_version(c->a, text, headers[i].prefix);
		if (assay_header_define(text, headers[i].number, true, &v) &&
		    assay_str_i64(v, &number) && number >= 1000)
			return assay_printf(c->a, "%d.%d", (int)(number / 1000),
					    (int)(number % 1000 / 10));
	}
	return NULL;
}

static void add_copy(assay_ctx *c, assay_lib *lib, assay_file *f, const char *where,
		     const char *dist)
{
	for (size_t i = 0; i < lib->copies.n; i++)
		if (lib->copies.p[i].file == f)
			return;
	assay_lib_copy copy = {.file = f, .where = where};
	assay_lib_version(c->a, f->path, &copy.version, &copy.release);
	if (!copy.version)
		copy.version = wheel_version(c, dist, f->path);
	if (!copy.version)
		copy.version = header_version(c, lib->name, f->path);
	f->want_hash = true;
	*assay_push(&lib->copies) = copy;
}

/* Every file of the library in a folder (not only the best one: two versions side by side
 * matter). */
static void copies_in(assay_ctx *c, assay_lib *lib, const char *dir, const char *where,
		      const char *dist)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	for (size_t i = 0; i < names->n; i++) {
		if (!is_stem(names->p[i].name, lib->stem) || strstr(names->p[i].name, ".bak"))
			continue;
		assay_file *f = assay_ctx_file(
			c, assay_printf(c->a, "%s/%s", dir, names->p[i].name), false);
		if (f && f->elf)
			add_copy(c, lib, f, where, dist);
	}
}

/* site-packages/nvidia/<part>/lib of NVIDIA's wheels. */
static void wheel_copies(assay_ctx *c, assay_lib *lib, const char *dist)
{
	assay_python *p = &c->env->python;
	for (size_t i = 0; i < p->sites.n; i++) {
		const char *top = assay_printf(c->a, "%s/nvidia", p->sites.p[i].path);
		const assay_entries *parts = assay_ctx_list(c, top, NULL);
		for (size_t k = 0; k < parts->n; k++)
			copies_in(c, lib, assay_printf(c->a, "%s/%s/lib", top, parts->p[k].name),
				  "wheel", dist);
	}
}

static void cuda_copies(assay_ctx *c, assay_lib *lib, const char *dist)
{
	const assay_entries *names = assay_ctx_list(c, "/usr/local", NULL);
	for (size_t i = 0; i < names->n; i++)
		if (!strncmp(names->p[i].name, "cuda", 4)) {
			copies_in(c, lib,
				  assay_printf(c->a, "/usr/local/%s/lib64", names->p[i].name),
				  "cuda", dist);
			copies_in(c, lib,
				  assay_printf(c->a, "/usr/local/%s/extras/CUPTI/lib64",
					       names->p[i].name),
				  "cuda", dist);
		}
}

static void path_copies(struct loader *l, assay_lib *lib)
{
	assay_str rest = assay_str_of(l->library_path);
	while (l->library_path && rest.n) {
		assay_str dir = assay_str_cut(&rest, ':');
		if (dir.n && *dir.p == '/')
			copies_in(l->c, lib, assay_dup(l->c->a, dir), "LD_LIBRARY_PATH", NULL);
	}
	size_t at = 0;
	assay_str name, path;
	while (assay_ldcache_next(l->cache, &at, &name, &path)) {
		char *z = assay_dup(l->c->a, name);
		if (!is_stem(z, lib->stem))
			continue;
		assay_file *f = assay_ctx_file(l->c, assay_dup(l->c->a, path), false);
		if (f && f->elf)
			add_copy(l->c, lib, f, "system", NULL);
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(default_dirs); i++)
		copies_in(l->c, lib, default_dirs[i], "system", NULL);
}

static void find_copies(struct loader *l, assay_lib *lib, const char *dist)
{
	assay_ctx *c = l->c;
	assay_env *e = c->env;
	if (e->torch.dir)
		copies_in(c, lib, assay_printf(c->a, "%s/lib", e->torch.dir), "torch", dist);
	bool amd = lib->vendor == ASSAY_VENDOR_AMD;
	for (size_t i = 0; amd && i < e->roots.n; i++)
		for (size_t k = 0; k < e->roots.p[i].n_lib_dirs; k++)
			copies_in(c, lib, e->roots.p[i].lib_dir[k],
				  !strcmp(e->roots.p[i].layout, "distro") ? "system" : "rocm",
				  dist);
	if (!amd) {
		wheel_copies(c, lib, dist);
		cuda_copies(c, lib, dist);
	}
	path_copies(l, lib);
}

static void torch_choice(struct loader *l, assay_lib *lib)
{
	for (size_t i = 0; i < l->objects.n; i++) {
		struct loaded *o = &l->objects.p[i];
		if (!is_stem(assay_file_name(o->path), lib->stem) && !is_stem(o->name, lib->stem))
			continue;
		lib->effective = o->file;
		lib->by = o->by;
		add_copy(l->c, lib, o->file, "path", NULL);
		return;
	}
}

static bool is_replaced(const assay_ctx *c, const char *path)
{
	for (size_t i = 0; i < c->env->process.replaced.n; i++)
		if (!strcmp(c->env->process.replaced.p[i], path))
			return true;
	return false;
}

/* A process that runs needs no guess: what it has mapped is what it loaded. */
static void process_choice(assay_ctx *c, assay_lib *lib)
{
	for (size_t i = 0; i < c->env->process.maps.n; i++) {
		const char *path = c->env->process.maps.p[i];
		if (!is_stem(assay_file_name(path), lib->stem) || is_replaced(c, path))
			continue;
		assay_file *f = assay_ctx_file(c, path, false);
		if (!f)
			continue;
		lib->effective = f;
		lib->by = "mapped by the process";
		add_copy(c, lib, f, "path", NULL);
		return;
	}
}

/* What a program with no search path of its own gets: by the soname of any copy, then plain
 * libX.so. */
static void plain_choice(struct loader *l, assay_lib *lib)
{
	struct found hit;
	for (size_t i = 0; i < lib->copies.n && !lib->plain; i++) {
		const char *soname = lib->copies.p[i].file->soname;
		if (soname && search(l, -1, soname, &hit)) {
			lib->plain = hit.file;
			lib->plain_by = hit.by;
		}
	}
	if (!lib->plain && search(l, -1, lib->stem, &hit)) {
		lib->plain = hit.file;
		lib->plain_by = hit.by;
	}
}

static bool same_build(const assay_file *a, const assay_file *b)
{
	if (a == b)
		return true;
	if (a->hashed && b->hashed)
		return !strcmp(a->sha256, b->sha256);
	if (a->build_id && b->build_id)
		return !strcmp(a->build_id, b->build_id);
	return a->size == b->size;
}

static void linkage(struct loader *l)
{
	assay_env *e = l->c->env;
	int64_t rpath = 0, runpath = 0, plain = 0;
	for (size_t i = 0; i < l->objects.n; i++) {
		const assay_file *f = l->objects.p[i].file;
		rpath += f->rpath && !f->runpath;
		runpath += f->runpath != NULL;
		plain += !f->rpath && !f->runpath;
	}
	if (!l->objects.n)
		return;
	e->rpath_objects = (assay_num){true, rpath};
	e->runpath_objects = (assay_num){true, runpath};
	e->plain_objects = (assay_num){true, plain};
}

/* The known libraries among what was loaded. */
static void keep_objects(struct loader *l)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(known); i++)
		for (size_t k = 0; k < l->objects.n; k++) {
			struct loaded *o = &l->objects.p[k];
			if (!is_stem(assay_file_name(o->path), known[i].stem) &&
			    !is_stem(o->name, known[i].stem))
				continue;
			o->file->want_hash = true;
			*assay_push(&l->program->libs) =
				(assay_used_file){known[i].name, o->path, o->by, o->file};
			break;
		}
}

static void mapped_program(assay_ctx *c)
{
	assay_program p = {.name = "process"};
	for (size_t i = 0; i < c->env->libs.n; i++) {
		const assay_lib *lib = &c->env->libs.p[i];
		if (lib->effective)
			*assay_push(&p.libs) = (assay_used_file){lib->name, lib->effective->path,
								 lib->by, lib->effective};
	}
	*assay_push(&c->env->programs) = p;
}

/* Every shared object in the folders of a framework that match. */
static void start_folder(struct loader *l, const char *dir, const char *by)
{
	const assay_entries *names = assay_ctx_list(l->c, dir, NULL);
	for (size_t i = 0; i < names->n; i++)
		if (strstr(names->p[i].name, ".so"))
			start_with(l, assay_printf(l->c->a, "%s/%s", dir, names->p[i].name), by);
}

/* Folders under site-packages whose shared objects a framework opens; a star ends a prefix. */
static const struct {
	const char *program, *parent, *folder;
} frameworks[] = {
	{"jax", "", "jaxlib"},
	{"jax", "jax_plugins/", "xla_rocm*"},
	{"jax", "jax_plugins/", "xla_cuda*"},
	{"jax", "", "jax_rocm*"},
	{"jax", "", "jax_cuda*"},
	{"tensorflow", "", "tensorflow"},
	{"tensorflow", "tensorflow/", "python"},
};

static bool fits(const char *name, const char *folder)
{
	size_t n = strlen(folder);
	return folder[n - 1] == '*' ? !strncmp(name, folder, n - 1) : !strcmp(name, folder);
}

static void start_framework(struct loader *l, const char *program)
{
	const assay_python *p = &l->c->env->python;
	for (size_t s = 0; s < p->sites.n; s++)
		for (size_t i = 0; i < ASSAY_COUNT_OF(frameworks); i++) {
			if (strcmp(frameworks[i].program, program))
				continue;
			const char *top = assay_printf(l->c->a, "%s/%s", p->sites.p[s].path,
						       frameworks[i].parent);
			const assay_entries *names = assay_ctx_list(l->c, top, NULL);
			for (size_t k = 0; k < names->n; k++)
				if (fits(names->p[k].name, frameworks[i].folder))
					start_folder(l,
						     assay_printf(l->c->a, "%s/%s", top,
								  names->p[k].name),
						     program);
		}
}

/* As the first copy's name asks for it. */
static void open_one(struct loader *l, size_t from, const assay_lib *lib)
{
	struct found hit;
	for (size_t i = 0; i < lib->copies.n; i++) {
		const char *name = lib->copies.p[i].file->soname;
		if (name && already(l, name))
			return;
		if (name && search(l, (int)from, name, &hit)) {
			size_t first = l->objects.n;
			add_loaded(l, hit.file, hit.path, name, hit.by, (int)from);
			load_all(l, first);
			return;
		}
	}
}

/* XLA needs none of NVIDIA's libraries at its start: it opens them by name, on the search path of
 * its plugin, or of TensorFlow's objects, which have the folders of their wheels. */
static void open_by_name(struct loader *l)
{
	static const char *const opened[] = {"cudart",   "cudnn",     "cublas", "cublasLt",
					     "nccl",     "nvshmem",   "cufft",  "cusolver",
					     "cusparse", "nvJitLink", "cupti",  "cuda"};
	for (size_t i = 0, n = l->objects.n; i < n; i++) {
		const assay_file *f = l->objects.p[i].file;
		const char *path = f->runpath ? f->runpath : f->rpath;
		if (!path || !strstr(path, "/nvidia/") || strstr(l->objects.p[i].path, "/nvidia/"))
			continue;
		for (size_t k = 0; k < l->c->env->libs.n; k++)
			for (size_t o = 0; o < ASSAY_COUNT_OF(opened); o++)
				if (!strcmp(l->c->env->libs.p[k].name, opened[o]))
					open_one(l, i, &l->c->env->libs.p[k]);
	}
}

static bool is_loaded(const struct loader *l, const char *stem)
{
	for (size_t i = 0; i < l->objects.n; i++)
		if (is_stem(l->objects.p[i].name, stem))
			return true;
	return false;
}

/* TensorFlow is linked with HIP, and opens ROCm's other libraries by their names without a number,
 * on the search path of the object that holds its runtime. */
static void open_by_name_of_rocm(struct loader *l)
{
	static const char *const opened[] = {
		"librocblas.so",   "libMIOpen.so",    "libhipblaslt.so", "libhipfft.so",
		"libhipsolver.so", "libhipsparse.so", "librocsolver.so", "librocrand.so"};
	size_t from = 0;
	while (from < l->objects.n &&
	       !is_stem(l->objects.p[from].name, "libtensorflow_framework.so"))
		from++;
	if (from == l->objects.n || !is_loaded(l, "libamdhip64.so"))
		return;
	for (size_t i = 0; i < ASSAY_COUNT_OF(opened); i++) {
		struct found hit;
		size_t first = l->objects.n;
		if (is_loaded(l, opened[i]))
			continue;
		if (search(l, (int)from, opened[i], &hit))
			add_loaded(l, hit.file, hit.path, opened[i], hit.by, (int)from);
		else
			not_found(l, opened[i]);
		load_all(l, first);
	}
}

static void other_frameworks(struct loader *l)
{
	static const char *const names[] = {"jax", "tensorflow"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(names); i++) {
		assay_program p = {.name = names[i]};
		struct loader own = {.c = l->c,
				     .cache = l->cache,
				     .library_path = l->library_path,
				     .program = &p};
		start_framework(&own, names[i]);
		open_by_name(&own);
		open_by_name_of_rocm(&own);
		keep_objects(&own);
		if (own.objects.n)
			*assay_push(&l->c->env->programs) = p;
		assay_vec_free(&own.objects);
	}
}

/* vLLM's extensions are loaded into a process that has torch already. */
static void vllm(struct loader *l)
{
	const assay_python *py = &l->c->env->python;
	assay_program p = {.name = "vllm"};
	size_t before = l->objects.n;
	l->program = &p;
	for (size_t s = 0; s < py->sites.n; s++)
		start_folder(l, assay_printf(l->c->a, "%s/vllm", py->sites.p[s].path), "vllm");
	if (l->objects.n != before) {
		keep_objects(l);
		*assay_push(&l->c->env->programs) = p;
	}
	l->program = NULL;
}

static void run(assay_ctx *c)
{
	assay_env *e = c->env;
	struct loader l = {.c = c, .library_path = assay_ctx_var(c, "LD_LIBRARY_PATH")};
	const char *preload = assay_ctx_var(c, "LD_PRELOAD");
	assay_root_read(&c->root, c->a, "/etc/ld.so.cache", 64 << 20, &l.cache);
	assay_str rest = assay_str_of(preload);
	while (preload && rest.n) {
		size_t n = strcspn(rest.p, ": ");
		n = n < rest.n ? n : rest.n;
		char *path = assay_dup(c->a, (assay_str){rest.p, n});
		rest = (assay_str){rest.p + n + (n < rest.n), rest.n - n - (n < rest.n)};
		if (*path == '/')
			start_with(&l, path, "LD_PRELOAD");
	}
	assay_program torch = {.name = "torch"};
	l.program = e->torch.dir ? &torch : NULL;
	if (e->torch.dir)
		start_torch(&l);
	for (size_t i = 0; i < ASSAY_COUNT_OF(known); i++) {
		assay_lib lib = {
			.name = known[i].name, .stem = known[i].stem, .vendor = known[i].vendor};
		find_copies(&l, &lib, known[i].dist);
		if (c->opts->pid)
			process_choice(c, &lib);
		else
			torch_choice(&l, &lib);
		plain_choice(&l, &lib);
		if (lib.copies.n)
			*assay_push(&e->libs) = lib;
		else
			assay_vec_free(&lib.copies);
	}
	linkage(&l);
	if (e->torch.dir) {
		keep_objects(&l);
		*assay_push(&e->programs) = torch;
	}
	vllm(&l);
	assay_vec_free(&l.objects);
	other_frameworks(&l);
	if (c->opts->pid)
		mapped_program(c);
}

assay_file *assay_ctx_dlopen(assay_ctx *c, const char *name, const char **path, const char **by)
{
	struct loader l = {.c = c, .library_path = assay_ctx_var(c, "LD_LIBRARY_PATH")};
	struct found hit;
	assay_root_read(&c->root, c->a, "/etc/ld.so.cache", 64 << 20, &l.cache);
	if (!search(&l, -1, name, &hit))
		return NULL;
	*path = hit.path;
	*by = *name == '/' ? "path" : hit.by;
	hit.file->want_hash = true;
	return hit.file;
}

const assay_lib_copy *assay_lib_copy_of(const assay_lib *lib, const assay_file *f)
{
	for (size_t i = 0; i < lib->copies.n; i++)
		if (lib->copies.p[i].file == f)
			return &lib->copies.p[i];
	return NULL;
}

static const char *label(const assay_lib_copy *copy)
{
	return copy && copy->version ? copy->version : "unknown version";
}

/* A copy without a version in its name is the same file, by content, as one that has it. */
static void share_versions(assay_lib *lib)
{
	for (size_t i = 0; i < lib->copies.n; i++)
		for (size_t k = 0; !lib->copies.p[i].version && k < lib->copies.n; k++) {
			const assay_file *a = lib->copies.p[i].file, *b = lib->copies.p[k].file;
			if (lib->copies.p[k].version && a->hashed && b->hashed &&
			    !strcmp(a->sha256, b->sha256))
				lib->copies.p[i].version = lib->copies.p[k].version;
		}
}

/* torch's own copy against the system's: the classic reason a patched library changes nothing. */
static void finish(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->libs.n; i++) {
		assay_lib *lib = &c->env->libs.p[i];
		share_versions(lib);
		if (!lib->effective)
			continue;
		for (size_t k = 0; k < lib->copies.n && !lib->disagree; k++) {
			const assay_lib_copy *other = &lib->copies.p[k],
					     *used = assay_lib_copy_of(lib, lib->effective);
			bool installed = !strcmp(other->where, "rocm") ||
					 !strcmp(other->where, "cuda") ||
					 !strcmp(other->where, "system");
			if (!installed || same_build(lib->effective, other->file))
				continue;
			lib->disagree = true;
			assay_ctx_finding(c, "library-mismatch",
					  "torch loads %s %s (%s), not %s %s", lib->effective->path,
					  label(used), lib->by, other->file->path, label(other));
		}
	}
}

const assay_probe assay_probe_loader = {.name = "loader", .run = run, .finish = finish};

TEST(origin_is_expanded)
{
	assay_arena a = {0};
	CHECK(!strcmp(expand(&a, ASSAY_S("$ORIGIN/../lib"), "/t/lib"), "/t/lib/../lib"));
	CHECK(!strcmp(expand(&a, ASSAY_S("${ORIGIN}"), "/t"), "/t"));
	CHECK(!strcmp(expand(&a, ASSAY_S("/abs"), "/t"), "/abs"));
	assay_arena_free(&a);
	return 0;
}

TEST(library_stems_match_whole_names)
{
	CHECK(is_stem("libcublas.so.13", "libcublas.so") &&
	      is_stem("libcublas.so", "libcublas.so"));
	CHECK(!is_stem("libcublasLt.so.13", "libcublas.so") &&
	      !is_stem("libcuda.so1", "libcuda.so"));
	return 0;
}
