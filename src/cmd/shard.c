#include "cmd/say.h"
#include "cmd/shard.h"

#include <string.h>

#include "base/test.h"
#include "cmd/cmd.h"
#include "names/launchers.h"

/* N of "I/N", 0 when there is none or it is no count. */
static uint64_t count_of(assay_str text)
{
	uint64_t n = 0;
	assay_str_cut(&text, '/');
	return assay_str_u64(text, &n) && n < UINT32_MAX ? n : 0;
}

static bool place_as_shard(const assay_place *p, uint64_t count, assay_shard *shard)
{
	*shard = (assay_shard){(size_t)p->rank, count ? count : (size_t)p->size};
	if (!count && p->size < 0) {
		assay_say(
			"assay report: %s says %lld and nothing says of how many: give --shard auto/N",
			p->launcher->rank, (long long)p->rank);
		return false;
	}
	if (shard->index < shard->count)
		return true;
	assay_say("assay report: %s says %lld, which is not a shard of %zu (counted from 0)",
		  p->launcher->rank, (long long)p->rank, shard->count);
	return false;
}

static bool shard_by_launcher(const char *text, assay_shard *shard)
{
	assay_place p;
	uint64_t count = count_of(assay_str_of(text));
	if (text[strlen("auto")] && !count) {
		assay_say("assay report: '%s' is not a shard: give auto or auto/N", text);
		return false;
	}
	if (assay_place_here(&p, false))
		return place_as_shard(&p, count, shard);
	assay_say_on("assay report: no launcher says which shard this is; looked for");
	for (size_t i = 0; i < assay_launcher_count; i++)
		assay_say_on("%s %s of %s", i ? "," : "", assay_launchers[i].rank,
			     assay_launchers[i].size);
	fputc('\n', stderr);
	return false;
}

static bool is_shard(assay_str text, assay_shard *shard)
{
	uint64_t index, count = count_of(text);
	if (!assay_str_u64(assay_str_cut(&text, '/'), &index) || index >= count)
		return false;
	*shard = (assay_shard){index, count};
	return true;
}

bool assay_cmd_shard_of(const char *text, assay_shard *shard)
{
	if (!strcmp(text, "auto") || !strncmp(text, "auto/", 5))
		return shard_by_launcher(text, shard);
	if (is_shard(assay_str_of(text), shard))
		return true;
	assay_say(
		"assay report: '%s' is not a shard: give I/N with I from 0 to N - 1, auto, or auto/N",
		text);
	return false;
}

struct writing {
	const assay_report_opts *opts;
	assay_shard shard;
	const char *dir;
	bool written;
};

static bool write_one(void *ctx, assay_run *run, char **operands, size_t n, assay_err *err)
{
	struct writing *w = ctx;
	return assay_shard_write(run, operands, n, w->opts, w->shard, w->dir, &w->written, err);
}

int assay_cmd_write_shard(char **operands, int n, const assay_report_opts *opts, assay_shard shard,
			  const char *dir, bool quiet)
{
	struct writing w = {opts, shard, dir, false};
	assay_err err = {0};
	assay_run *run = assay_cmd_read_by(write_one, &w, operands, n, &err);
	if (!run)
		return assay_cmd_status(&err);
	assay_arena scratch = {0};
	if (!quiet)
		assay_say("%s: %s", assay_shard_path(&scratch, dir, shard),
			  w.written ? "written" : "is whole already, nothing to do");
	assay_arena_free(&scratch);
	assay_run_free(run);
	return ASSAY_EXIT_OK;
}

TEST(a_shard_is_a_number_from_zero_and_a_count)
{
	assay_shard s;
	CHECK(is_shard(ASSAY_S("0/1"), &s) && s.index == 0 && s.count == 1);
	CHECK(is_shard(ASSAY_S("511/512"), &s) && s.index == 511 && s.count == 512);
	const char *const wrong[] = {"512/512", "1", "a/2", "1/", "/2", "-1/2", "1/0", "1/2/3", ""};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wrong); i++)
		CHECK(!is_shard(assay_str_of(wrong[i]), &s));
	return 0;
}
