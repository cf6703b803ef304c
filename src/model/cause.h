/* Causes of idle time and what goes with each; model/cause.def is the list. */
#ifndef ASSAY_MODEL_CAUSE_H
#define ASSAY_MODEL_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "names/vendors.h"

typedef enum assay_why {
#define CAUSE(id, name, bucket, late, certainty, text, phrase, path, light, dark) ASSAY_WHY_##id,
#define ADVICE(id, framework, vendor, text)
#include "model/cause.def"
#undef CAUSE
#undef ADVICE
	ASSAY_WHY_COUNT
} assay_why;

/* Buckets of the waste budget that idle time goes into. X(id, name, how it was measured) */
#define ASSAY_IDLE_BUCKETS(X)                                                                      \
	X(DATA_WAIT, "data_wait", "idle while the launching thread waited for input data")         \
	X(HOST_GAP, "host_gap",                                                                    \
	  "idle while the host prepared the next launch, or between launch and work")              \
	X(DEVICE_WAIT, "device_wait", "idle although the work was submitted")                      \
	X(UNEXPLAINED, "unexplained",                                                              \
	  "idle without a recorded launch, or with one too early to be true")

typedef enum assay_idle_bucket {
#define X(id, name, how) ASSAY_BUCKET_##id,
	ASSAY_IDLE_BUCKETS(X)
#undef X
		ASSAY_BUCKET_COUNT
} assay_idle_bucket;

/* What a rank does longer than the others before it arrives at a collective. */
#define ASSAY_LATES(X)                                                                             \
	X(NOT, "none")                                                                             \
	X(COMPUTE, "compute")                                                                      \
	X(DATA, "data")                                                                            \
	X(HOST, "host")                                                                            \
	X(COPY, "copy")                                                                            \
	X(ELSEWHERE, "elsewhere")

typedef enum assay_late {
#define X(id, name) ASSAY_LATE_##id,
	ASSAY_LATES(X)
#undef X
		ASSAY_LATE_COUNT
} assay_late;

/* What the program is written with, as far as advice differs. */
typedef enum assay_framework {
	ASSAY_FRAMEWORK_ANY,
	ASSAY_FRAMEWORK_TORCH,
	ASSAY_FRAMEWORK_COMPILED, /* PyTorch with compiled code */
	ASSAY_FRAMEWORK_SERVING,  /* vLLM, SGLang, TensorRT-LLM */
	ASSAY_FRAMEWORK_JAX,
	ASSAY_FRAMEWORK_COUNT
} assay_framework;

typedef struct assay_why_row {
	const char *name;
	uint8_t bucket; /* assay_idle_bucket */
	uint8_t late;   /* assay_late */
	double certainty;
	const char *text, *phrase, *path;
	const char *light, *dark; /* "#rrggbb" */
} assay_why_row;

extern const assay_why_row assay_why_rows[ASSAY_WHY_COUNT];
extern const char *const assay_why_name[ASSAY_WHY_COUNT];
extern const char *const assay_idle_bucket_name[ASSAY_BUCKET_COUNT];
extern const char *const assay_idle_bucket_how[ASSAY_BUCKET_COUNT];

const char *assay_why_advice(assay_why why, assay_framework framework, assay_vendor vendor);

/* Of the host: what a thread did. */
static inline bool assay_why_is_host(int why)
{
	return why >= ASSAY_WHY_HOST_SYNC && why < ASSAY_WHY_COUNT;
}

#endif
