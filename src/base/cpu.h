/* Which instruction set the hot readers run with. */
#ifndef ASSAY_BASE_CPU_H
#define ASSAY_BASE_CPU_H

typedef enum assay_isa {
	ASSAY_ISA_SCALAR,
	ASSAY_ISA_AVX2,
	ASSAY_ISA_AVX512,
	ASSAY_ISA_COUNT
} assay_isa;

/* The best one this machine has; ASSAY_ISA=scalar|avx2|avx512 in the environment lowers it. */
assay_isa assay_cpu_isa(void);
const char *assay_isa_name(assay_isa isa);

/* Functions of files compiled once per instruction set carry its name: ASSAY_ISA_NAME(parse). */
#define ASSAY_ISA_GLUE2(fn, isa) fn##_##isa
#define ASSAY_ISA_GLUE(fn, isa)  ASSAY_ISA_GLUE2(fn, isa)
#define ASSAY_ISA_NAME(fn)       ASSAY_ISA_GLUE(fn, ASSAY_ISA)

#endif
