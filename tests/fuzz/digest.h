/* All that was read, as one number: readings of the same bytes by other threads or another
 * instruction set must agree. */
#ifndef ASSAY_TESTS_FUZZ_DIGEST_H
#define ASSAY_TESTS_FUZZ_DIGEST_H

#include <stdlib.h>

#include "read/reader.h"

/* Strings count as text: their numbers depend on who met them first. */
static uint64_t add_column(const assay_run *run, const void *p, size_t bytes, bool text, uint64_t h)
{
	const assay_sid *id = p;
	if (!text)
		return bytes ? assay_hash(p, bytes, h) : h;
	for (size_t i = 0; i < bytes / sizeof *id; i++) {
		assay_str s = assay_text(run, id[i]);
		h = assay_hash(s.p, s.n, h + 1);
	}
	return h;
}

static uint64_t digest(const assay_run *run)
{
	const assay_tables *t = &run->part.t;
	uint64_t h = assay_hash(run->part.issues, sizeof run->part.issues, 1);
#define COL(table, type, c, unit, absent, doc)                                                     \
	h = add_column(run, t->table.c, t->table.n * sizeof *t->table.c,                           \
		       ASSAY_TOKEN_##type == ASSAY_TOKEN_sid, h + 1);
#include "model/tables.def"
	return h;
}

/* While inputs are made (tests/fuzz/run) one in eight, always the same ones: what costs several
 * readings is done for those. */
static bool is_chosen(const uint8_t *data, size_t size)
{
	return !getenv("ASSAY_FUZZ_SELDOM") ||
	       (size && assay_hash((const char *)data, size, 3) % 8 == 0);
}

/* 0 when the reader refuses the bytes. */
static uint64_t digest_of(const assay_reader *reader, const uint8_t *data, size_t size,
			  const char *threads, const char *isa)
{
	setenv("ASSAY_THREADS", threads, 1);
	if (isa)
		setenv("ASSAY_ISA", isa, 1);
	else
		unsetenv("ASSAY_ISA"); /* the best there is */
	assay_run *run = assay_read_bytes(reader, data, size);
	uint64_t h = run ? digest(run) : 0;
	assay_run_free(run);
	return h;
}

/* Three threads, and scalar code, must read what one thread reads. */
static inline int compare_readings(const assay_reader *reader, const uint8_t *data, size_t size)
{
	reader->sniff((assay_str){(const char *)data, size});
	uint64_t one = digest_of(reader, data, size, "1", size % 2 ? "scalar" : NULL);
	if (!is_chosen(data, size))
		return 0;
	if (one != digest_of(reader, data, size, "3", NULL))
		abort();
	if (one != digest_of(reader, data, size, "1", size % 2 ? NULL : "scalar"))
		abort();
	return 0;
}

#endif
