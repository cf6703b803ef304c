/* Samples by AMD SMI. One call a sample brings nearly everything; what a release or a GPU does not
 * tell stays all ones in it. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "probe/telemetry_source.h"
#include "vendor/amdsmi.h"

enum { SLOWDOWNS = 5 };

/* Counters of the sample before, for rates; all ones: not known. */
typedef struct earlier {
	int64_t time;
	double xgmi_read, xgmi_write; /* bytes, NaN: not known */
	uint64_t slow[SLOWDOWNS];
} earlier;

typedef struct amdsmi_state {
	void *so;
	assay_amdsmi api;
	assay_amdsmi_handle handle[ASSAY_GPUS_MAX];
	uint32_t devices;
	earlier before[ASSAY_GPUS_MAX];
	assay_amdsmi_room room;
} amdsmi_state;

/* The plain name first: whoever set a path to it chose that one. */
static void *load(void)
{
	static const char *const names[] = {"libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25",
					    "libamd_smi.so.24"};
	const char *rocm = getenv("ROCM_PATH");
	void *so = NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(names) && !so; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		char path[4096];
		snprintf(path, sizeof path, "%s/lib/libamd_smi.so", rocm ? rocm : "/opt/rocm");
		so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return so;
}

static void add_gpus(amdsmi_state *s, assay_amdsmi_handle socket)
{
	assay_amdsmi_handle found[ASSAY_GPUS_MAX];
	uint32_t n = ASSAY_GPUS_MAX;
	int type = 0;
	if (s->api.processors(socket, &n, found))
		return;
	for (uint32_t i = 0; i < n && i < ASSAY_GPUS_MAX && s->devices < ASSAY_GPUS_MAX; i++)
		if (!s->api.type(found[i], &type) && type == ASSAY_AMDSMI_TYPE_GPU)
			s->handle[s->devices++] = found[i];
}

static bool find_gpus(amdsmi_state *s)
{
	assay_amdsmi_handle sockets[ASSAY_GPUS_MAX];
	uint32_t n = ASSAY_GPUS_MAX;
	if (s->api.sockets(&n, sockets))
		return false;
	for (uint32_t i = 0; i < n && i < ASSAY_GPUS_MAX; i++)
		add_gpus(s, sockets[i]);
	return s->devices > 0;
}

static void close_amdsmi(void *state)
{
	amdsmi_state *s = state;
	s->api.shut_down();
	dlclose(s->so);
}

static void *open_amdsmi(assay_arena *arena, const char *root, uint32_t *devices)
{
	void *so = *root ? NULL : load();
	if (!so)
		return NULL;
	amdsmi_state *s = assay_alloc(arena, sizeof *s);
	s->so = so;
	if (!assay_amdsmi_bind(so, &s->api) || s->api.init(ASSAY_AMDSMI_GPUS)) {
		dlclose(so);
		return NULL;
	}
	if (!find_gpus(s)) {
		close_amdsmi(s);
		return NULL;
	}
	*devices = s->devices;
	return s;
}

static double number16(uint16_t v)
{
	return v == UINT16_MAX ? NAN : v;
}

static double percent(uint16_t v)
{
	return v > 100 ? NAN : v;
}

/* The mean of the parts that tell; NaN when none does. */
static double mean(const uint16_t *v, size_t n)
{
	double sum = 0;
	size_t told = 0;
	for (size_t i = 0; i < n; i++) {
		sum += v[i] == UINT16_MAX ? 0 : v[i];
		told += v[i] != UINT16_MAX;
	}
	return told ? sum / (double)told : NAN;
}

static double bytes_of_links(const uint64_t *kilobytes)
{
	double sum = NAN;
	for (size_t i = 0; i < ASSAY_AMDSMI_XGMI_LINKS; i++)
		if (kilobytes[i] != UINT64_MAX)
			sum = (isnan(sum) ? 0 : sum) + (double)kilobytes[i] * 1e3;
	return sum;
}

static double rate(double before, double now, int64_t ns)
{
	return ns > 0 && now >= before ? (now - before) * 1e9 / (double)ns : NAN;
}

/* GPUs since MI300 count the time they were slowed down instead of telling whether they are. */
static double slowed_since(const uint64_t *before, const uint64_t *now)
{
	static const int bit[SLOWDOWNS] = {
		ASSAY_AMDSMI_THROTTLED_PROCHOT, ASSAY_AMDSMI_THROTTLED_POWER,
		ASSAY_AMDSMI_THROTTLED_HOT_GPU, ASSAY_AMDSMI_THROTTLED_HOT_VR,
		ASSAY_AMDSMI_THROTTLED_HOT_MEM};
	uint64_t mask = 0;
	bool told = false;
	for (size_t i = 0; i < SLOWDOWNS; i++) {
		if (before[i] == UINT64_MAX || now[i] == UINT64_MAX)
			continue;
		told = true;
		mask |= now[i] > before[i] ? UINT64_C(1) << bit[i] : 0;
	}
	return told ? (double)mask : NAN;
}

static double throttle(const assay_amdsmi_metrics *m, const earlier *before, const earlier *now)
{
	if (m->indep_throttle_status != UINT64_MAX)
		return (double)m->indep_throttle_status;
	return before->time ? slowed_since(before->slow, now->slow) : NAN;
}

static void fill(const assay_amdsmi_metrics *m, earlier *before, int64_t time, double *v)
{
	earlier now = {
		time,
		bytes_of_links(m->xgmi_read_data_acc),
		bytes_of_links(m->xgmi_write_data_acc),
		{m->prochot_residency_acc, m->ppt_residency_acc, m->socket_thm_residency_acc,
		 m->vr_thm_residency_acc, m->hbm_thm_residency_acc},
	};
	double power = number16(m->current_socket_power), clock = number16(m->current_gfxclk);
	v[COL_UTIL] = percent(m->average_gfx_activity);
	v[COL_MEM_UTIL] = percent(m->average_umc_activity);
	v[COL_POWER] = isnan(power) ? number16(m->average_socket_power) : power;
	v[COL_CLOCK_GFX] = isnan(clock) ? mean(m->current_gfxclks, ASSAY_AMDSMI_XCDS) : clock;
	v[COL_CLOCK_MEM] = number16(m->current_uclk);
	v[COL_TEMP] = number16(m->temperature_edge);
	v[COL_TEMP_HOTSPOT] = number16(m->temperature_hotspot);
	v[COL_TEMP_MEM] = number16(m->temperature_mem);
	v[COL_ENERGY] =
		m->energy_accumulator == UINT64_MAX ? NAN : (double)m->energy_accumulator / 65536;
	v[COL_THROTTLE] = throttle(m, before, &now);
	if (before->time) {
		v[COL_XGMI_RX] = rate(before->xgmi_read, now.xgmi_read, time - before->time);
		v[COL_XGMI_TX] = rate(before->xgmi_write, now.xgmi_write, time - before->time);
	}
	*before = now;
}

static void sample_amdsmi(void *state, uint32_t i, int64_t time, double *v)
{
	amdsmi_state *s = state;
	uint64_t bytes;
	if (s->api.memory_used && !s->api.memory_used(s->handle[i], ASSAY_AMDSMI_VRAM, &bytes))
		v[COL_MEM_USED] = (double)bytes;
	if (s->api.memory_total && !s->api.memory_total(s->handle[i], ASSAY_AMDSMI_VRAM, &bytes))
		v[COL_MEM_TOTAL] = (double)bytes;
	memset(&s->room.metrics, 0xff, sizeof s->room.metrics); /* older releases write less */
	if (s->api.metrics && !s->api.metrics(s->handle[i], &s->room))
		fill(&s->room.metrics, &s->before[i], time, v);
}

const assay_gpu_source assay_source_amdsmi = {
	.name = "AMD SMI",
	.open = open_amdsmi,
	.sample = sample_amdsmi,
	.close = close_amdsmi,
};

TEST(a_gpu_that_tells_nothing_gives_no_values)
{
	assay_amdsmi_metrics m;
	double v[COL_COUNT];
	earlier before = {0};
	memset(&m, 0xff, sizeof m);
	for (int round = 1; round < 3; round++) {
		for (int i = 0; i < COL_COUNT; i++)
			v[i] = NAN;
		fill(&m, &before, round, v);
		for (int i = 0; i < COL_COUNT; i++)
			CHECK(isnan(v[i]));
	}
	return 0;
}

TEST(counters_become_rates_and_reasons)
{
	assay_amdsmi_metrics m;
	double v[COL_COUNT] = {0};
	earlier before = {0};
	memset(&m, 0xff, sizeof m);
	m.xgmi_read_data_acc[0] = 1000;
	m.xgmi_read_data_acc[7] = 500;
	m.ppt_residency_acc = m.hbm_thm_residency_acc = 7;
	m.energy_accumulator = 65536 * 3;
	m.current_gfxclks[0] = 2100;
	m.current_gfxclks[5] = 1900;
	fill(&m, &before, 1000000000, v);
	CHECK(isnan(v[COL_THROTTLE]) && v[COL_XGMI_RX] == 0 && v[COL_ENERGY] == 3);
	CHECK(v[COL_CLOCK_GFX] == 2000);
	m.xgmi_read_data_acc[7] = 700;
	m.hbm_thm_residency_acc = 8;
	fill(&m, &before, 1500000000, v);
	CHECK(v[COL_THROTTLE] == (double)(UINT64_C(1) << ASSAY_AMDSMI_THROTTLED_HOT_MEM));
	CHECK(v[COL_XGMI_RX] == 400000 && isnan(v[COL_XGMI_TX]));
	return 0;
}
