/* cuBLASLt, cuBLAS, rocBLAS and hipBLASLt without a GPU: each call prints what it was given and
 * launches a kernel. Built once a library, with WITH_<LIBRARY>. Prototypes as the vendors' headers
 * have them. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "blas.h"

int fake_launch(uint32_t stream, const char *name);

#if defined(WITH_CUBLASLT) || defined(WITH_HIPBLASLT)
static int give(void *to, size_t size, size_t *written, const void *from, size_t bytes)
{
	if (size < bytes)
		return 7;
	memcpy(to, from, bytes);
	*written = bytes;
	return 0;
}
#endif

#ifdef WITH_CUBLASLT
int cublasLtMatrixLayoutGetAttribute(fake_layout *l, int what, void *to, size_t n, size_t *w)
{
	return what == 0   ? give(to, n, w, &l->type, 4)
	       : what == 2 ? give(to, n, w, &l->rows, 8)
	       : what == 3 ? give(to, n, w, &l->cols, 8)
	       : what == 5 ? give(to, n, w, &l->batch, 4)
			   : 7;
}
int cublasLtMatmulDescGetAttribute(fake_desc *d, int what, void *to, size_t n, size_t *w)
{
	return what == 0   ? give(to, n, w, &d->compute, 4)
	       : what == 3 ? give(to, n, w, &d->ta, 4)
	       : what == 4 ? give(to, n, w, &d->tb, 4)
			   : 7;
}
int cublasLtMatmul(void *h, fake_desc *d, const void *alpha, const void *A, fake_layout *a,
		   const void *B, fake_layout *b, const void *beta, const void *C, fake_layout *c,
		   void *D, fake_layout *e, const void *algo, void *work, size_t bytes,
		   void *stream)
{
	if (!h)
		return 0;
	printf("cublasLtMatmul %p %d %p %p %d %p %d %p %p %d %p %d %p %p %zu %p\n", h, d->compute,
	       alpha, A, a->type, B, b->type, beta, C, c->type, D, e->type, algo, work, bytes,
	       stream);
	return fake_launch(13, "nvjet_tst_128x192");
}
#endif

#ifdef WITH_CUBLAS
int cublasLtMatmul(void *h, fake_desc *d, const void *alpha, const void *A, fake_layout *a,
		   const void *B, fake_layout *b, const void *beta, const void *C, fake_layout *c,
		   void *D, fake_layout *e, const void *algo, void *work, size_t bytes,
		   void *stream);
int cublasGetMathMode(void *h, int *mode)
{
	*mode = h == (void *)0x77 ? 3 : 0;
	return 0;
}
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *A,
		 int at, int lda, const void *B, int bt, int ldb, const void *beta, void *C, int ct,
		 int ldc, int compute, int algo)
{
	fake_desc d = {compute, ta, tb};
	fake_layout l = {at, (uint64_t)m, (uint64_t)n, 1};
	printf("cublasGemmEx %p %d %d %d %d %d %p %p %d %d %p %d %d %p %p %d %d %d %d\n", h, ta, tb,
	       m, n, k, alpha, A, at, lda, B, bt, ldb, beta, C, ct, ldc, compute, algo);
	return cublasLtMatmul(h, &d, alpha, A, &l, B, &l, beta, C, &l, C, &l, NULL, NULL, 0, NULL);
}
int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
			       const void *A, int at, int lda, long long sa, const void *B, int bt,
			       int ldb, long long sb, const void *beta, void *C, int ct, int ldc,
			       long long sc, int batch, int compute, int algo)
{
	printf("cublasGemmStridedBatchedEx %p %d %d %d %d %d %p %p %d %d %lld %p %d %d %lld %p %p "
	       "%d "
	       "%d %lld %d %d %d\n",
	       h, ta, tb, m, n, k, alpha, A, at, lda, sa, B, bt, ldb, sb, beta, C, ct, ldc, sc,
	       batch, compute, algo);
	return fake_launch(13, "bmm");
}
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *A,
		   int lda, const float *B, int ldb, const float *beta, float *C, int ldc)
{
	printf("cublasSgemm_v2 %p %d %d %d %d %d %p %p %d %p %d %p %p %d\n", h, ta, tb, m, n, k,
	       (const void *)alpha, (const void *)A, lda, (const void *)B, ldb, (const void *)beta,
	       (void *)C, ldc);
	fake_launch(13, "sgemm");
	return 13;
}
#endif

#ifdef WITH_HIPBLASLT
int hipblasLtMatrixLayoutGetAttribute(fake_layout *l, int what, void *to, size_t n, size_t *w)
{
	return what == 2   ? give(to, n, w, &l->type, 4)
	       : what == 4 ? give(to, n, w, &l->rows, 8)
	       : what == 5 ? give(to, n, w, &l->cols, 8)
	       : what == 0 ? give(to, n, w, &l->batch, 4)
			   : 7;
}
int hipblasLtMatmulDescGetAttribute(fake_desc *d, int what, void *to, size_t n, size_t *w)
{
	return what == 0 ? give(to, n, w, &d->ta, 4) : what == 1 ? give(to, n, w, &d->tb, 4) : 7;
}
int hipblasLtMatmul(void *h, fake_desc *d, const void *alpha, const void *A, fake_layout *a,
		    const void *B, fake_layout *b, const void *beta, const void *C, fake_layout *c,
		    void *D, fake_layout *e, const void *algo, void *work, size_t bytes,
		    void *stream)
{
	printf("hipblasLtMatmul %p %d %p %p %d %p %d %p %p %d %p %d %p %p %zu %p\n", h, d->compute,
	       alpha, A, a->type, B, b->type, beta, C, c->type, D, e->type, algo, work, bytes,
	       stream);
	return 0;
}
#endif

#ifdef WITH_ROCBLAS
int rocblas_gemm_ex(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *A,
		    int at, int lda, const void *B, int bt, int ldb, const void *beta,
		    const void *C, int ct, int ldc, void *D, int dt, int ldd, int compute, int algo,
		    int32_t solution, uint32_t flags)
{
	printf("rocblas_gemm_ex %p %d %d %d %d %d %p %p %d %d %p %d %d %p %p %d %d %p %d %d %d %d "
	       "%d "
	       "%u\n",
	       h, ta, tb, m, n, k, alpha, A, at, lda, B, bt, ldb, beta, C, ct, ldc, D, dt, ldd,
	       compute, algo, solution, flags);
	return 0;
}
#endif
