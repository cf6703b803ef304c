#include "vendor/mpi.h"

#include <dlfcn.h>

#include "vendor/dl.h"

static const assay_sym symbols[] = {
	{{"MPI_Init"}, offsetof(assay_mpi, init), true},
	{{"MPI_Comm_rank"}, offsetof(assay_mpi, comm_rank), true},
	{{"MPI_Comm_size"}, offsetof(assay_mpi, comm_size), true},
	{{"MPI_Gather"}, offsetof(assay_mpi, gather), true},
	{{"MPI_Finalize"}, offsetof(assay_mpi, finalize), true},
	{{"MPI_Abi_get_version"}, offsetof(assay_mpi, abi_version), false},
};

/* Versioned names: without a number it is often a linker script, or not there at all. libmpich is
 * what Debian calls libmpi.so.12. */
static const char *const of_open_mpi[] = {"libmpi.so.40", "libmpi.so.80", NULL};
static const char *const of_others[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12",
					"libmpich.so.12", NULL};

/* Open MPI's plugins look for its symbols among everybody's. */
static void *open_first(const char *const *names, const char **found)
{
	void *lib = NULL;
	for (; !lib && *names; names++)
		if ((lib = dlopen(*names, RTLD_NOW | RTLD_GLOBAL)))
			*found = *names;
	return lib;
}

static void choose_handles(assay_mpi *m, void *lib)
{
	int major = -1, minor = -1;
	m->world = (uintptr_t)dlsym(lib, "ompi_mpi_comm_world");
	m->byte = (uintptr_t)dlsym(lib, "ompi_mpi_byte");
	if (m->world && m->byte)
		return;
	if (m->abi_version && m->abi_version(&major, &minor) == 0 && major >= 1) {
		m->world = 0x101;
		m->byte = 0x247;
	} else { /* MPICH's mpi.h; the same in all of its family since 2014 */
		m->world = 0x44000000;
		m->byte = 0x4c00010d;
	}
}

const char *assay_mpi_open(assay_mpi *m, const char *given, int open_mpi)
{
	const char *const one[] = {given, NULL};
	const char *const *first = given ? one : open_mpi ? of_open_mpi : of_others;
	void *lib = open_first(first, &m->library);
	if (!lib && !given)
		lib = open_first(open_mpi ? of_others : of_open_mpi, &m->library);
	if (!lib)
		return given ? "it cannot be opened" : "no MPI library is installed";
	const char *missing = assay_dl_bind(lib, m, symbols, sizeof symbols / sizeof *symbols);
	if (!missing)
		choose_handles(m, lib);
	return missing ? "it has not the functions of MPI" : NULL;
}
