/* The few functions of MPI that are needed to find a place among others and to wait for them, from
 * whichever library is there: nothing is linked. Handles differ between the three binary
 * interfaces: numbers in MPICH's (also Intel's, Cray's and MVAPICH's), addresses of variables in
 * Open MPI's, small numbers as addresses in that of MPI 5.0 (chapter 20). All are passed in one
 * register. */
#ifndef ASSAY_VENDOR_MPI_H
#define ASSAY_VENDOR_MPI_H

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t assay_mpi_handle;

typedef struct assay_mpi {
	const char *library; /* as it was opened */
	assay_mpi_handle world, byte;
	int (*init)(int *, char ***);
	int (*comm_rank)(assay_mpi_handle, int *);
	int (*comm_size)(assay_mpi_handle, int *);
	int (*gather)(const void *, int, assay_mpi_handle, void *, int, assay_mpi_handle, int,
		      assay_mpi_handle);
	int (*finalize)(void);
	int (*abi_version)(int *, int *);
} assay_mpi;

/* Open the library at `given`, or the first that is there: NULL when nothing is wrong, else why it
 * cannot be used. open_mpi: processes were started by Open MPI, whose library is tried first; 0
 * otherwise. */
const char *assay_mpi_open(assay_mpi *m, const char *given, int open_mpi);

#endif
