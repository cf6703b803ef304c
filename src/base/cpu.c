/* Instruction-set choice at run time. */
#include "base/cpu.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

static const char *const names[] = {
#define X(isa) #isa,
	ASSAY_ISAS(X)
#undef X
};

const char *assay_isa_name(assay_isa isa)
{
	return names[isa];
}

#ifdef __x86_64__
/* Which registers the system saves: bits of XCR0. */
static uint32_t saved_state(void)
{
	uint32_t lo, hi;
	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return lo;
}

/* By CPUID itself: __builtin_cpu_supports needs a table of libgcc's that other runtimes lack. */
static assay_isa best(void)
{
	const uint32_t pclmul_osxsave_avx = 1u << 1 | 1u << 27 | 1u << 28; /* leaf 1, ecx */
	const uint32_t avx2_bmi = 1u << 5 | 1u << 3 | 1u << 8;             /* leaf 7, ebx */
	const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
	const uint32_t ymm = 0x6, zmm = 0xe6;
	uint32_t a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || ~c & pclmul_osxsave_avx || ~saved_state() & ymm ||
	    !__get_cpuid_count(7, 0, &a, &b, &c, &d) || ~b & avx2_bmi)
		return ASSAY_ISA_scalar;
	return ~b & avx512 || ~saved_state() & zmm ? ASSAY_ISA_avx2 : ASSAY_ISA_avx512;
}
#else
static assay_isa best(void)
{
	return ASSAY_ISA_COUNT - 1; /* every 64-bit ARM has NEON */
}
#endif

assay_isa assay_cpu_isa(void)
{
	assay_isa isa = best();
	const char *env = getenv("ASSAY_ISA");
	for (int i = 0; env && i <= (int)isa; i++)
		if (!strcmp(env, names[i]))
			return (assay_isa)i;
	return isa;
}
