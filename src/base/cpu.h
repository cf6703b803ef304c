/* Which instruction set the hot readers run with. */
#ifndef ASSAY_BASE_CPU_H
#define ASSAY_BASE_CPU_H

/* Twins of the hot readers that this architecture has, the best one last; the Makefile compiles
 * them with the flags ISA_<name>. */
#if defined(__x86_64__)
#define ASSAY_ISAS(X)                                                                              \
	X(scalar)                                                                                  \
	X(avx2)                                                                                    \
	X(avx512)
#elif defined(__aarch64__)
#define ASSAY_ISAS(X)                                                                              \
	X(scalar)                                                                                  \
	X(neon)
#else
#define ASSAY_ISAS(X) X(scalar)
#endif

typedef enum assay_isa {
#define X(isa) ASSAY_ISA_##isa,
	ASSAY_ISAS(X)
#undef X
		ASSAY_ISA_COUNT
} assay_isa;

/* The best one this machine has; ASSAY_ISA=NAME in the environment lowers it. */
assay_isa assay_cpu_isa(void);
const char *assay_isa_name(assay_isa isa);

/* Functions of files compiled once per instruction set carry its name: ASSAY_ISA_NAME(parse). */
#define ASSAY_ISA_GLUE2(fn, isa) fn##_##isa
#define ASSAY_ISA_GLUE(fn, isa)  ASSAY_ISA_GLUE2(fn, isa)
#define ASSAY_ISA_NAME(fn)       ASSAY_ISA_GLUE(fn, ASSAY_ISA)

#endif
