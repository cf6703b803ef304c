/* The environment snapshot: what identifies the GPU software of a machine. Schema 1.1 (25 top-level
 * keys) plus one block of our own, `assay`. docs/formats/env.md says what each field means.
 *
 * NULL text, ASSAY_TRI_UNKNOWN and an absent number are JSON null: it could not be told. */
#ifndef ASSAY_PROBE_ENV_H
#define ASSAY_PROBE_ENV_H

#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/jsonw.h"
#include "names/vendors.h"
#include "probe/root.h"

#define ASSAY_ENV_SCHEMA "1.1"

typedef enum assay_tri { ASSAY_TRI_UNKNOWN, ASSAY_TRI_NO, ASSAY_TRI_YES } assay_tri;

typedef struct assay_num {
	bool known;
	int64_t v;
} assay_num;

typedef enum assay_level {
	ASSAY_LEVEL_ERROR,    /* it is there and could not be read */
	ASSAY_LEVEL_MISSING,  /* it should be there */
	ASSAY_LEVEL_EXPECTED, /* normal on a host like this: told, but never makes a snapshot
				 partial */
} assay_level;

typedef struct assay_reason {
	assay_level level;
	const char *text; /* "<block>.<field>: <cause>" */
} assay_reason;

/* Something a person should know that is no missing fact: "two torches on the path". */
typedef struct assay_finding {
	const char *code, *text;
} assay_finding;

/* One file that was identified. Two paths to the same inode are one file. */
typedef struct assay_file {
	const char *path; /* resolved */
	dev_t dev;
	ino_t ino;
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
	bool elf, ld_script;
	const char *soname, *build_id, *rpath, *runpath;
	const char **needed;
	size_t n_needed;
	bool want_hash, hashed;
	bool tree;            /* the digest is of the digests of its 16 MB pieces */
	bool only_remembered; /* take its digest from the cache, or none */
	char sha256[65];      /* lower hex; "" when not hashed */
	assay_cause cause;
} assay_file;

typedef assay_vec(assay_file *) assay_files;

typedef struct assay_env_math {
	const char *tweak, *package_version, *kernel_db;
	bool from_package; /* package_version is the distribution's, not the header's */
	assay_file *lib;
} assay_env_math;

/* A place ROCm is installed. */
typedef struct assay_rocm_root {
	const char *path, *source, *layout;
	const char *version, *version_source;
	const char *lib_dir[8];
	size_t n_lib_dirs;
	bool chosen;
} assay_rocm_root;

/* A package of dpkg, rpm, pacman, conda or pip. */
typedef struct assay_installed {
	const char *manager, *name, *version;
} assay_installed;

/* A copy of a named library, and where it was found. */
typedef struct assay_lib_copy {
	assay_file *file;
	assay_installed owner; /* name NULL: no package has it */
	const char *where;     /* torch, wheel, rocm, cuda, system, path */
	const char *version, *release;
} assay_lib_copy;

typedef struct assay_lib {
	const char *name, *stem; /* "rocblas", "librocblas.so" */
	assay_vendor vendor;
	assay_vec(assay_lib_copy) copies;
	assay_file *effective; /* what a process that imports torch gets; NULL: not linked or no
				  torch */
	const char *by;        /* rule that found it: "RPATH of libtorch_hip.so", "ld.so.cache" */
	assay_file *plain;     /* what a program without a search path of its own gets */
	const char *plain_by;
	bool disagree; /* torch's copy and the system's are different builds */
} assay_lib;
/* The copy that is this file, or NULL. */
const assay_lib_copy *assay_lib_copy_of(const assay_lib *lib, const assay_file *f);

typedef struct assay_kdb_file {
	const char *name; /* below the database's folder */
	assay_file *file; /* NULL: could not be opened */
} assay_kdb_file;

typedef struct assay_kdb {
	const char *library, *path, *names_hash;
	assay_vec(assay_kdb_file) members; /* by name */
	uint64_t bytes;
	const char **arch;
	size_t n_arch;
	char content[65];      /* "" unless every file was read */
	assay_installed owner; /* of its first file; name NULL: no package has it */
	bool extra; /* found only through a program that uses it: in no block of the schema */
} assay_kdb;

/* What a program that starts here gets, overrides followed. */
typedef struct assay_used_file {
	const char *name, *path, *by; /* by: the rule or the variable that leads there */
	assay_file *file;             /* NULL: nothing is there */
} assay_used_file;

typedef struct assay_used_cache {
	const char *name, *path, *by;
	bool present;
} assay_used_cache;

typedef struct assay_used_kdb {
	const char *library, *path, *by;
	size_t kdb; /* in env->kdbs; SIZE_MAX when nothing is there */
} assay_used_kdb;

typedef struct assay_program {
	const char *name; /* torch, jax, tensorflow, vllm, process */
	assay_vec(assay_used_file) libs;
	assay_vec(const char *)
		unresolved; /* GPU libraries it needs and the loader does not find */
	assay_vec(assay_used_kdb) kdbs;
} assay_program;

typedef struct assay_pair {
	const char *key, *value;
} assay_pair;

typedef assay_vec(assay_pair) assay_pairs;

typedef struct assay_gpu {
	const char *arch, *name, *uuid, *bus, *vbios, *unique_id, *partition, *memory_partition;
	const char *serial, *mig, *ecc, *persistence, *compute_mode, *cc, *performance_level;
	assay_num node, render_minor, memory_mb, fw_version, sdma_fw_version, compute_units;
	assay_num power_limit_mw, device_id, xcc, link_width;
	assay_tri openable;
	const char *source; /* kfd, nvml, proc */
	assay_pairs more;   /* links, clocks, firmware by block, health */
} assay_gpu;

typedef struct assay_package {
	const char *name, *version, *site, *info, *commit;
} assay_package;

typedef struct assay_site {
	const char *path, *origin; /* origin: PYTHONPATH, venv, user, system, pth, option */
	assay_entries names;
	bool listed;
} assay_site;

typedef struct assay_python {
	const char *exe, *prefix, *base_prefix, *version, *xy, *found_by;
	const char *env_kind, *venv_path, *conda_name;
	assay_vec(assay_site) sites;
} assay_python;

typedef struct assay_torch {
	const char *dir, *site, *version, *git, *hip, *cuda, *info_version;
	assay_tri debug;
	const char *kind, *source_path, *source_head;
	const char *sub[3]; /* composable_kernel, aiter, fbgemm */
	bool sub_from_git;
	assay_pairs settings;
	const char *flags, *flags_source, *arch_list;
	assay_vec(const char *) shadowed;
	assay_num ck, ck_tile, aotriton_syms, flash;
} assay_torch;

typedef struct assay_timing {
	const char *name;
	int64_t ns;
} assay_timing;

typedef struct assay_env {
	assay_arena arena;
	char captured_at[32], probed_at[32];
	const char *system_health; /* JSON text as rdhc wrote it */
	struct {
		const char *version, *version_dev, *kmd_version;
	} rocm;
	struct {
		const char *version, *platform, *compiler, *runtime, *cpp_config;
	} hip;
	assay_env_math hipblaslt, rocblas, miopen;
	struct {
		assay_num code;
		const char *version;
		assay_file *lib;
	} rccl;
	struct {
		const char *version, *commit;
		bool tile_present, bundled;
		assay_tri sdpa, gemm;
	} ck;
	const char *tensile_version, *tensile_db, *triton_version, *fbgemm_version, *aiter_version;
	assay_tri use_fbgemm, use_fbgemm_genai;
	struct {
		bool present, images;
		const char *version, *prefix;
		assay_file *lib;
	} aotriton;
	struct {
		bool known;
		assay_vec(const char *) arch; /* one each GPU, silicon */
	} gpu_arch;
	const char *context; /* docker, podman, singularity, baremetal */
	struct {
		const char *release, *version, *machine, *glibc;
	} host;
	struct {
		const char *image, *digest, *id, *id_source;
	} docker;
	assay_pairs vars, more_vars; /* the 31, and those only the assay block has */
	assay_python python;
	assay_torch torch;
	assay_vec(assay_reason) reasons;
	assay_vec(const char *) absent; /* paths of what is known not to be there; "path.*": what
					   path does not list is not there */
	/* beyond schema 1.1 */
	assay_vec(assay_finding) findings;
	assay_vec(assay_rocm_root) roots;
	assay_vec(assay_lib) libs;
	assay_vec(assay_kdb) kdbs;
	assay_vec(assay_program) programs;
	assay_vec(assay_used_file) used_files; /* tuning files and plugins that variables name */
	assay_vec(assay_used_cache) caches;    /* where compiled and tuned kernels are kept */
	assay_vec(assay_gpu) gpus;
	bool gpus_known; /* every place a GPU could show up was looked at */
	assay_vec(assay_package) packages;
	assay_vec(assay_timing) timings;
	assay_pairs nvidia, amdgpu, host_more, nics, system_packages;
	assay_pairs package_sources, conda; /* where a package came from; conda's own list */
	assay_pairs therock;                /* what TheRock says it was built from */
	assay_pairs live;                   /* readings that change by themselves */
	assay_pairs effective_arch;         /* GPU index -> arch the runtime will believe */
	assay_num gpus_hidden, gpus_visible;
	const char *override_gfx, *target_lst, *container_kind;
	bool container, kubernetes;
	assay_num rpath_objects, runpath_objects, plain_objects;
	struct {
		pid_t pid;
		const char *exe, *called; /* called: as its command line names it, or NULL */
		const char *site;         /* folder whose torch it has mapped, or NULL */
		assay_vec(const char *) maps;
		assay_vec(const char *) replaced; /* those whose name leads to another file now */
	} process;
	assay_files files;
	bool hashed;
	size_t left; /* files that have no digest since it was not waited for */
	const char *root;
	const char *variables; /* whose: process, given, none */
} assay_env;

/* Orders to a probe that is under way, from another thread or process. */
typedef struct assay_env_pace {
	_Atomic int beside; /* a program runs that is worth more: digests take two processors at
			       most, and only when nobody wants them */
	_Atomic int stop;   /* what has no digest yet stays without */
} assay_env_pace;

typedef struct assay_env_opts {
	size_t size;
	const char *root;   /* NULL: "/" */
	const char *python; /* interpreter; NULL: the one the user would run */
	const char **sites; /* site-packages given by hand, NULL-terminated; NULL: none */
	pid_t pid;          /* 0: nobody; else its environment and what it has mapped */
	const char **vars;  /* "NAME=value" given by hand, NULL-terminated; NULL: none */
	bool no_hash, health, no_cache;
	bool quick;        /* a program waits: large databases only as far as they are remembered */
	int64_t health_ns; /* time limit of rdhc; 0: 30 s */
	/* told now and then how many bytes are hashed, on the caller's thread; may be NULL */
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *progress_ctx;
	/* told all but the digests when there are some to be made; may be NULL */
	void (*early)(void *ctx, const assay_env *env);
	void *early_ctx;
	const assay_env_pace *pace; /* may be NULL */
} assay_env_opts;

/* Fills *env (zeroed by the callee). False only when the root or the process cannot be used at all:
 * anything else that fails is a reason in the snapshot. */
bool assay_env_probe(assay_env *env, const assay_env_opts *opts, assay_err *err);
void assay_env_free(assay_env *env);

/* Reasons that make the snapshot partial. */
size_t assay_env_partial(const assay_env *env);

void assay_env_write(const assay_env *env, assay_jsonw *w);
/* The same as text of the arena, padded for reading. */
assay_str assay_env_padded(assay_arena *a, const assay_env *env);

/* The files of the kernel databases, one by one; false when there are none. */
bool assay_env_write_catalog(const assay_env *env, assay_jsonw *w);

/* "sha256:HEX", or "sha256-16m:HEX" of a large file; NULL when it was not read. */
const char *assay_kdb_digest(assay_arena *a, const assay_kdb_file *m);

#endif
