/* Inside the probes: what they share, and the one row each of them is. */
#ifndef ASSAY_PROBE_PROBE_H
#define ASSAY_PROBE_PROBE_H

#include "base/map.h"
#include "probe/env.h"
#include "probe/root.h"

typedef struct assay_dir_seen {
	const char *path;
	assay_entries names;
	assay_cause cause;
} assay_dir_seen;

typedef struct assay_ctx {
	assay_env *env;
	assay_arena *a; /* the snapshot's own */
	assay_root root;
	assay_shut shut;        /* what of it could not be looked into */
	const assay_root *proc; /* where /proc/PID of the described process is */
	bool same_kernel;       /* the root is on this machine: the kernel and NVML may be asked */
	const assay_env_opts *opts;
	char **vars;     /* "NAME=value" of the process that is described, NULL-terminated */
	bool amd;        /* there is reason to expect ROCm here */
	bool nvidia;     /* and CUDA */
	bool bundled;    /* torch brings its own ROCm libraries */
	bool running;    /* the root has a kernel under it: /sys says something */
	bool vars_known; /* of a process; an image has no variables */
	assay_vec(assay_dir_seen *) dirs;
	assay_map file_at; /* device and inode -> index in env->files */
	struct assay_nvml_job *nvml;
	assay_vec(assay_installed) installed; /* by the distribution; of RPM's, GPU packages only */
} assay_ctx;

typedef struct assay_probe {
	const char *name; /* block, also in the timings */
	void (*run)(assay_ctx *c);
	void (*finish)(assay_ctx *c); /* after hashing; may be NULL */
} assay_probe;

extern const assay_probe assay_probe_runtime, assay_probe_host, assay_probe_python,
	assay_probe_torch, assay_probe_rocm, assay_probe_math, assay_probe_ck, assay_probe_gpu,
	assay_probe_nvidia, assay_probe_loader, assay_probe_packages, assay_probe_process,
	assay_probe_health, assay_probe_absent, assay_probe_effective, assay_probe_database,
	assay_probe_hardware, assay_probe_owners;

/* Value of a variable of the described process, or NULL. */
const char *assay_ctx_var(const assay_ctx *c, const char *name);

void assay_ctx_reason(assay_ctx *c, assay_level level, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void assay_ctx_finding(assay_ctx *c, const char *code, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void assay_ctx_pair(assay_ctx *c, assay_pairs *to, const char *key, const char *value);

/* Directory listings are kept: several probes look at the same folders. Never NULL; empty on
 * failure, for which cause (may be NULL) is told. */
const assay_entries *assay_ctx_list(assay_ctx *c, const char *path, assay_cause *cause);

/* A small text file's content, or NULL. */
char *assay_ctx_text(assay_ctx *c, const char *path);

/* The file behind path, read once; NULL when it is no readable regular file. */
assay_file *assay_ctx_file(assay_ctx *c, const char *path, bool want_hash);

/* libX.so, else the highest libX.so.N.M in dir, as the schema orders them: numbers as numbers,
 * other suffixes last. Linker scripts are passed over. */
assay_file *assay_ctx_pick(assay_ctx *c, const char *dir, const char *stem);

/* What dlopen(name) would open in a program without search paths of its own, and by which rule;
 * NULL when the loader finds nothing. */
assay_file *assay_ctx_dlopen(assay_ctx *c, const char *name, const char **path, const char **by);

/* Version and ROCm release out of a library's file name: librocblas.so.5.0.70002 is 5.0 of
 * 7.0.2. */
void assay_lib_version(assay_arena *a, const char *path, const char **version,
		       const char **release);

/* Hash every file that wants it, on all processors. */
void assay_ctx_hash(assay_ctx *c);

/* Digest of text, as 64 hex digits. */
void assay_sha256_hex(const void *p, size_t n, char out[65]);

/* The kernel database of a library in dir, described once; its number in env->kdbs. */
size_t assay_ctx_database(assay_ctx *c, const char *library, const char *dir);

/* The folder Python was installed into, a virtual environment left out; NULL without a Python. */
const char *assay_ctx_python_home(const assay_ctx *c);

/* Where pip was told to take a package from, as its direct_url.json says:
 * {"url": ..., "vcs_info": {"commit_id": ...}, "dir_info": {"editable": true}} */
typedef struct assay_direct_url {
	assay_str url, commit;
	bool editable;
} assay_direct_url;
bool assay_direct_url_parse(assay_arena *a, assay_str json, assay_direct_url *from);
bool assay_ctx_direct_url(assay_ctx *c, const assay_package *p, assay_direct_url *from);

/* Python side: the package with one of these names (normalised), or NULL. */
const assay_package *assay_ctx_package(const assay_ctx *c, const char *const *names);

#endif
