/* What package managers installed, and which of them owns a file. */
#ifndef ASSAY_PROBE_PACKAGES_H
#define ASSAY_PROBE_PACKAGES_H

#include "probe/probe.h"

/* The version of an installed package before its packaging: "1:5.5.1+dfsg-2" is 5.5.1. */
const char *assay_upstream_version(assay_arena *a, const char *version);

/* A package of the distribution by name, or NULL. */
const assay_installed *assay_ctx_installed(const assay_ctx *c, const char *name);

/* Packages whose names say that they are of GPUs. */
bool assay_is_gpu_package(assay_str name);

/* Files whose owner is asked for. */
typedef struct assay_asked {
	const char *path; /* links resolved */
	assay_installed *owner;
} assay_asked;

typedef struct assay_owners {
	assay_ctx *c;
	assay_vec(assay_asked) asked;
	assay_map at;   /* hash of the path -> its index */
	size_t unowned; /* asked and not yet told */
} assay_owners;

/* "This package has that file." The first one to say so is believed. */
void assay_owners_offer(assay_owners *o, assay_str path, const assay_installed *package);

/* RPM's database: packages into c->installed, and owners of what is asked for. */
void assay_rpm_list(assay_ctx *c);
void assay_rpm_owners(assay_owners *o);
/* Where a database was read, so that a package it does not name is known not to be there. */
bool assay_rpm_is_read(assay_ctx *c);

#endif
