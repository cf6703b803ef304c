/* Arrow streams for the outside, and what Python's capsules need of C. */
#include "query/arrow.h"

#include <dlfcn.h>

#include "analyze/derived.h"
#include "base/test.h"
#include "query/sql.h"
#include "resolve/resolve.h"

/* Ranges and steps of every row, which views show. */
static bool ready(assay_run *run, assay_err *err)
{
	if (!run->analyzed)
		return assay_fail(err, ASSAY_USAGE, 0, "the run is not analyzed yet");
	if (run->part.t.gpu.n && !run->part.t.gpu_scope.n) {
		assay_scopes(run, NULL);
		assay_derive(run);
	}
	return true;
}

bool assay_run_arrow(assay_run *run, const char *table, struct ArrowArrayStream *out,
		     assay_err *err)
{
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = ready(run, err) && assay_arrow_relation(run, table, out, err);
	assay_leave(&f);
	return ok;
}

bool assay_run_sql(assay_run *run, const char *statement, struct ArrowArrayStream *out,
		   assay_err *err)
{
	assay_frame f;
	ASSAY_ENTER(&f, run->owner, err, false);
	bool ok = ready(run, err) && assay_arrow_sql(run, statement, out, err);
	assay_leave(&f);
	return ok;
}

/* The stream lies in an arena that lies behind it. */
typedef struct own_stream {
	struct ArrowArrayStream stream;
	assay_arena arena;
} own_stream;

struct ArrowArrayStream *assay_stream_new(void)
{
	assay_frame f;
	assay_arena arena = {0};
	assay_enter_inside(&f, NULL);
	if (setjmp(f.out))
		return NULL;
	own_stream *s = assay_alloc(&arena, sizeof *s);
	s->arena = arena;
	assay_leave(&f);
	return &s->stream;
}

void assay_stream_free(struct ArrowArrayStream *stream)
{
	if (stream->release)
		stream->release(stream);
	assay_arena arena = ((own_stream *)stream)->arena;
	assay_arena_free(&arena);
}

/* Called by the interpreter, whose function is therefore there; nothing of it is linked. */
void assay_stream_free_capsule(void *capsule)
{
	void *(*pointer_of)(void *, const char *);
	void *symbol = dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer");
	memcpy(&pointer_of, &symbol, sizeof symbol);
	void *stream = symbol ? pointer_of(capsule, "arrow_array_stream") : NULL;
	if (stream)
		assay_stream_free(stream);
}
