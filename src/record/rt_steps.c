/* Steps while the program runs: to record some of them only, and to see one that takes too long. */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "names/plain.h"
#include "record/rt_state.h"
#include "record/steps.h"

enum {
	RECENT = 64, /* lengths that the median is of */
	ENOUGH = 8,  /* steps until there is one */
	SETTLE = 8,  /* steps between two looks at it */
	TIMES = 3,   /* so many medians are too long */
	NAME_MAX_BYTES = 256,
};
#define SHORT_NS 10000000 /* below, three times is a moment on another processor */

static struct {
	_Atomic int watched;            /* somebody wants to know of steps */
	_Atomic int64_t first, last;    /* record these only; last 0: no such order */
	_Atomic int64_t counted;        /* steps begun since, for those without a number */
	_Atomic int64_t begun, ended;   /* number of the last, 0 none */
	_Atomic int64_t recent[RECENT]; /* ns */
	_Atomic uint32_t n;             /* of them so far */
	_Atomic int64_t median;         /* 0: not known yet */
	_Atomic int64_t open;           /* when the step that goes on began, 0 none */
	_Atomic int64_t slow;           /* ns of one that took too long, until it is told */
} steps;

void assay_steps_forget(void)
{
	memset(&steps, 0, sizeof steps);
	atomic_store(&steps.watched, rt.conf.keep_bytes > 0);
}

bool assay_steps_watched(void)
{
	return atomic_load_explicit(&steps.watched, memory_order_relaxed);
}

/* ---- names ---- */

/* --steps-from without its "NVTX:"; "": the usual names. */
static const char *chosen_steps(void)
{
	static const char *const apis[] = {"auto", "nvtx", "roctx"};
	const char *text = rt.conf.steps, *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	for (size_t i = 0; i < sizeof apis / sizeof *apis; i++)
		if (strlen(apis[i]) == n && !strncasecmp(text, apis[i], n))
			return colon ? colon + 1 : "";
	return text;
}

/* "train" is "train" and "train #12", not "trainer"; "train*" is all of them. */
static bool is_chosen(const char *chosen, const char *p, size_t n)
{
	char name[NAME_MAX_BYTES];
	size_t length = strlen(chosen);
	if (strpbrk(chosen, "*?")) {
		if (n >= sizeof name)
			return false;
		memcpy(name, p, n);
		name[n] = 0;
		return fnmatch(chosen, name, FNM_NOESCAPE) == 0;
	}
	if (n < length || memcmp(p, chosen, length) != 0)
		return false;
	for (size_t i = length; i < n; i++)
		if ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'z')
			return false;
	return true;
}

bool assay_steps_named(const char *p, size_t n)
{
	static const char *const usual[] = {
#define STEP(name) name,
#include "names/steps.def"
#undef STEP
	};
	char plain[ASSAY_PLAIN_MAX];
	const char *chosen = chosen_steps();
	if (*chosen)
		return is_chosen(chosen, p, n);
	size_t length = n ? assay_plain_name(p, n, plain) : 0;
	for (size_t i = 0; length && i < sizeof usual / sizeof *usual; i++)
		if (strlen(usual[i]) == length && !memcmp(usual[i], plain, length))
			return true;
	return false;
}

/* The last number in a name; -1 none. */
static int64_t number_in(const char *p, size_t n)
{
	int64_t number = -1, scale = 1;
	while (n && !(p[n - 1] >= '0' && p[n - 1] <= '9'))
		n--;
	for (; n && p[n - 1] >= '0' && p[n - 1] <= '9' && scale < 1000000000000; n--, scale *= 10)
		number = (number < 0 ? 0 : number) + (p[n - 1] - '0') * scale;
	return number;
}

/* ---- some of them only ---- */

void assay_steps_only(int64_t first, int64_t last)
{
	atomic_store(&steps.counted, 0);
	atomic_store(&steps.begun, 0);
	atomic_store(&steps.ended, 0);
	atomic_store(&steps.first, first);
	atomic_store(&steps.last, last);
	atomic_store(&steps.watched, last > 0 || rt.conf.keep_bytes > 0);
	atomic_store(&rt.file->step, 0);
}

/* From the step before on, so that it is on when the first begins. */
bool assay_steps_wanted(bool *ordered)
{
	int64_t begun = atomic_load(&steps.begun), last = atomic_load(&steps.last);
	*ordered = last > 0;
	return *ordered && begun >= atomic_load(&steps.first) - 1 && begun <= last &&
	       atomic_load(&steps.ended) < last;
}

static void look_at_order(void)
{
	bool ordered, wanted = assay_steps_wanted(&ordered);
	if (ordered && wanted != assay_rt_recording())
		assay_control_disturb();
}

/* ---- one that takes too long ---- */

static int64_t find_median(uint32_t n)
{
	int64_t sorted[RECENT];
	n = n < RECENT ? n : RECENT;
	for (uint32_t i = 0; i < n; i++) {
		int64_t v = atomic_load_explicit(&steps.recent[i], memory_order_relaxed);
		uint32_t at = i;
		for (; at && sorted[at - 1] > v; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = v;
	}
	return sorted[n / 2];
}

static bool too_long(int64_t ns)
{
	int64_t median = atomic_load(&steps.median);
	return median && ns > SHORT_NS && ns > TIMES * median;
}

static void look_at_length(int64_t ns)
{
	if (too_long(ns))
		atomic_store(&steps.slow, ns);
	uint32_t n = atomic_fetch_add(&steps.n, 1);
	atomic_store(&steps.recent[n % RECENT], ns);
	if (++n >= ENOUGH && n % SETTLE == 0)
		atomic_store(&steps.median, find_median(n));
}

int64_t assay_steps_slow(int64_t *median)
{
	*median = atomic_load(&steps.median);
	return atomic_exchange(&steps.slow, 0);
}

int64_t assay_steps_open(int64_t now)
{
	int64_t since = atomic_load(&steps.open);
	return since && too_long(now - since) ? since : 0;
}

/* ---- on the program's thread ---- */

int64_t assay_steps_begin(const char *p, size_t n)
{
	int64_t now = assay_rt_now(), number = number_in(p, n);
	int64_t counted = atomic_fetch_add(&steps.counted, 1) + 1;
	number = number < 0 ? counted : number;
	atomic_store(&steps.begun, number);
	atomic_store(&steps.open, now);
	if (rt.file)
		atomic_store(&rt.file->step, number + 1);
	look_at_order();
	return now;
}

void assay_steps_end(int64_t begun)
{
	atomic_store(&steps.open, 0);
	atomic_store(&steps.ended, atomic_load(&steps.begun));
	if (rt.conf.keep_bytes)
		look_at_length(assay_rt_now() - begun);
	look_at_order();
}
