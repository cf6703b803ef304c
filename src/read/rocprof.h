/* What the formats of rocprofiler-sdk's records (results.json, rocpd, our captures of it) have in
 * common. */
#ifndef ASSAY_READ_ROCPROF_H
#define ASSAY_READ_ROCPROF_H

#include "base/json.h"
#include "model/run.h"

/* Kind of a host span from the name of its domain: hip_api, HIP_RUNTIME_API_EXT,
 * MARKER_CORE_API... */
assay_host_kind assay_rocprof_marker_kind(assay_str function);
assay_host_kind assay_rocprof_host_kind(assay_str domain);

/* The first rocprof: what its work and calls are, by their names. */
assay_gpu_kind assay_rocprof_first_work(assay_str name);
assay_host_kind assay_rocprof_first_call(assay_str name);

/* Length of a span, counting what is wrong with it; false when it has no usable start. */
bool assay_rocprof_length(assay_part *p, int64_t start, int64_t end, int64_t *dur);

/* The value when it fits a column of 32 or 16 bits, else the absent value (counted). */
uint32_t assay_rocprof_u32(assay_part *p, uint64_t v, uint32_t absent);
uint16_t assay_rocprof_u16(assay_part *p, uint64_t v, uint16_t absent);

/* A host row of this kind with its detail row, which gets corr, external and category as it can. */
uint32_t assay_rocprof_host(assay_part *p, assay_host_kind kind, uint64_t corr, uint64_t external,
			    assay_str category);

/* A GPU, once for each source and number. */
uint32_t assay_rocprof_device(assay_part *p, int64_t id);

/* Bytes of an agent's memory banks, a list of JSON: its memory, where local_mem_size is 0. */
uint64_t assay_rocprof_banks(assay_json *j);

/* What the GPU's queue was given for hipEventRecord or hipStreamWaitEvent. */
typedef struct assay_rocprof_barrier {
	int64_t ts, dur;
	int64_t queue, source_queue; /* -1 when absent */
	uint64_t event, corr;
	uint32_t track;
	assay_sid name;
	bool waits;
} assay_rocprof_barrier;

/* A barrier is no work: a mark on its stream, and a witness of which record a wait met. */
void assay_rocprof_add_barrier(assay_part *p, const assay_rocprof_barrier *b);
/* HIP_EVENT_WAIT and HIP_EVENT_RECORD are the operation's names. */
bool assay_rocprof_is_wait(assay_str operation);

/* A second process in one file has its own correlation ids and streams: a source of its own. */
void assay_rocprof_next_source(assay_part *p, uint32_t first);

#endif
