/* Telemetry as a table: an absent value is an empty cell; times are nanoseconds since 1970, to
 * which a capture's own clock is tied. */
#include "probe/telemetry.h"

#include <fcntl.h>
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

#include "base/folders.h"
#include "base/arena.h"
#include "base/test.h"
#include "probe/telemetry_source.h"
#include "wire/clock.h"

static const struct {
	const char *header;
	int decimals;
} columns[] = {
#define X(id, header, decimals) {header, decimals},
	ASSAY_GPU_COLUMNS(X)
#undef X
};

static const assay_gpu_source *const sources[] = {
	&assay_source_nvml,
	&assay_source_amdsmi,
	&assay_source_sysfs,
};

struct assay_sampler {
	assay_arena arena;
	const assay_gpu_source *source;
	void *state;
	assay_sampled sum;
	int fd;
	int64_t period_ns;
	int64_t since_1970; /* of CLOCK_BOOTTIME's zero, when it began */
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

/* Where the wall clock is set while we record, rows stay where the trace is. */
static int64_t row_time(const assay_sampler *s)
{
	return assay_clock(CLOCK_BOOTTIME) + s->since_1970;
}

static void sample_all(assay_sampler *s)
{
	for (uint32_t i = 0; i < s->sum.devices; i++) {
		double v[COL_COUNT];
		no_values(v);
		int64_t time = row_time(s);
		s->source->sample(s->state, i, time, v);
		write_row(s, time, i, v);
	}
}

static void *sampler_thread(void *arg)
{
	assay_sampler *s = arg;
	int64_t due = assay_clock(CLOCK_MONOTONIC);
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		pthread_mutex_unlock(&s->lock);
		sample_all(s);
		pthread_mutex_lock(&s->lock);
		int64_t now = assay_clock(CLOCK_MONOTONIC);
		due = due + s->period_ns > now ? due + s->period_ns : now;
		struct timespec until = assay_timespec_of(due);
		while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &until) == 0)
			;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool find_devices(assay_sampler *s, const char *root)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(sources) && !s->state; i++) {
		s->source = sources[i];
		s->state = sources[i]->open(&s->arena, root, &s->sum.devices);
	}
	s->sum.from = s->state ? s->source->name : NULL;
	return s->state != NULL;
}

assay_sampler *assay_sampler_start(const char *csv, const char *root, int64_t period_ns)
{
	assay_arena arena = {0};
	assay_sampler *s = assay_alloc(&arena, sizeof *s);
	s->arena = arena;
	s->fd = -1;
	s->period_ns = period_ns;
	pthread_mutex_init(&s->lock, NULL);
	assay_cond_init(&s->wake);
	s->since_1970 = assay_clock(CLOCK_REALTIME) - assay_clock(CLOCK_BOOTTIME);
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
	if (s->state && s->source->close)
		s->source->close(s->state);
	assay_sampled sum = s->sum;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	assay_arena arena = s->arena;
	assay_arena_free(&arena);
	return sum;
}

static bool put_file(const char *dir, const char *name, const char *text)
{
	char path[700];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

TEST(sysfs_of_an_amd_card_becomes_rows)
{
	const char *root = assay_test_path("root"), *csv = assay_test_path("t.csv");
	char dir[600], hwmon[640], text[2048] = "";
	snprintf(dir, sizeof dir, "%s/sys/class/drm/card1/device", root);
	snprintf(hwmon, sizeof hwmon, "%s/hwmon/hwmon3", dir);
	CHECK(assay_make_folders(hwmon, 0700, NULL));
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
	return 0;
}

TEST(a_machine_without_gpus_has_no_telemetry)
{
	assay_sampled sum =
		assay_sampler_stop(assay_sampler_start("/nonexistent/x.csv", "/nonexistent", 1));
	CHECK(!sum.from && !sum.devices && !sum.rows);
	return 0;
}
