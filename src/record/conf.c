/* ASSAY_RECORD=1;key=value;...: read once, at start. */
#include "record/conf.h"

#include <stdlib.h>
#include <string.h>

#include "wire/keep.h"

typedef struct conf_key {
	const char *name;
	enum { TEXT, U32, I64, FLAG } type;
	size_t at, size;
} conf_key;

#define KEY(name, type, field)                                                                     \
	{                                                                                          \
		name, type, offsetof(assay_rt_config, field),                                      \
			sizeof(((assay_rt_config *)0)->field)                                      \
	}
static const conf_key keys[] = {
	KEY("dir", TEXT, dir),
	KEY("rings", TEXT, rings),
	KEY("range", TEXT, range),
	KEY("paused", FLAG, paused),
	KEY("from", I64, from),
	KEY("until", I64, until),
	KEY("flush", U32, flush_ms),
	KEY("tick", U32, tick_ms),
	KEY("ring", U32, ring_bytes),
	KEY("buffer", U32, buffer_bytes),
	KEY("all_api", FLAG, all_api),
	KEY("no_driver", FLAG, no_driver),
	KEY("driver_launches", FLAG, driver_launches),
	KEY("no_nodes", FLAG, no_nodes),
	KEY("sample_nodes", FLAG, sample_nodes),
	KEY("auto_nodes", FLAG, auto_nodes),
	KEY("no_blas", FLAG, no_blas),
	KEY("steps", TEXT, steps),
	KEY("no_api", FLAG, no_api),
	KEY("skip", TEXT, skip),
	KEY("exact_waits", FLAG, exact_waits),
	KEY("no_stacks", FLAG, no_stacks),
	KEY("no_native", FLAG, no_native),
	KEY("no_children", FLAG, no_children),
	KEY("sample", U32, sample_us),
	KEY("keep_ns", I64, keep_ns),
	KEY("keep", I64, keep_bytes),
	KEY("hang", U32, hang_ms),
	KEY("filters", U32, filters),
};

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Text up to ';' with %xx undone; "" when it does not fit. */
static void copy_text(char *to, size_t size, const char *p, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n && len + 1 < size; i++) {
		int hi = p[i] == '%' && i + 2 < n ? hex(p[i + 1]) : -1;
		int lo = hi >= 0 ? hex(p[i + 2]) : -1;
		to[len++] = lo >= 0 ? (char)(hi * 16 + lo) : p[i];
		i += lo >= 0 ? 2 : 0;
		if (len + 1 == size)
			len = i + 1 < n ? 0 : len;
		if (!len)
			break;
	}
	to[len] = 0;
}

static void set_key(assay_rt_config *conf, const char *name, size_t name_len, const char *p,
		    size_t n)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const conf_key *k = &keys[i];
		char *at = (char *)conf + k->at;
		if (strlen(k->name) != name_len || memcmp(k->name, name, name_len))
			continue;
		long long v = k->type == TEXT ? 0 : strtoll(p, NULL, 10);
		if (k->type == TEXT)
			copy_text(at, k->size, p, n);
		else if (k->type == U32)
			*(uint32_t *)(void *)at = (uint32_t)v;
		else if (k->type == I64)
			*(int64_t *)(void *)at = v;
		else
			*(bool *)(void *)at = v != 0;
	}
}

/* A ring is a power of two, so that a place in it is a mask away, and never less than a page; the
 * bounds keep a typing error harmless. */
static void settle(assay_rt_config *conf)
{
	uint32_t ring = 4096;
	while (ring < conf->ring_bytes && ring < ASSAY_RING_BYTES_MAX)
		ring *= 2;
	conf->ring_bytes = ring;
	if (conf->flush_ms < 1)
		conf->flush_ms = 1;
	if (conf->sample_us && conf->sample_us < 50)
		conf->sample_us = 50;
	if (conf->tick_ms > conf->flush_ms)
		conf->tick_ms = conf->flush_ms;
	if (conf->buffer_bytes < 16384)
		conf->buffer_bytes = 16384;
	if (conf->keep_bytes < 0 || conf->keep_bytes > (int64_t)ASSAY_KEEP_MOST)
		conf->keep_bytes = ASSAY_KEEP_MOST;
	if (conf->keep_ns < 0)
		conf->keep_ns = 0;
}

bool assay_conf_parse(const char *text, assay_rt_config *conf)
{
	if (!text || strncmp(text, "1;", 2))
		return false;
	*conf = (assay_rt_config){.flush_ms = 100,
				  .ring_bytes = 1 << 20,
				  .buffer_bytes = 256 << 10,
				  .sample_us = 1000,
				  .hang_ms = 10000};
	for (const char *p = text + 2; *p;) {
		size_t n = strcspn(p, ";"), name = strcspn(p, "=;");
		if (name < n)
			set_key(conf, p, name, p + name + 1, n - name - 1);
		p += n + (p[n] == ';');
	}
	settle(conf);
	return conf->dir[0] != 0;
}
