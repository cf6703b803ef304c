/* Arguments of intercepted calls, as numbers. */
#ifndef ASSAY_RECORD_ARGS_H
#define ASSAY_RECORD_ARGS_H

#include <string.h>

#include "wire/wire.h"

enum { ASSAY_IPC_HANDLE = 64 }; /* bytes of a handle that processes share; CUDA and HIP */

/* The value of so many bytes at p, at most 8. */
static inline uint64_t assay_arg_at(const void *p, size_t bytes)
{
	uint64_t v = 0;
	memcpy(&v, p, bytes <= sizeof v ? bytes : sizeof v);
	return v;
}

/* The handle that an address points to; 0 for none. */
static inline uint64_t assay_arg_behind(uint64_t address)
{
	return address ? assay_arg_at((const void *)(uintptr_t)address, sizeof(uint64_t)) : 0;
}

/* A handle that processes share; 0 for none. */
static inline uint64_t assay_arg_shared(const void *p)
{
	return p ? assay_wire_sum(p, ASSAY_IPC_HANDLE) : 0;
}

#endif
