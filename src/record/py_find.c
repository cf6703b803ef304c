/* Finds CPython in this process, chooses the layout of its version, and proves it on the caller's
 * own stack before anything is read by plain loads. */
#define _GNU_SOURCE /* RTLD_DEFAULT, link.h */
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/loader.h"
#include "record/py.h"

enum { FIRST_MINOR = 9, LAST_MINOR = 15, FIRST_PUBLISHED = 13, THREADS_MAX = 65536, PATH = 1024 };

static const assay_py_layout layouts[] = {
#define N ASSAY_PY_NONE
#define PUBLISHED(name, ...)
#define FIELD(name, a, b, c, d, e, f, g) .name = a,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = b,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = c,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = d,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = e,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = f,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#define FIELD(name, a, b, c, d, e, f, g) .name = g,
	{
#include "record/py_layout.def"
	},
#undef FIELD
#undef PUBLISHED
};
static_assert(sizeof layouts / sizeof *layouts == LAST_MINOR - FIRST_MINOR + 1, "a row a version");

/* Where the published offsets stand, by version. */
static const struct published {
	uint16_t field; /* place in the layout */
	uint16_t at[LAST_MINOR - FIRST_PUBLISHED + 1];
} published[] = {
#define FIELD(name, ...)
#define PUBLISHED(name, a, b, c) {offsetof(assay_py_layout, name), {a, b, c}},
#include "record/py_layout.def"
#undef FIELD
#undef PUBLISHED
#undef N
};

/* ---- symbols ---- */

/* An embedding program may have loaded libpython for itself only. Its name; nothing may be opened
 * while objects are visited, or another thread's dlopen locks us out for ever. */
static int name_library(struct dl_phdr_info *info, size_t size, void *data)
{
	char *name = data;
	(void)size;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "libpython3") ||
	    strlen(info->dlpi_name) >= PATH)
		return 0;
	strcpy(name, info->dlpi_name);
	return 1;
}

static void *open_library(void)
{
	char name[PATH];
	return assay_loader_objects(name_library, name) ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY)
							: NULL;
}

/* What is called for as long as calls are recorded stays loaded. Where it is. */
static uintptr_t keep_library(const void *symbol)
{
	Dl_info info = {0};
	if (dladdr(symbol, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
	return (uintptr_t)info.dli_fbase;
}

static void *symbol(const char *name)
{
	static void *library;
	void *found = dlsym(RTLD_DEFAULT, name);
	if (!found && (library || (library = open_library())))
		found = dlsym(library, name);
	return found;
}

typedef void function(void);

static function *function_of(const char *name)
{
	void *p = symbol(name);
	function *f;
	memcpy(&f, &p, sizeof f);
	return f;
}

/* 0x030b02f0 for 3.11.2; 0 unknown. */
static uint32_t version(void)
{
	const unsigned long *hex = symbol("Py_Version");
	const char *(*text)(void) = (const char *(*)(void))function_of("Py_GetVersion");
	unsigned part[3] = {0};
	if (hex)
		return (uint32_t)*hex;
	const char *z = text ? text() : "";
	for (int i = 0; i < 3; i++) {
		char *end;
		part[i] = (unsigned)strtoul(z, &end, 10);
		z = *end == '.' ? end + 1 : end;
	}
	uint32_t release = strchr(" +", *z) ? 0xf0 : 0; /* a letter follows in pre-releases */
	return part[0] << 24 | part[1] << 16 | part[2] << 8 | release;
}

/* ---- layout ---- */

/* Offsets that are published of free-threaded builds only, and of garbage collection in two
 * parts. */
enum { COPIES_314 = 392, COPIES_315 = 456 };
static const uint16_t gc_at[] = {80, 88, 88}, collecting_at[] = {576, 656, 760};

static uint16_t published_at(const assay_py *py, uint16_t at)
{
	uint64_t v;
	memcpy(&v, (const char *)py->runtime + at, sizeof v);
	return v < ASSAY_PY_NONE ? (uint16_t)v : ASSAY_PY_NONE;
}

/* Without a GIL: objects have a larger head, and from 3.14 on every thread its own bytecode. */
static void without_gil(assay_py *py)
{
	enum { HEAD_MORE = 16, STATE_SHIFT = 6, GIL_MOVED = 8, OWN_BYTECODE = 14 };
	assay_py_layout *at = &py->at;
	at->code_flags += HEAD_MORE;
	at->code_version += HEAD_MORE;
	at->string_hash += HEAD_MORE;
	at->string_other += HEAD_MORE;
	at->gil_moved = GIL_MOVED;
	if (py->minor >= OWN_BYTECODE) {
		at->string_shift = STATE_SHIFT;
		at->code_copies =
			published_at(py, py->minor == OWN_BYTECODE ? COPIES_314 : COPIES_315);
	}
}

static const char *take_published(assay_py *py, uint32_t hex)
{
	const char *at = (const char *)py->runtime;
	uint64_t head[3];
	memcpy(head, at, sizeof head);
	if (memcmp(at, "xdebugpy", 8) || head[1] != hex)
		return "layout-check published offsets";
	if (head[2] > 1)
		return "layout-check free-threaded";
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		uint16_t v = published_at(py, published[i].at[py->minor - FIRST_PUBLISHED]);
		if (v == ASSAY_PY_NONE)
			return "layout-check published offsets";
		memcpy((char *)&py->at + published[i].field, &v, sizeof v);
	}
	py->at.code_size = py->at.object_size;
	py->at.interp_collecting =
		(uint16_t)(published_at(py, gc_at[py->minor - FIRST_PUBLISHED]) +
			   published_at(py, collecting_at[py->minor - FIRST_PUBLISHED]));
	if (head[2])
		without_gil(py);
	return NULL;
}

static const char *choose_layout(assay_py *py)
{
	uint32_t hex = version(), minor = hex >> 16 & 255;
	if (hex >> 24 != 3 || minor < FIRST_MINOR || minor > LAST_MINOR)
		return "unknown-version";
	if ((hex & 0xf0) != 0xf0)
		return "pre-release";
	py->minor = minor;
	py->at = layouts[minor - FIRST_MINOR];
	return minor >= FIRST_PUBLISHED ? take_published(py, hex) : NULL;
}

/* ---- proof ---- */

static bool word(uintptr_t at, uintptr_t *v)
{
	return assay_py_safely(0, at, v, sizeof *v);
}

static const char *prove_thread(const assay_py *py, uintptr_t ts)
{
	uintptr_t interp, head, thread, tid, t;
	if (!word(ts + py->at.ts_interp, &interp) ||
	    !word(py->runtime + py->at.runtime_interps, &head))
		return "layout-check thread state";
	if (interp != head || interp != assay_py_main(py, 0))
		return "subinterpreters";
	if (!word(ts + py->at.ts_thread, &thread) || thread != (uintptr_t)pthread_self())
		return "layout-check thread";
	if (py->at.ts_tid != ASSAY_PY_NONE &&
	    (!word(ts + py->at.ts_tid, &tid) || tid != (uintptr_t)syscall(SYS_gettid)))
		return "layout-check native thread";
	bool ok = word(interp + py->at.interp_threads, &t);
	for (int i = 0; ok && t && t != ts && i < THREADS_MAX; i++)
		ok = word(t + py->at.ts_next, &t);
	return ok && t == ts ? NULL : "layout-check list of threads";
}

/* While the caller holds the GIL (PyGILState_Check() says so of everybody once there was a second
 * interpreter), what the interpreter itself says of its innermost frame. */
static const char *ask_interpreter(const assay_py *py, uintptr_t ts, const assay_py_frame *f)
{
	void *(*frame)(void) = (void *(*)(void))function_of("PyEval_GetFrame");
	void *(*code_of)(void *) = (void *(*)(void *))function_of("PyFrame_GetCode");
	int (*line_of)(void *) = (int (*)(void *))function_of("PyFrame_GetLineNumber");
	void (*release)(void *) = (void (*)(void *))function_of("Py_DecRef");
	if (!frame || !code_of || !line_of || !release || (uintptr_t)py->holder() != ts)
		return NULL;
	void *own = frame();
	if (!own)
		return "layout-check frame";
	void *code = code_of(own);
	int32_t line = assay_py_line(py, assay_py_safely, 0, f);
	bool same = (uintptr_t)code == f->code && (!line || line_of(own) == line);
	release(code);
	return same ? NULL : "layout-check frame and line";
}

/* *later: the caller has no frames, another thread may. */
static const char *prove_stack(const assay_py *py, uintptr_t ts, bool *later)
{
	static assay_py_frame frames[ASSAY_PY_DEPTH]; /* one proof at a time */
	bool cut;
	int n = assay_py_walk_of(py, 0, ts, frames, &cut);
	*later = n == 0;
	if (n <= 0)
		return n ? "layout-check frames" : "no Python frames";
	for (int i = 0; i < n; i++)
		if (!assay_py_is_code(py, assay_py_safely, 0, &frames[i]))
			return "layout-check code";
	return ask_interpreter(py, ts, &frames[0]);
}

const assay_py *assay_py_find(const char **why, bool *later)
{
	static assay_py py;
	int (*initialised)(void) = (int (*)(void))function_of("Py_IsInitialized");
	*later = false;
	const char *holder = symbol("PyThreadState_GetUnchecked") /* 3.13 */
				     ? "PyThreadState_GetUnchecked"
				     : "_PyThreadState_UncheckedGet";
	py = (assay_py){.runtime = (uintptr_t)symbol("_PyRuntime"),
			.code_type = (uintptr_t)symbol("PyCode_Type"),
			.string_type = (uintptr_t)symbol("PyUnicode_Type"),
			.this_thread =
				(void *(*)(void))function_of("PyGILState_GetThisThreadState"),
			.holder = (void *(*)(void))function_of(holder)};
	*later = !initialised || !initialised();
	if (!initialised && symbol("PyPy_AtExit")) { /* its own has other names */
		*later = false;
		*why = "PyPy is not CPython";
		return NULL;
	}
	if ((*why = !initialised ? "no Python" : *later ? "not-initialised" : NULL))
		return NULL;
	if ((*why = !py.runtime || !py.code_type || !py.string_type || !py.this_thread || !py.holder
			    ? "not CPython"
			    : choose_layout(&py)))
		return NULL;
	if ((*why = assay_py_can_read() ? NULL : "no-safe-read"))
		return NULL;
	uintptr_t ts = (uintptr_t)py.this_thread();
	*later = !ts;
	if ((*why = ts ? prove_thread(&py, ts) : "no Python thread") ||
	    (*why = prove_stack(&py, ts, later)))
		return NULL;
	py.base = keep_library((const void *)py.runtime);
	return &py;
}
