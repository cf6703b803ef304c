/* Samples from the files of the amdgpu driver. */
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/telemetry_source.h"

typedef struct sysfs_state {
	char *folder[ASSAY_GPUS_MAX]; /* .../device of a card */
	char *hwmon[ASSAY_GPUS_MAX];
	uint32_t devices;
} sysfs_state;

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

static void add_card(sysfs_state *s, assay_arena *arena, const char *folder)
{
	glob_t h = {0};
	uint32_t d = s->devices++;
	s->folder[d] = assay_printf(arena, "%s", folder);
	s->hwmon[d] = assay_printf(arena, "%s/hwmon/none", folder);
	if (glob(assay_printf(arena, "%s/hwmon/hwmon*", folder), 0, NULL, &h) == 0)
		s->hwmon[d] = assay_printf(arena, "%s", h.gl_pathv[0]);
	globfree(&h);
}

static void *open_sysfs(assay_arena *arena, const char *root, uint32_t *devices)
{
	sysfs_state *s = assay_alloc(arena, sizeof *s);
	glob_t g = {0};
	if (glob(assay_printf(arena, "%s/sys/class/drm/card*/device", root), 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && s->devices < ASSAY_GPUS_MAX; i++)
			if (!strchr(strstr(g.gl_pathv[i], "/card"),
				    '-') && /* card0-DP-1 is a socket */
			    is_amd(g.gl_pathv[i]))
				add_card(s, arena, g.gl_pathv[i]);
	globfree(&g);
	*devices = s->devices;
	return s->devices ? s : NULL;
}

static void sample_sysfs(void *state, uint32_t i, int64_t time, double *v)
{
	(void)time;
	const sysfs_state *s = state;
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

const assay_gpu_source assay_source_sysfs = {
	.name = "sysfs",
	.open = open_sysfs,
	.sample = sample_sysfs,
};
