/* Telemetry: NVML when it is there, else the amdgpu driver's files in /sys. Columns and units are
 * those of docs/formats/smi.md; an absent value is an empty cell. Times are nanoseconds since 1970,
 * to which a capture's own clock is tied. */
#include "probe/telemetry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/test.h"
#include "vendor/nvml.h"

enum { DEVICES_MAX = 64, PCIE_DEVICES_MAX = 2 };

/* X(column, header, decimals) */
#define COLUMNS(X)                                                                                 \
	X(UTIL, "util [%]", 0)                                                                     \
	X(MEM_UTIL, "mem_util [%]", 0)                                                             \
	X(MEM_USED, "mem_used [B]", 0)                                                             \
	X(MEM_TOTAL, "mem_total [B]", 0)                                                           \
	X(POWER, "power [W]", 3)                                                                   \
	X(CLOCK_GFX, "clock_gfx [MHz]", 0)                                                         \
	X(CLOCK_MEM, "clock_mem [MHz]", 0)                                                         \
	X(TEMP, "temp [C]", 0)                                                                     \
	X(TEMP_HOTSPOT, "temp_hotspot [C]", 0)                                                     \
	X(TEMP_MEM, "temp_mem [C]", 0)                                                             \
	X(THROTTLE, "throttle", 0)                                                                 \
	X(PCIE_TX, "pcie_tx [B/s]", 0)                                                             \
	X(PCIE_RX, "pcie_rx [B/s]", 0)                                                             \
	X(ENERGY, "energy [J]", 3)

enum column {
#define X(id, header, decimals) COL_##id,
	COLUMNS(X)
#undef X
		COL_COUNT
};
static const struct {
	const char *header;
	int decimals;
} columns[] = {
#define X(id, header, decimals) {header, decimals},
	COLUMNS(X)
#undef X
};

struct assay_sampler {
	assay_arena arena;
	void *nvml_so;
	assay_nvml nvml;
	assay_nvml_device handle[DEVICES_MAX];
	char *folder[DEVICES_MAX]; /* .../device of an AMD card */
	char *hwmon[DEVICES_MAX];
	assay_sampled sum;
	int fd;
	int64_t period_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */
};

static void no_values(double *v)
{
	for (int i = 0; i < COL_COUNT; i++)
		v[i] = NAN;
}

/* ---- NVML ---- */

static bool open_nvml(assay_sampler *s)
{
	s->nvml_so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!s->nvml_so)
		return false;
	unsigned n = 0;
	if (!assay_nvml_bind(s->nvml_so, &s->nvml) || s->nvml.init() || s->nvml.count(&n))
		return false;
	for (unsigned i = 0; i < n && s->sum.devices < DEVICES_MAX; i++)
		if (s->nvml.by_index(i, &s->handle[s->sum.devices]) == 0)
			s->sum.devices++;
	return s->sum.devices > 0;
}

static void sample_nvml(assay_sampler *s, uint32_t i, double *v)
{
	const assay_nvml *n = &s->nvml;
	assay_nvml_device h = s->handle[i];
	assay_nvml_utilization u;
	assay_nvml_memory m;
	unsigned x;
	unsigned long long w;
	if (n->utilization && !n->utilization(h, &u)) {
		v[COL_UTIL] = u.gpu;
		v[COL_MEM_UTIL] = u.memory;
	}
	if (n->memory && !n->memory(h, &m)) {
		v[COL_MEM_USED] = (double)m.used;
		v[COL_MEM_TOTAL] = (double)m.total;
	}
	if (n->power && !n->power(h, &x))
		v[COL_POWER] = x / 1e3;
	if (n->clock && !n->clock(h, ASSAY_NVML_CLOCK_SM, &x))
		v[COL_CLOCK_GFX] = x;
	if (n->clock && !n->clock(h, ASSAY_NVML_CLOCK_MEM, &x))
		v[COL_CLOCK_MEM] = x;
	if (n->temperature && !n->temperature(h, 0, &x))
		v[COL_TEMP] = x;
	if (n->throttle && !n->throttle(h, &w))
		v[COL_THROTTLE] = (double)w;
	if (n->energy && !n->energy(h, &w))
		v[COL_ENERGY] = (double)w / 1e3;
	if (s->sum.devices > PCIE_DEVICES_MAX) /* 40 ms a device: more would outlast the period */
		return;
	if (n->pcie && !n->pcie(h, ASSAY_NVML_PCIE_TX, &x))
		v[COL_PCIE_TX] = x * 1e3;
	if (n->pcie && !n->pcie(h, ASSAY_NVML_PCIE_RX, &x))
		v[COL_PCIE_RX] = x * 1e3;
}

/* ---- sysfs of amdgpu ---- */

/* The number in a small file; NaN when it is not there. */
static double read_number(const char *folder, const char *name)
{
	char path[512], text[64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NAN;
	text[n] = 0;
	char *end;
	double v = strtod(text, &end);
	return end == text ? NAN : v;
}

static bool is_amd(const char *folder)
{
	char path[512], text[16] = "";
	snprintf(path, sizeof path, "%s/vendor", folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		close(fd);
	return n >= 6 && !strncmp(text, "0x1002", 6);
}

static bool open_sysfs(assay_sampler *s, const char *root)
{
	glob_t g = {0}, h = {0};
	if (glob(assay_printf(&s->arena, "%s/sys/class/drm/card*/device", root), 0, NULL, &g) ==
	    0) {
		for (size_t i = 0; i < g.gl_pathc && s->sum.devices < DEVICES_MAX; i++) {
			const char *name = strstr(g.gl_pathv[i], "/card");
			if (strchr(name, '-') ||
			    !is_amd(g.gl_pathv[i])) /* card0-DP-1 is a socket */
				continue;
			uint32_t d = s->sum.devices++;
			s->folder[d] = assay_printf(&s->arena, "%s", g.gl_pathv[i]);
			s->hwmon[d] = assay_printf(&s->arena, "%s/hwmon/none", g.gl_pathv[i]);
			if (glob(assay_printf(&s->arena, "%s/hwmon/hwmon*", g.gl_pathv[i]), 0, NULL,
				 &h) == 0)
				s->hwmon[d] = assay_printf(&s->arena, "%s", h.gl_pathv[0]);
			globfree(&h);
		}
	}
	globfree(&g);
	return s->sum.devices > 0;
}

static void sample_sysfs(assay_sampler *s, uint32_t i, double *v)
{
	const char *f = s->folder[i], *h = s->hwmon[i];
	v[COL_UTIL] = read_number(f, "gpu_busy_percent");
	v[COL_MEM_UTIL] = read_number(f, "mem_busy_percent");
	v[COL_MEM_USED] = read_number(f, "mem_info_vram_used");
	v[COL_MEM_TOTAL] = read_number(f, "mem_info_vram_total");
	double power = read_number(h, "power1_average"); /* newer parts have only power1_input */
	v[COL_POWER] = (isnan(power) ? read_number(h, "power1_input") : power) / 1e6;
	v[COL_CLOCK_GFX] = read_number(h, "freq1_input") / 1e6;
	v[COL_CLOCK_MEM] = read_number(h, "freq2_input") / 1e6;
	v[COL_TEMP] = read_number(h, "temp1_input") / 1e3;
	v[COL_TEMP_HOTSPOT] = read_number(h, "temp2_input") / 1e3;
	v[COL_TEMP_MEM] = read_number(h, "temp3_input") / 1e3;
}

/* ---- the table ---- */

static bool write_text(assay_sampler *s, const char *p, size_t n)
{
	return write(s->fd, p, n) == (ssize_t)n;
}

static void write_header(assay_sampler *s)
{
	char line[1024] = "time [ns],gpu";
	size_t n = strlen(line);
	for (int i = 0; i < COL_COUNT; i++)
		n += (size_t)snprintf(line + n, sizeof line - n, ",%s", columns[i].header);
	n += (size_t)snprintf(line + n, sizeof line - n, "\n");
	write_text(s, line, n);
}

static void write_row(assay_sampler *s, int64_t time, uint32_t gpu, const double *v)
{
	char line[1024];
	size_t n = (size_t)snprintf(line, sizeof line, "%" PRId64 ",%" PRIu32, time, gpu);
	for (int i = 0; i < COL_COUNT; i++)
		n += (size_t)(isnan(v[i]) ? snprintf(line + n, sizeof line - n, ",")
					  : snprintf(line + n, sizeof line - n, ",%.*f",
						     columns[i].decimals, v[i]));
	n += (size_t)snprintf(line + n, sizeof line - n, "\n");
	if (write_text(s, line, n)) /* whole lines in one write: a killed run ends with one */
		s->sum.rows++;
}

static int64_t now_real(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sample_all(assay_sampler *s)
{
	for (uint32_t i = 0; i < s->sum.devices; i++) {
		double v[COL_COUNT];
		no_values(v);
		int64_t time = now_real();
		if (s->folder[i])
			sample_sysfs(s, i, v);
		else
			sample_nvml(s, i, v);
		write_row(s, time, i, v);
	}
}

static void *sampler_thread(void *arg)
{
	assay_sampler *s = arg;
	struct timespec due;
	clock_gettime(CLOCK_REALTIME, &due);
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		pthread_mutex_unlock(&s->lock);
		sample_all(s);
		pthread_mutex_lock(&s->lock);
		due.tv_nsec += (long)(s->period_ns % 1000000000);
		due.tv_sec += (time_t)(s->period_ns / 1000000000) + due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &due) == 0)
			;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool find_devices(assay_sampler *s, const char *root)
{
	if (!*root && open_nvml(s))
		s->sum.from = "NVML";
	else if (open_sysfs(s, root))
		s->sum.from = "sysfs";
	return s->sum.from != NULL;
}

assay_sampler *assay_sampler_start(const char *csv, const char *root, int64_t period_ns)
{
	assay_arena arena = {0};
	assay_sampler *s = assay_alloc(&arena, sizeof *s);
	s->arena = arena;
	s->fd = -1;
	s->period_ns = period_ns;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	if (!find_devices(s, root))
		return s;
	s->fd = open(csv, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (s->fd < 0) {
		s->sum = (assay_sampled){0};
		return s;
	}
	write_header(s);
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the caller's business */
	int rc = pthread_create(&s->thread, NULL, sampler_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		close(s->fd);
		s->fd = -1;
	}
	return s;
}

assay_sampled assay_sampler_stop(assay_sampler *s)
{
	if (s->fd >= 0) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		sample_all(s);
		close(s->fd);
	}
	if (s->nvml_so && s->nvml.shutdown)
		s->nvml.shutdown();
	if (s->nvml_so)
		dlclose(s->nvml_so);
	assay_sampled sum = s->sum;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	assay_arena arena = s->arena;
	assay_arena_free(&arena);
	return sum;
}

static bool put_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

TEST(sysfs_of_an_amd_card_becomes_rows)
{
	char root[] = "/tmp/assay-sysfs-XXXXXX", dir[128], hwmon[160], csv[64], text[2048] = "";
	CHECK(mkdtemp(root));
	snprintf(dir, sizeof dir, "mkdir -p %s/sys/class/drm/card1/device/hwmon/hwmon3", root);
	CHECK(system(dir) == 0);
	snprintf(dir, sizeof dir, "%s/sys/class/drm/card1/device", root);
	snprintf(hwmon, sizeof hwmon, "%s/hwmon/hwmon3", dir);
	snprintf(csv, sizeof csv, "%s/t.csv", root);
	CHECK(put_file(dir, "vendor", "0x1002\n") && put_file(dir, "gpu_busy_percent", "73\n"));
	CHECK(put_file(dir, "mem_info_vram_used", "1048576\n"));
	CHECK(put_file(hwmon, "power1_average", "251500000\n"));
	assay_sampled sum = assay_sampler_stop(assay_sampler_start(csv, root, 10000000));
	CHECK(sum.devices == 1 && sum.rows >= 1 && !strcmp(sum.from, "sysfs"));
	FILE *f = fopen(csv, "r");
	CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
	fclose(f);
	CHECK(strstr(text, "time [ns],gpu,util [%]") == text);
	CHECK(strstr(text, ",0,73,,1048576,,251.500,,,,"));
	snprintf(dir, sizeof dir, "rm -r %s", root);
	return system(dir);
}

TEST(a_machine_without_gpus_has_no_telemetry)
{
	assay_sampled sum =
		assay_sampler_stop(assay_sampler_start("/nonexistent/x.csv", "/nonexistent", 1));
	CHECK(!sum.from && !sum.devices && !sum.rows);
	return 0;
}
