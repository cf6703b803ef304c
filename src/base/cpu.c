/* Instruction-set choice at run time. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"scalar", "avx2", "avx512"};
_Static_assert(sizeof names / sizeof *names == ASSAY_ISA_COUNT, "one name per instruction set");

const char *assay_isa_name(assay_isa isa)
{
	return names[isa];
}

static assay_isa best(void)
{
#ifdef ASSAY_X86
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
	    !__builtin_cpu_supports("pclmul"))
		return ASSAY_ISA_SCALAR;
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
		       ? ASSAY_ISA_AVX512
		       : ASSAY_ISA_AVX2;
#else
	return ASSAY_ISA_SCALAR;
#endif
}

assay_isa assay_cpu_isa(void)
{
	assay_isa isa = best();
	const char *env = getenv("ASSAY_ISA");
	for (int i = 0; env && i <= (int)isa; i++)
		if (!strcmp(env, names[i]))
			return (assay_isa)i;
	return isa;
}
