/* Matrix products by every kind of call. usage: blas_program [LIBRARY]: one that is loaded late and
 * asks for a product of its own, or one without products, after which it waits for a line, or ''.
 * blas_program '' time: then what a call costs. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas.h"

int cuInit(unsigned flags);
int cublasLtMatmul(void *, fake_desc *, const void *, const void *, fake_layout *, const void *,
		   fake_layout *, const void *, const void *, fake_layout *, void *, fake_layout *,
		   const void *, void *, size_t, void *);
int hipblasLtMatmul(void *, fake_desc *, const void *, const void *, fake_layout *, const void *,
		    fake_layout *, const void *, const void *, fake_layout *, void *, fake_layout *,
		    const void *, void *, size_t, void *);
int cublasGemmEx(void *, int, int, int, int, int, const void *, const void *, int, int,
		 const void *, int, int, const void *, void *, int, int, int, int);
int cublasGemmStridedBatchedEx(void *, int, int, int, int, int, const void *, const void *, int,
			       int, long long, const void *, int, int, long long, const void *,
			       void *, int, int, long long, int, int, int);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int,
		   const float *, int, const float *, float *, int);
int rocblas_gemm_ex(void *, int, int, int, int, int, const void *, const void *, int, int,
		    const void *, int, int, const void *, const void *, int, int, void *, int, int,
		    int, int, int, unsigned);

#define P(n) ((void *)(size_t)(n))

/* Whether the library's product goes to the recorder. */
static int stood_in_for(void *late)
{
	void *p = dlsym(late, "whom");
	void *(*whom)(void);
	Dl_info info = {0};
	memcpy(&whom, &p, sizeof p);
	return !whom || (dladdr(whom(), &info) && strstr(info.dli_fname, "libassay"));
}

int main(int argc, char **argv)
{
	cuInit(0);
	fake_desc d = {77, 1, 0};
	fake_layout a = {14, 512, 256, 4}, b = {14, 512, 128, 4}, c = {0, 256, 128, 4};
	int rc = cublasLtMatmul(P(1), &d, P(2), P(3), &a, P(4), &b, P(5), P(6), &c, P(7), &c, P(8),
				P(9), 10, P(11));
#ifdef WITH_HIP
	rc += hipblasLtMatmul(P(1), &d, P(2), P(3), &a, P(4), &b, P(5), P(6), &c, P(7), &c, P(8),
			      P(9), 10, P(11));
	rc += rocblas_gemm_ex(P(1), 112, 111, 30, 20, 10, P(2), P(3), 168, 4, P(5), 168, 6, P(7),
			      P(8), 151, 9, P(10), 168, 11, 151, 160, 12, 13);
#endif
	rc += cublasGemmEx(P(1), 0, 1, 64, 32, 16, P(2), P(3), 2, 4, P(5), 2, 6, P(7), P(8), 2, 9,
			   68, 99);
	rc += cublasGemmStridedBatchedEx(P(1), 1, 1, 8, 9, 10, P(2), P(3), 14, 4, 1ll << 40, P(5),
					 14, 6, 77, P(7), P(8), 14, 9, 88, 12, 68, 99);
	rc += cublasSgemm_v2(P(0x77), 0, 0, 3, 4, 5, P(2), P(3), 4, P(5), 6, P(7), P(8), 9);
	printf("status %d\n", rc);
	void *late = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL,
	     *p = late ? dlsym(late, "late") : NULL;
	void (*fn)(void) = NULL;
	memcpy(&fn, &p, sizeof p);
	if (fn) {
		for (int i = 0; getenv("ASSAY_RECORD") && !stood_in_for(late) && i < 300000; i++)
			usleep(1000);
		fn();
	} else if (late) {
		getchar();
	}
	struct timespec t0, t1;
	enum { MANY = 5000 };
	if (argc > 2) { /* what standing in costs: the library does nothing without a handle */
		clock_gettime(CLOCK_MONOTONIC, &t0);
		for (int i = 0; i < MANY; i++)
			cublasLtMatmul(NULL, &d, P(2), P(3), &a, P(4), &b, P(5), P(6), &c, P(7), &c,
				       P(8), P(9), 10, P(11));
		clock_gettime(CLOCK_MONOTONIC, &t1);
		fprintf(stderr, "%.0f ns a call\n",
			((double)(t1.tv_sec - t0.tv_sec) * 1e9 +
			 (double)(t1.tv_nsec - t0.tv_nsec)) /
				MANY);
	}
	return 0;
}
