#define _GNU_SOURCE /* dl_iterate_phdr */
#include "record/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record/blas_call.h"
#include "record/hook.h"
#include "record/loader.h"
#include "record/rt.h"

enum { /* cudaDataType, as hipDataType has it, too */
       ASSAY_BLAS_F32 = 0,
       ASSAY_BLAS_F64 = 1,
       ASSAY_BLAS_F16 = 2,
       ASSAY_BLAS_C32 = 4,
       ASSAY_BLAS_C64 = 5,
};

typedef enum library {
	CUBLASLT = ASSAY_WIRE_CUBLASLT,
	CUBLAS = ASSAY_WIRE_CUBLAS,
	HIPBLASLT = ASSAY_WIRE_HIPBLASLT,
	HIPBLAS = ASSAY_WIRE_HIPBLAS,
	ROCBLAS = ASSAY_WIRE_ROCBLAS,
	LIBRARIES
} library;
/* Longer names first where one begins with another. */
static const char *const library_names[LIBRARIES] = {
	[CUBLASLT] = "libcublasLt.so", [CUBLAS] = "libcublas.so",   [HIPBLASLT] = "libhipblaslt.so",
	[HIPBLAS] = "libhipblas.so",   [ROCBLAS] = "librocblas.so",
};

typedef enum function {
#define BLAS(family, name, lib, type) FN_##name,
#include "record/blas.def"
#undef BLAS
	FUNCTIONS
} function;

static const struct {
	const char *name;
	library lib;
} functions[FUNCTIONS] = {
#define BLAS(family, name, lib, type) {#name, lib},
#include "record/blas.def"
#undef BLAS
};

typedef int get_attribute_fn(const void *of, int attribute, void *to, size_t bytes,
			     size_t *written);
typedef int get_mode_fn(void *handle, int *mode);

static struct {
	char path[LIBRARIES][512]; /* of the copy that is stood in for; "" none */
	void *open[LIBRARIES];     /* its handle */
	bool twice[LIBRARIES]; /* there is another: whose functions a caller means is not known */
	assay_any_fn *real[FUNCTIONS];
	struct {
		get_attribute_fn *matrix, *product;
	} get[2]; /* cuBLASLt's and hipBLASLt's */
	get_mode_fn *mode_get;
	unsigned long long seen; /* objects loaded when last looked */
	bool named;              /* functions, in the capture */
} blas;

/* ---- what a call says ---- */

static uint8_t transposed(int op)
{
	return op != 0 && op != 111; /* CUBLAS_OP_N; rocBLAS and hipBLAS begin at 111 */
}

static void fill_sizes(assay_wire_product *p, int ta, int tb, int m, int n, int k)
{
	p->m = (uint64_t)m;
	p->n = (uint64_t)n;
	p->k = (uint64_t)k;
	p->trans_a = transposed(ta);
	p->trans_b = transposed(tb);
}

/* Where a function's name fixes the type, the handle's mode says whether TF32 may be used. */
static uint16_t math_mode(void *handle)
{
	enum { TF32_MODE = 3, COMPUTE_F32 = 68, COMPUTE_TF32 = 77 };
	int mode = 0;
	if (!blas.mode_get || blas.mode_get(handle, &mode) || (mode & 15) != TF32_MODE)
		return 0;
	return COMPUTE_TF32;
}

/* Attributes of a matrix and of a product, in cuBLASLt's numbers and in hipBLASLt's; early
 * hipBLASLt has other ones and no ROWS: it refuses, and the product stays without sizes. */
typedef enum attribute { TYPE, ROWS, COLS, BATCH, COMPUTE, TRANS_A, TRANS_B, ATTRIBUTES } attribute;
static const int8_t numbers[2][ATTRIBUTES] = {
	{[TYPE] = 0,
	 [ROWS] = 2,
	 [COLS] = 3,
	 [BATCH] = 5,
	 [COMPUTE] = 0,
	 [TRANS_A] = 3,
	 [TRANS_B] = 4},
	{[TYPE] = 2,
	 [ROWS] = 4,
	 [COLS] = 5,
	 [BATCH] = 0,
	 [COMPUTE] = -1,
	 [TRANS_A] = 0,
	 [TRANS_B] = 1},
};

static uint64_t get(get_attribute_fn *fn, const void *of, int number, size_t bytes)
{
	uint64_t v = 0;
	size_t written = 0;
	return number >= 0 && of && fn(of, number, &v, bytes, &written) == 0 ? v : 0;
}

static void fill_lt(assay_wire_product *p, const void *desc, const void *a, const void *b,
		    const void *d)
{
	bool hip = p->library == HIPBLASLT;
	const int8_t *number = numbers[hip];
	get_attribute_fn *matrix = blas.get[hip].matrix, *product = blas.get[hip].product;
	if (!matrix || !product)
		return;
	p->trans_a = transposed((int)get(product, desc, number[TRANS_A], 4));
	p->trans_b = transposed((int)get(product, desc, number[TRANS_B], 4));
	p->compute = (uint16_t)get(product, desc, number[COMPUTE], 4);
	p->m = get(matrix, d, number[ROWS], 8);
	p->n = get(matrix, d, number[COLS], 8);
	p->k = get(matrix, a, number[p->trans_a ? ROWS : COLS], 8);
	p->batch = (uint32_t)get(matrix, d, number[BATCH], 4);
	p->type_a = (uint16_t)get(matrix, a, number[TYPE], 4);
	p->type_b = (uint16_t)get(matrix, b, number[TYPE], 4);
	p->type_c = (uint16_t)get(matrix, d, number[TYPE], 4);
}

/* ---- standing in ---- */

static void put(const assay_wire_product *p)
{
	assay_wire_product *w = assay_rt_begin(ASSAY_WIRE_PRODUCT, sizeof *w);
	if (!w)
		return;
	memcpy((char *)w + sizeof w->rec, (const char *)p + sizeof p->rec,
	       sizeof *w - sizeof w->rec);
	assay_rt_commit();
}

/* The call is passed on as it came; what it says is read before, as the program may change the
 * descriptors from another thread once it is over. */
#define BLAS(family, name, lib, type)                                                              \
	static int as_##name(TAKES_##family)                                                       \
	{                                                                                          \
		typedef int same(TAKES_##family);                                                  \
		same *real = (same *)blas.real[FN_##name];                                         \
		assay_wire_product p = {.function = FN_##name,                                     \
					.library = lib,                                            \
					.batch = 1,                                                \
					.start = assay_rt_now()};                                  \
		if (!assay_rt_wanted(p.start))                                                     \
			return real(GIVES_##family);                                               \
		FILLS_##family(type);                                                              \
		p.status = real(GIVES_##family);                                                   \
		p.end = assay_rt_now();                                                            \
		put(&p);                                                                           \
		return p.status;                                                                   \
	}
#include "record/blas.def"
#undef BLAS

static const assay_hook hook_of[FUNCTIONS] = {
#define BLAS(family, name, lib, type) {#name, (assay_any_fn *)as_##name, false},
#include "record/blas.def"
#undef BLAS
};

/* The libraries call each other: what they do inside is one product of whoever called. */
static assay_hook_object any_but_blas(const char *file, bool names_it)
{
	(void)names_it;
	for (int i = 0; i < LIBRARIES; i++)
		if (!strncmp(file, library_names[i], strlen(library_names[i])))
			return ASSAY_HOOK_LEAVE;
	return ASSAY_HOOK_TAKE;
}

static int meet(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	const char *path = info->dlpi_name ? info->dlpi_name : "";
	const char *slash = strrchr(path, '/');
	blas.seen = info->dlpi_adds;
	for (int i = 0; i < LIBRARIES; i++) {
		if (strncmp(slash ? slash + 1 : path, library_names[i], strlen(library_names[i])))
			continue;
		if (!blas.path[i][0])
			snprintf(blas.path[i], sizeof blas.path[i], "%s", path);
		blas.twice[i] |= strcmp(blas.path[i], path) != 0;
	}
	return 0;
}

/* Of two copies in a process neither is stood in for: which one a caller means is not known
 * here. */
static void tell_copies(void)
{
	static bool said[LIBRARIES];
	for (int i = 0; i < LIBRARIES; i++) {
		char key[64];
		if (!blas.twice[i] || said[i] || !assay_rt_bulk_open())
			continue;
		said[i] = true;
		snprintf(key, sizeof key, "blas.copies.%s", library_names[i]);
		assay_rt_meta(key, "two in the process: their products are not recorded");
		assay_rt_bulk_close();
	}
}

/* The library stays open: what is found in it is called for as long as anything calls us. */
static assay_any_fn *find(library lib, const char *name)
{
	assay_any_fn *fn = NULL;
	if (!blas.open[lib] && blas.path[lib][0])
		blas.open[lib] = dlopen(blas.path[lib], RTLD_LAZY | RTLD_NOLOAD);
	void *p = blas.open[lib] ? dlsym(blas.open[lib], name) : NULL;
	memcpy(&fn, &p, sizeof p);
	return fn;
}

static void tell_names(void)
{
	if (blas.named || !assay_rt_bulk_open())
		return;
	blas.named = true;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		assay_rt_name_call(ASSAY_WIRE_BLAS, i, functions[i].name);
	assay_rt_bulk_close();
}

static const char *const getters[2][2] = {
	{"cublasLtMatrixLayoutGetAttribute", "cublasLtMatmulDescGetAttribute"},
	{"hipblasLtMatrixLayoutGetAttribute", "hipblasLtMatmulDescGetAttribute"},
};

static size_t find_functions(assay_hook *out)
{
	size_t n = 0;
	for (int hip = 0; hip < 2; hip++) {
		library lib = hip ? HIPBLASLT : CUBLASLT;
		if (blas.get[hip].matrix)
			continue;
		blas.get[hip].product = (get_attribute_fn *)find(lib, getters[hip][1]);
		blas.get[hip].matrix = (get_attribute_fn *)find(lib, getters[hip][0]);
	}
	if (!blas.mode_get)
		blas.mode_get = (get_mode_fn *)find(CUBLAS, "cublasGetMathMode");
	for (int i = 0; i < FUNCTIONS; i++) {
		if (blas.twice[functions[i].lib])
			continue;
		if (!blas.real[i])
			blas.real[i] = find(functions[i].lib, functions[i].name);
		if (blas.real[i])
			out[n++] = hook_of[i];
	}
	return n;
}

static int loads(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	return info->dlpi_adds != blas.seen ? 1 : 2;
}

static void install(void)
{
	static assay_hook found[FUNCTIONS];
	static assay_hooks hooks = {.hook = found, .of = any_but_blas};
	assay_loader_objects(meet, NULL);
	tell_copies();
	size_t n = find_functions(found);
	if (n != hooks.n) /* every object is looked at again */
		hooks.seen = hooks.done_n = 0;
	hooks.n = n;
	if (!n)
		return;
	tell_names();
	assay_hook_install(&hooks);
}

void assay_blas_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	/* no waiting: whoever is here may wait for the loader, which the caller may hold */
	if (assay_rt_conf()->no_blas || pthread_mutex_trylock(&lock))
		return;
	if (assay_loader_enter()) {
		if (dl_iterate_phdr(loads, NULL) == 1)
			install();
		assay_loader_leave();
	}
	pthread_mutex_unlock(&lock);
}
