/* NVTX straight into the rings. The program's NVTX headers load us at their first call
 * (NVTX_INJECTION64_PATH) and then call our functions directly: no library of the vendor is
 * between. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "record/cuda.h"
#include "record/steps.h"
#include "record/unseen.h"
#include "vendor/nvtx.h"

enum { TEXT_MAX = 1024 };
#define NOT_TOLD (1ull << 63) /* in the id of a range that started while recording was off */

/* What a domain or registered string handle points to. Never freed: programs use handles at any
 * time. */
typedef struct named {
	struct named
		*older; /* all of them hang together, so that a leak checker finds them in use */
	_Atomic uint64_t sid; /* life << 32 | string id in that life's capture */
	size_t length;
	char text[];
} named;

static _Atomic(named *) all_named;

static chosen_ids chosen_started;

static __thread struct {
	uint64_t next_range;
	chosen_push chosen;
	step_push step;
	unseen unseen;
} mine;

typedef struct text {
	const char *p;
	size_t n;
} text;

static text of_z(const char *z)
{
	size_t n = z ? strlen(z) : 0;
	return (text){z, n < TEXT_MAX ? n : TEXT_MAX};
}

/* UTF-32 to UTF-8, into a buffer of TEXT_MAX. */
static text of_wide(const wchar_t *w, char *to)
{
	size_t n = 0;
	for (; w && *w && n + 4 < TEXT_MAX; w++) {
		uint32_t c = (uint32_t)*w;
		if (c < 0x80) {
			to[n++] = (char)c;
		} else if (c < 0x800) {
			to[n++] = (char)(0xc0 | c >> 6);
			to[n++] = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			to[n++] = (char)(0xe0 | c >> 12);
			to[n++] = (char)(0x80 | (c >> 6 & 63));
			to[n++] = (char)(0x80 | (c & 63));
		} else {
			to[n++] = (char)(0xf0 | (c >> 18 & 7));
			to[n++] = (char)(0x80 | (c >> 12 & 63));
			to[n++] = (char)(0x80 | (c >> 6 & 63));
			to[n++] = (char)(0x80 | (c & 63));
		}
	}
	return (text){to, n};
}

static text of_attributes(const nvtx_attributes *a, char *wide)
{
	if (!a)
		return (text){"", 0};
	if (a->messageType == NVTX_TEXT_ASCII)
		return of_z(a->message.ascii);
	if (a->messageType == NVTX_TEXT_WIDE)
		return of_wide(a->message.wide, wide);
	const named *r = a->messageType == NVTX_TEXT_REGISTERED ? a->message.registered : NULL;
	return r ? (text){r->text, r->length} : (text){"", 0};
}

static named *new_named(text t)
{
	named *d = malloc(sizeof *d + t.n + 1);
	if (!d)
		return NULL;
	atomic_init(&d->sid, 0);
	d->length = t.n;
	memcpy(d->text, t.p ? t.p : "", t.n);
	d->text[t.n] = 0;
	d->older = atomic_load(&all_named);
	while (!atomic_compare_exchange_weak(&all_named, &d->older, d))
		;
	return d;
}

/* A domain's string id; asked from the runtime once in the life of a process. */
static uint32_t sid_of(named *d)
{
	uint64_t known = d ? atomic_load_explicit(&d->sid, memory_order_relaxed) : 0;
	if (!d || known >> 32 == assay_rt_life())
		return (uint32_t)known;
	if (!assay_rt_bulk_open())
		return 0;
	uint32_t id = assay_rt_string(d->text), life = assay_rt_life();
	assay_rt_bulk_close();
	atomic_store_explicit(&d->sid, (uint64_t)life << 32 | id, memory_order_relaxed);
	return id;
}

static void put(uint16_t op, named *domain, text t, const nvtx_attributes *a, uint64_t id)
{
	uint32_t domain_sid = sid_of(domain);
	assay_wire_range *g = assay_rt_begin(ASSAY_WIRE_RANGE, sizeof *g + t.n);
	if (!g)
		return;
	g->time = assay_rt_now();
	g->id = id;
	g->name = 0;
	g->domain = domain_sid;
	g->op = op;
	g->length = (uint16_t)t.n;
	g->category = a ? a->category : 0;
	g->color = a && a->colorType ? a->color : 0;
	g->reserved = 0;
	if (t.n)
		memcpy(g + 1, t.p, t.n);
	assay_rt_commit();
}

static bool is_chosen(text t)
{
	const char *range = assay_rt_conf()->range;
	return assay_rt_ranged() && t.n && strlen(range) == t.n && !memcmp(range, t.p, t.n);
}

static int push(named *domain, text t, const nvtx_attributes *a)
{
	if (chosen_on_push(&mine.chosen, domain, is_chosen(t)))
		assay_rt_range(1);
	step_on_push(&mine.step, domain, t.p, t.n);
	if (unseen_push(&mine.unseen, domain, assay_rt_recording()))
		put(ASSAY_WIRE_RANGE_PUSH, domain, t, a, 0);
	return NVTX_NO_DEPTH;
}

static int pop(named *domain)
{
	if (unseen_pop(&mine.unseen, domain))
		put(ASSAY_WIRE_RANGE_POP, domain, (text){NULL, 0}, NULL, 0);
	if (chosen_on_pop(&mine.chosen, domain))
		assay_rt_range(-1);
	step_on_pop(&mine.step, domain);
	return NVTX_NO_DEPTH;
}

static uint64_t start(named *domain, text t, const nvtx_attributes *a)
{
	uint64_t id = (uint64_t)assay_rt_tid() << 32 | ++mine.next_range;
	bool told = assay_rt_recording();
	id |= told ? 0 : NOT_TOLD;
	chosen_on_start(chosen_started, id, is_chosen(t));
	if (told)
		put(ASSAY_WIRE_RANGE_START, domain, t, a, id);
	return id;
}

static void end(named *domain, uint64_t id)
{
	if (!(id & NOT_TOLD))
		put(ASSAY_WIRE_RANGE_END, domain, (text){NULL, 0}, NULL, id);
	chosen_on_stop(chosen_started, id);
}

static void mark(named *domain, text t, const nvtx_attributes *a)
{
	if (assay_rt_recording())
		put(ASSAY_WIRE_RANGE_MARK, domain, t, a, 0);
}

/* The functions by NVTX's names, as the table wants them. */

static void do_MarkEx(const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	mark(NULL, of_attributes(a, wide), a);
}
static void do_MarkA(const char *z)
{
	mark(NULL, of_z(z), NULL);
}
static void do_MarkW(const wchar_t *w)
{
	char wide[TEXT_MAX];
	mark(NULL, of_wide(w, wide), NULL);
}
static uint64_t do_RangeStartEx(const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	return start(NULL, of_attributes(a, wide), a);
}
static uint64_t do_RangeStartA(const char *z)
{
	return start(NULL, of_z(z), NULL);
}
static uint64_t do_RangeStartW(const wchar_t *w)
{
	char wide[TEXT_MAX];
	return start(NULL, of_wide(w, wide), NULL);
}
static void do_RangeEnd(uint64_t id)
{
	end(NULL, id);
}
static int do_RangePushEx(const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	return push(NULL, of_attributes(a, wide), a);
}
static int do_RangePushA(const char *z)
{
	return push(NULL, of_z(z), NULL);
}
static int do_RangePushW(const wchar_t *w)
{
	char wide[TEXT_MAX];
	return push(NULL, of_wide(w, wide), NULL);
}
static int do_RangePop(void)
{
	return pop(NULL);
}
static void do_NameOsThreadA(uint32_t tid, const char *z)
{
	if (!z || !assay_rt_bulk_open())
		return;
	uint32_t sid = assay_rt_string(z);
	assay_wire_thread *t = assay_rt_bulk(ASSAY_WIRE_THREAD, sizeof *t);
	t->rec.thread = tid;
	t->name = sid;
	assay_rt_bulk_close();
}
static void do_DomainMarkEx(named *d, const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	mark(d, of_attributes(a, wide), a);
}
static uint64_t do_DomainRangeStartEx(named *d, const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	return start(d, of_attributes(a, wide), a);
}
static void do_DomainRangeEnd(named *d, uint64_t id)
{
	end(d, id);
}
static int do_DomainRangePushEx(named *d, const nvtx_attributes *a)
{
	char wide[TEXT_MAX];
	return push(d, of_attributes(a, wide), a);
}
static int do_DomainRangePop(named *d)
{
	return pop(d);
}
static void *do_DomainRegisterStringA(named *d, const char *z)
{
	(void)d;
	return new_named(of_z(z));
}
static void *do_DomainRegisterStringW(named *d, const wchar_t *w)
{
	(void)d;
	char wide[TEXT_MAX];
	return new_named(of_wide(w, wide));
}
static void *do_DomainCreateA(const char *z)
{
	return new_named(of_z(z));
}
static void *do_DomainCreateW(const wchar_t *w)
{
	char wide[TEXT_MAX];
	return new_named(of_wide(w, wide));
}
static void do_DomainDestroy(named *d)
{
	(void)d;
}

typedef struct hook {
	unsigned number;
	nvtx_fn *fn;
} hook;
#define X(name, number) {number, (nvtx_fn *)do_##name},
static const hook core[] = {NVTX_CORE(X)};
static const hook core2[] = {NVTX_CORE2(X)};
#undef X

static void install(const nvtx_callbacks *c, int module, const hook *h, size_t n)
{
	nvtx_fn ***table = NULL;
	unsigned size = 0;
	if (!c->get_module(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < n; i++)
		if (h[i].number < size && table[h[i].number])
			*table[h[i].number] = h[i].fn;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_fn *get_table);

/* 0 leaves the program's NVTX calls empty, as without us. Several libraries of one program carry
 * NVTX headers of their own; each calls this. */
int InitializeInjectionNvtx2(nvtx_export_fn *get_table)
{
	const nvtx_callbacks *c = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
	if (!c || c->struct_size < sizeof *c || !assay_rt_start(&assay_cuda_hooks))
		return 0;
	install(c, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
	install(c, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
	return 1;
}
