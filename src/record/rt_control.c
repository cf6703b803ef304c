/* Recording switched on and off while the program runs: orders come through a page of memory that
 * `assay record` shares with every process (wire/control.h). The ticker carries them out. */
#define _GNU_SOURCE /* O_NOFOLLOW */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/rt_state.h"
#include "wire/control.h"

static struct {
	assay_control own;                     /* without a page: what the configuration said */
	assay_control *page;                   /* stays mapped in children */
	uint32_t order, flushes, marks, steps; /* the last that were carried out */
} control;

static assay_control *page(void)
{
	return control.page ? control.page : &control.own;
}

static assay_control *map_page(const char *dir)
{
	char path[1100];
	snprintf(path, sizeof path, "%s/" ASSAY_CONTROL_PAGE, dir);
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	void *p =
		fd >= 0 ? mmap(NULL, ASSAY_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	bool whole = fd >= 0 && lseek(fd, 0, SEEK_END) >= ASSAY_CONTROL_BYTES;
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return NULL;
	assay_control *c = p;
	if (whole && c->magic == ASSAY_CONTROL_MAGIC)
		return c;
	munmap(p, ASSAY_CONTROL_BYTES);
	return NULL;
}

void assay_control_open(void)
{
	if (control.page)
		return;
	control.page = rt.conf.rings[0] ? map_page(rt.conf.rings) : NULL;
	if (!control.page)
		control.page = map_page(rt.conf.dir);
	atomic_store(&control.own.on, !rt.conf.paused);
	atomic_store(&control.own.from, rt.conf.from);
	atomic_store(&control.own.until, rt.conf.until);
}

/* ---- switching ---- */

/* Under the lock. */
static void put_switch(int64_t time, bool on, uint32_t why)
{
	assay_wire_switch *s = assay_rt_bulk(ASSAY_WIRE_SWITCH, sizeof *s);
	s->time = time;
	s->on = on;
	s->why = why;
}

void assay_control_stood_still(int64_t from, int64_t to)
{
	if (!atomic_load(&rt.recording))
		return;
	put_switch(from, false, ASSAY_WIRE_OFF_STILL);
	put_switch(to, true, 0);
}

static void tell_switch(int64_t time, bool on, uint32_t why)
{
	if (!assay_rt_bulk_open())
		return;
	put_switch(time, on, why);
	assay_rt_bulk_close();
}

/* What the vendor is made to tell before it is wanted, and after, is not wanted. */
static void switch_on(void)
{
	if (rt.hooks->record)
		rt.hooks->record(true);
	int64_t now = assay_rt_now();
	assay_windows_close(&rt.pauses, now);
	tell_switch(now, true, 0);
	atomic_store(&rt.recording, 1);
	assay_rt_wake(&rt.recording);
}

static void switch_off(uint32_t why)
{
	int64_t now = assay_rt_now();
	atomic_store(&rt.recording, 0);
	assay_windows_open(&rt.pauses, now);
	if (rt.hooks->record)
		rt.hooks->record(false);
	tell_switch(now, false, why);
}

static uint32_t why_off(int64_t now)
{
	const assay_control *c = page();
	int64_t until = atomic_load(&c->until);
	return !atomic_load(&c->on)                                     ? ASSAY_WIRE_OFF_ASKED
	       : (until && now >= until) || now < atomic_load(&c->from) ? ASSAY_WIRE_OFF_TIME
									: ASSAY_WIRE_OFF_ASKED;
}

static void put_mark(void)
{
	const assay_control *c = page();
	char name[ASSAY_CONTROL_NAME];
	memcpy(name, c->mark_name, sizeof name);
	name[sizeof name - 1] = 0;
	if (!assay_rt_bulk_open())
		return;
	assay_rt_put_mark(name, atomic_load(&c->mark_time));
	assay_rt_bulk_close();
}

/* Steps that were ordered, or the switch and the clock. */
static bool wanted_now(int64_t now, int64_t *next)
{
	const assay_control *c = page();
	uint32_t orders = atomic_load(&c->steps_orders);
	bool ordered;
	if (orders != control.steps)
		assay_steps_only(atomic_load(&c->steps_first), atomic_load(&c->steps_last));
	control.steps = orders;
	bool wanted = assay_steps_wanted(&ordered);
	*next = INT64_MAX;
	return ordered ? wanted : assay_control_wants(c, now, next);
}

void assay_control_begin(void)
{
	const assay_control *c = page();
	int64_t now = assay_rt_now(), next;
	control.order = atomic_load(&c->order);
	control.flushes = atomic_load(&c->flushes);
	control.marks = atomic_load(&c->marks);
	control.steps = 0;
	bool on = wanted_now(now, &next);
	atomic_store(&rt.pauses.n, 0);
	if (!on) {
		assay_windows_open(&rt.pauses, now);
		uint32_t why = why_off(now);
		put_switch(now, false, why == ASSAY_WIRE_OFF_TIME ? why : ASSAY_WIRE_OFF_START);
	}
	atomic_store(&rt.recording, on);
	atomic_store(&rt.file->records, on);
	atomic_store(&rt.file->obeyed, control.order);
}

void assay_control_obey(void)
{
	const assay_control *c = page();
	uint32_t order = atomic_load_explicit(&c->order, memory_order_acquire);
	int64_t now = assay_rt_now(), next;
	bool on = wanted_now(now, &next);
	if (on != (bool)atomic_load(&rt.recording)) {
		if (on)
			switch_on();
		else
			switch_off(why_off(now));
		atomic_store(&rt.file->records, on);
	}
	if (order == control.order)
		return;
	if (atomic_load(&c->marks) != control.marks)
		put_mark();
	control.marks = atomic_load(&c->marks);
	if (atomic_load(&c->flushes) != control.flushes) {
		rt.hooks->tick();
		assay_rt_flush();
	}
	control.flushes = atomic_load(&c->flushes);
	control.order = order;
	atomic_store(&rt.file->obeyed, order);
}

void assay_control_rest(int64_t ns)
{
	int64_t now = assay_rt_now(), next;
	assay_control_wants(page(), now, &next);
	if (next > now && next - now < ns)
		ns = next - now;
	if (!atomic_load(&rt.stopping))
		assay_control_wait(page(), control.order, ns);
}

void assay_control_disturb(void)
{
	assay_control_wake(page());
}

bool assay_rt_recording(void)
{
	return atomic_load_explicit(&rt.recording, memory_order_relaxed);
}

uint32_t assay_rt_switches(void)
{
	return atomic_load_explicit(&rt.pauses.n, memory_order_relaxed);
}

void assay_rt_idle(int64_t ns)
{
	assay_rt_wait(&rt.recording, 0, ns);
}
