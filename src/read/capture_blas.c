/* Matrix products of a capture, as operators with the arguments that a framework's trace would
 * have: whatever reads those reads these. */
#include "read/capture.h"

#include "base/jsonw.h"

static const struct {
	uint16_t number;
	const char *name;
} types[] = {
#define BLAS_TYPE(number, name) {number, name},
#include "read/blas_type.def"
#undef BLAS_TYPE
};

/* "" when the number is not known: a type of that name is none. */
static const char *type_name(uint16_t number)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(types); i++)
		if (types[i].number == number)
			return types[i].name;
	return "";
}

static void put_dims(assay_jsonw *w, const assay_wire_product *p, uint64_t rows, uint64_t cols)
{
	assay_jsonw_open(w, NULL, '[');
	if (p->batch > 1)
		assay_jsonw_i64(w, NULL, p->batch);
	assay_jsonw_i64(w, NULL, (int64_t)rows);
	assay_jsonw_i64(w, NULL, (int64_t)cols);
	assay_jsonw_close(w, ']');
}

/* As BLAS keeps them, column after column, and as if nothing lay between columns: leading
 * dimensions are not recorded. */
static void put_strides(assay_jsonw *w, const assay_wire_product *p, uint64_t rows, uint64_t cols,
			bool transposed)
{
	assay_jsonw_open(w, NULL, '[');
	if (p->batch > 1)
		assay_jsonw_i64(w, NULL, (int64_t)(rows * cols));
	assay_jsonw_i64(w, NULL, transposed ? (int64_t)cols : 1);
	assay_jsonw_i64(w, NULL, transposed ? 1 : (int64_t)rows);
	assay_jsonw_close(w, ']');
}

/* Compute types of cuBLAS that use TF32, whatever the matrices are. */
static bool computes_in_tf32(const assay_wire_product *p)
{
	enum { COMPUTE_32F_FAST_TF32 = 77 };
	return p->library <= ASSAY_WIRE_CUBLAS && p->compute == COMPUTE_32F_FAST_TF32;
}

static assay_sid product_args(capture *c, const assay_wire_product *p)
{
	assay_jsonw w = {.compact = true};
	assay_jsonw_open(&w, NULL, '{');
	assay_jsonw_open(&w, "Input Dims", '[');
	put_dims(&w, p, p->m, p->k);
	put_dims(&w, p, p->k, p->n);
	put_dims(&w, p, p->m, p->n);
	assay_jsonw_close(&w, ']');
	assay_jsonw_open(&w, "Input type", '[');
	assay_jsonw_z(&w, NULL, type_name(p->type_a));
	assay_jsonw_z(&w, NULL, type_name(p->type_b));
	assay_jsonw_z(&w, NULL, type_name(p->type_c));
	assay_jsonw_close(&w, ']');
	assay_jsonw_open(&w, "Input Strides", '[');
	put_strides(&w, p, p->m, p->k, p->trans_a);
	put_strides(&w, p, p->k, p->n, p->trans_b);
	put_strides(&w, p, p->m, p->n, false);
	assay_jsonw_close(&w, ']');
	const char transposes[] = {p->trans_a ? 'T' : 'N', p->trans_b ? 'T' : 'N', 0};
	assay_jsonw_z(&w, "transposes", transposes);
	if (computes_in_tf32(p))
		assay_jsonw_z(&w, "compute", "tf32");
	assay_jsonw_close(&w, '}');
	assay_str s = assay_str_trim(assay_jsonw_text(&w)); /* members only: without the braces */
	assay_sid args = assay_intern(&c->part->strings, (assay_str){s.p + 1, s.n - 2});
	assay_jsonw_free(&w);
	return args;
}

void assay_capture_product(capture *c, const any_record *r)
{
	const assay_wire_product *p = &r->product;
	uint32_t track = assay_capture_thread(c, &p->rec);
	assay_sid name = assay_capture_function(c, ASSAY_WIRE_BLAS, p->function);
	uint32_t row = assay_capture_host(c, ASSAY_HOST_OP, p->start, p->end, name, track);
	bool told =
		p->m && p->n && p->k && p->m <= INT64_MAX && p->n <= INT64_MAX && p->k <= INT64_MAX;
	if (told)
		c->part->t.host.args[row] = product_args(c, p);
}
