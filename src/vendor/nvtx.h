/* What an NVTX version 3 injection library must know: the table of hooks in the program, which is
 * header-only on its side (module numbers, function numbers and event attributes never changed). */
#ifndef ASSAY_VENDOR_NVTX_H
#define ASSAY_VENDOR_NVTX_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NVTX_TABLE_CALLBACKS = 1,
	NVTX_MODULE_CORE = 1,
	NVTX_MODULE_CORE2 = 5,
	NVTX_TEXT_ASCII = 1,
	NVTX_TEXT_WIDE = 2,
	NVTX_TEXT_REGISTERED = 3,
	NVTX_NO_DEPTH = -2, /* what push and pop return without a tool */
};

/* X(NAME, number in its module) */
#define NVTX_CORE(X)                                                                               \
	X(MarkEx, 1)                                                                               \
	X(MarkA, 2)                                                                                \
	X(MarkW, 3)                                                                                \
	X(RangeStartEx, 4)                                                                         \
	X(RangeStartA, 5)                                                                          \
	X(RangeStartW, 6)                                                                          \
	X(RangeEnd, 7)                                                                             \
	X(RangePushEx, 8)                                                                          \
	X(RangePushA, 9)                                                                           \
	X(RangePushW, 10)                                                                          \
	X(RangePop, 11)                                                                            \
	X(NameOsThreadA, 14)
#define NVTX_CORE2(X)                                                                              \
	X(DomainMarkEx, 1)                                                                         \
	X(DomainRangeStartEx, 2)                                                                   \
	X(DomainRangeEnd, 3)                                                                       \
	X(DomainRangePushEx, 4)                                                                    \
	X(DomainRangePop, 5)                                                                       \
	X(DomainRegisterStringA, 10)                                                               \
	X(DomainRegisterStringW, 11)                                                               \
	X(DomainCreateA, 12)                                                                       \
	X(DomainCreateW, 13)                                                                       \
	X(DomainDestroy, 14)

typedef void nvtx_fn(void);

typedef struct nvtx_callbacks {
	size_t struct_size;
	int (*get_module)(int module, nvtx_fn ****table,
			  unsigned *n); /* table[i]: where fn i goes */
} nvtx_callbacks;

typedef const void *nvtx_export_fn(uint32_t table);

typedef struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
} nvtx_attributes;
static_assert(sizeof(nvtx_attributes) == 48, "nvtxEventAttributes_v2");

#endif
