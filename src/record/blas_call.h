/* The parameters of matrix products, by family: TAKES is the list, GIVES what is passed on, FILLS
 * what the call says of the product p. Numbers of transposes: 0 or 111 (rocBLAS, hipBLAS) is none.
 * Sources: cuBLAS 13.0, hipBLAS, rocBLAS and hipBLASLt headers. */
#ifndef ASSAY_RECORD_BLAS_CALL_H
#define ASSAY_RECORD_BLAS_CALL_H

#define PARAMS_SIZES void *h, int ta, int tb, int m, int n, int k, const void *alpha
#define ARGS_SIZES   h, ta, tb, m, n, k, alpha
#define FILL_SIZES   fill_sizes(&p, ta, tb, m, n, k)
#define FILL_TYPES(a, b, c)                                                                        \
	p.type_a = (uint16_t)(a), p.type_b = (uint16_t)(b), p.type_c = (uint16_t)(c)

#define TAKES_PLAIN                                                                                \
	PARAMS_SIZES, const void *A, int lda, const void *B, int ldb, const void *beta, void *C,   \
		int ldc
#define GIVES_PLAIN       ARGS_SIZES, A, lda, B, ldb, beta, C, ldc
#define FILLS_PLAIN(type) FILL_SIZES, FILL_TYPES(type, type, type), p.compute = math_mode(h)

#define TAKES_STRIDED                                                                              \
	PARAMS_SIZES, const void *A, int lda, long long sa, const void *B, int ldb, long long sb,  \
		const void *beta, void *C, int ldc, long long sc, int batch
#define GIVES_STRIDED       ARGS_SIZES, A, lda, sa, B, ldb, sb, beta, C, ldc, sc, batch
#define FILLS_STRIDED(type) FILLS_PLAIN(type), p.batch = (uint32_t)batch

#define TAKES_EX                                                                                   \
	PARAMS_SIZES, const void *A, int type_a, int lda, const void *B, int type_b, int ldb,      \
		const void *beta, void *C, int type_c, int ldc, int compute, int algo
#define GIVES_EX       ARGS_SIZES, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, compute, algo
#define FILLS_EX(type) FILL_SIZES, FILL_TYPES(type_a, type_b, type_c), p.compute = (uint16_t)compute

#define TAKES_OLD_EX                                                                               \
	PARAMS_SIZES, const void *A, int type_a, int lda, const void *B, int type_b, int ldb,      \
		const void *beta, void *C, int type_c, int ldc
#define GIVES_OLD_EX       ARGS_SIZES, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc
#define FILLS_OLD_EX(type) FILL_SIZES, FILL_TYPES(type_a, type_b, type_c), p.compute = math_mode(h)

#define TAKES_STRIDED_EX                                                                           \
	PARAMS_SIZES, const void *A, int type_a, int lda, long long sa, const void *B, int type_b, \
		int ldb, long long sb, const void *beta, void *C, int type_c, int ldc,             \
		long long sc, int batch, int compute, int algo
#define GIVES_STRIDED_EX                                                                           \
	ARGS_SIZES, A, type_a, lda, sa, B, type_b, ldb, sb, beta, C, type_c, ldc, sc, batch,       \
		compute, algo
#define FILLS_STRIDED_EX(type) FILLS_EX(type), p.batch = (uint32_t)batch

#define TAKES_BATCHED_EX                                                                           \
	PARAMS_SIZES, const void *const *A, int type_a, int lda, const void *const *B, int type_b, \
		int ldb, const void *beta, void *const *C, int type_c, int ldc, int batch,         \
		int compute, int algo
#define GIVES_BATCHED_EX                                                                           \
	ARGS_SIZES, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, batch, compute, algo
#define FILLS_BATCHED_EX(type) FILLS_EX(type), p.batch = (uint32_t)batch

#define TAKES_ROC_EX                                                                               \
	PARAMS_SIZES, const void *A, int type_a, int lda, const void *B, int type_b, int ldb,      \
		const void *beta, const void *C, int type_c, int ldc, void *D, int type_d,         \
		int ldd, int compute, int algo, int solution, unsigned flags
#define GIVES_ROC_EX                                                                               \
	ARGS_SIZES, A, type_a, lda, B, type_b, ldb, beta, C, type_c, ldc, D, type_d, ldd, compute, \
		algo, solution, flags
#define FILLS_ROC_EX(type)                                                                         \
	FILL_SIZES, FILL_TYPES(type_a, type_b, type_d), p.compute = (uint16_t)compute

#define TAKES_ROC_STRIDED_EX                                                                       \
	PARAMS_SIZES, const void *A, int type_a, int lda, long long sa, const void *B, int type_b, \
		int ldb, long long sb, const void *beta, const void *C, int type_c, int ldc,       \
		long long sc, void *D, int type_d, int ldd, long long sd, int batch, int compute,  \
		int algo, int solution, unsigned flags
#define GIVES_ROC_STRIDED_EX                                                                       \
	ARGS_SIZES, A, type_a, lda, sa, B, type_b, ldb, sb, beta, C, type_c, ldc, sc, D, type_d,   \
		ldd, sd, batch, compute, algo, solution, flags
#define FILLS_ROC_STRIDED_EX(type) FILLS_ROC_EX(type), p.batch = (uint32_t)batch

#define TAKES_LT                                                                                   \
	void *h, void *desc, const void *alpha, const void *A, void *a, const void *B, void *b,    \
		const void *beta, const void *C, void *c, void *D, void *d, const void *algo,      \
		void *workspace, size_t bytes, void *stream
#define GIVES_LT       h, desc, alpha, A, a, B, b, beta, C, c, D, d, algo, workspace, bytes, stream
#define FILLS_LT(type) fill_lt(&p, desc, a, b, d)

#endif
