/* Reading many files at once: ranks of a job come one file each, or several with one stem. The
 * files of a process are a batch. Batches are read by workers, each into
 * a run of its own, and joined to the run in their order, so that any number of workers gives the
 * same rows. No more of them than workers are held at a time. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/pump.h"
#include "base/test.h"
#include "model/sound.h"
#include "read/listing.h"
#include "read/reader.h"

enum { WORKERS_MAX = 64 };

enum batch_state {
	BATCH_WAITS, /* nobody looked at it yet */
	BATCH_TAKEN,
	BATCH_READ, /* run holds it, or its files say why not */
};

struct batch {
	struct file *first, *last;
	enum batch_state state;
	assay_run *run; /* NULL: none of its files can be read apart */
};

struct reading {
	assay_run *run;
	const assay_each *each; /* NULL: rows are joined to the run */
	uint64_t bytes_done;
	struct files found;
	assay_vec(struct batch) batch;
	size_t next, joined; /* batches given to workers, batches joined */
	size_t good;
	size_t held, held_most;       /* runs that hold a batch */
	unsigned workers, threads;    /* threads: of the machine */
	assay_vec(assay_run *) spare; /* used before: their memory is there already */
	pthread_mutex_t lock;
	pthread_cond_t turn;
	assay_thread thread[WORKERS_MAX];
	unsigned started;
	bool failed; /* somebody found no memory: nobody goes on */
};

/* Files of one process go together, where the first of them stands. */
static void make_batches(struct reading *r)
{
	assay_map seen = {0};
	for (size_t i = 0; i < r->found.file.n; i++) {
		struct file *f = &r->found.file.p[i];
		assay_str stem = assay_process_stem(assay_str_of(f->path));
		uint32_t *slot = assay_map_at(&seen, assay_hash(stem.p, stem.n, 0));
		if (*slot == ASSAY_MAP_ABSENT || stem.n == strlen(f->path)) {
			*slot = (uint32_t)r->batch.n;
			*assay_push(&r->batch) = (struct batch){.first = f, .last = f};
		} else {
			struct batch *b = &r->batch.p[*slot];
			b->last = b->last->next = f;
		}
	}
	assay_map_free(&seen);
}

/* Straight into the run: one file, or a format that looks at what was read before. */
static void read_in_turn(struct reading *r, struct file *f)
{
	assay_input *in = assay_input_open(f->path, &f->err);
	f->ok = in && assay_read_input(r->run, in, &f->err);
	if (in)
		assay_input_close(in);
}

/* The last batches of many get the threads that have none of their own any more. */
static unsigned threads_for(const struct reading *r, size_t index)
{
	size_t left = r->batch.n - index;
	return left < r->workers ? (unsigned)(r->threads / left) : r->threads / r->workers;
}

static assay_run *take_run(struct reading *r)
{
	pthread_mutex_lock(&r->lock);
	assay_run *run = r->spare.n ? r->spare.p[--r->spare.n] : NULL;
	r->held++;
	r->held_most = r->held > r->held_most ? r->held : r->held_most;
	pthread_mutex_unlock(&r->lock);
	run = run ? run : assay_run_new();
	run->lean = r->run->lean;
	return run;
}

static void give_run(struct reading *r, assay_run *run)
{
	assay_held held;
	assay_run_reset(run);
	assay_hold(&held, &r->lock);
	*assay_push(&r->spare) = run;
	r->held--;
	assay_unhold(&held);
}

/* What is said of it is said when it is read for itself. */
static void read_beside(assay_run *run, const struct file *f, const char *name)
{
	assay_arena scratch = {0};
	uint64_t issues[ASSAY_ISSUE_COUNT];
	size_t warnings = run->part.t.warning.n;
	assay_str folder = assay_str_folder(assay_str_of(f->path));
	assay_input *in = assay_input_open(
		assay_printf(&scratch, "%.*s%s", (int)folder.n, folder.p, name), NULL);
	memcpy(issues, run->part.issues, sizeof issues);
	if (in) {
		assay_read_input(run, in, NULL);
		assay_input_close(in);
	}
	memcpy(run->part.issues, issues, sizeof issues);
	run->part.t.warning.n = warnings;
	assay_arena_free(&scratch);
}

/* One file of a batch into the batch's run, unless its format looks at others. */
static void read_apart(struct reading *r, struct batch *b, struct file *f)
{
	assay_input *in = assay_input_open(f->path, &f->err);
	const assay_reader *reader = in ? assay_reader_choose(in, &f->err) : NULL;
	f->in_turn = reader && !reader->alone;
	if (reader && reader->alone) {
		size_t index = (size_t)(b - r->batch.p);
		b->run = b->run ? b->run : take_run(r);
		b->run->threads = threads_for(r, index);
		f->ok = assay_read_source(b->run, in, reader, assay_add_source(b->run, in, reader),
					  &f->err);
		if (r->each && r->each->with_beside && reader->beside)
			read_beside(b->run, f, reader->beside);
	}
	if (in)
		assay_input_close(in);
}

static void read_batch(struct reading *r, struct batch *b)
{
	for (struct file *f = b->first; f; f = f->next)
		read_apart(r, b, f);
	if (b->run && r->each && r->each->work)
		r->each->work(r->each->ctx, b->run);
}

static void fail(void *arg)
{
	struct reading *r = arg;
	pthread_mutex_lock(&r->lock);
	r->failed = true;
	pthread_cond_broadcast(&r->turn);
	pthread_mutex_unlock(&r->lock);
}

static void run_worker(void *arg)
{
	struct reading *r = arg;
	assay_undo undo;
	assay_undo_add(&undo, fail, r);
	pthread_mutex_lock(&r->lock);
	while (r->next < r->batch.n && !r->failed) {
		if (r->next >= r->joined + r->workers) {
			pthread_cond_wait(&r->turn, &r->lock);
			continue;
		}
		struct batch *b = &r->batch.p[r->next++];
		b->state = BATCH_TAKEN;
		pthread_mutex_unlock(&r->lock);
		read_batch(r, b);
		pthread_mutex_lock(&r->lock);
		b->state = BATCH_READ;
		pthread_cond_broadcast(&r->turn);
	}
	pthread_mutex_unlock(&r->lock);
	assay_undo_drop(&undo);
}

/* The rows of a batch's own run, behind all that came before. */
static void join_rows(struct reading *r, struct batch *b)
{
	assay_moved moved = {.whole = true, .lean = r->run->lean};
	assay_part_move(&r->run->part, &b->run->part, &moved);
	assay_moved_free(&moved);
}

static void show_progress(struct reading *r, const struct batch *b)
{
	const assay_source_table *s = &b->run->part.t.source;
	char what[64];
	for (size_t i = 0; i < s->n; i++)
		r->bytes_done += s->file_bytes[i];
	if (!r->run->progress)
		return;
	snprintf(what, sizeof what, "%zu of %zu files", (size_t)(b->last - r->found.file.p) + 1,
		 r->found.file.n);
	r->run->progress(r->run->progress_ctx, what, r->bytes_done, 0);
}

static void join_run(struct reading *r, struct batch *b)
{
	bool ok = false;
	for (const struct file *f = b->first; f; f = f->next)
		ok |= f->ok;
	show_progress(r, b);
	if (!r->each)
		join_rows(r, b);
	else if (ok)
		r->each->take(r->each->ctx, b->run);
	give_run(r, b->run);
	b->run = NULL;
}

static void report(struct reading *r, const struct file *f)
{
	if (f->err.code == ASSAY_UNKNOWN && !f->named) {
		assay_count(&r->run->part, ASSAY_ISSUE_skipped_file, 1);
		return;
	}
	assay_count(&r->run->part, ASSAY_ISSUE_broken_file, 1);
	if (f->err.pos)
		assay_warn(r->run, "broken_file", "%s (at byte %llu)", f->err.text,
			   (unsigned long long)f->err.pos);
	else
		assay_warn(r->run, "broken_file", "%s", f->err.text);
}

static void take_file(struct reading *r, struct file *f)
{
	if (f->in_turn && r->each) {
		r->each->leave(r->each->ctx, f->path);
		r->good++;
		return;
	}
	if (f->in_turn)
		read_in_turn(r, f);
	r->good += f->ok;
	if (!f->ok && r->found.file.n > 1)
		report(r, f);
}

static void take_batch(struct reading *r, struct batch *b)
{
	if (b->run)
		join_run(r, b);
	for (struct file *f = b->first; f; f = f->next)
		take_file(r, f);
	if (r->each && r->each->done)
		r->each->done(r->each->ctx);
}

static void join_all(struct reading *r)
{
	for (size_t i = 0; i < r->batch.n; i++) {
		pthread_mutex_lock(&r->lock);
		while (r->batch.p[i].state < BATCH_READ && !r->failed)
			pthread_cond_wait(&r->turn, &r->lock);
		bool failed = r->failed;
		pthread_mutex_unlock(&r->lock);
		if (failed)
			return;
		take_batch(r, &r->batch.p[i]);
		pthread_mutex_lock(&r->lock);
		r->joined = i + 1;
		pthread_cond_broadcast(&r->turn);
		pthread_mutex_unlock(&r->lock);
	}
}

static void join_workers(struct reading *r)
{
	for (unsigned i = 0; i < r->started; i++)
		assay_thread_join(&r->thread[i]);
}

static void stop_workers(void *reading)
{
	fail(reading);
	join_workers(reading);
}

/* False when no thread is to be had. */
static bool read_at_once(struct reading *r)
{
	assay_undo undo;
	assay_undo_add(&undo, stop_workers, r);
	while (r->started < r->workers && assay_thread_start(&r->thread[r->started], run_worker, r))
		r->started++;
	if (r->started)
		join_all(r);
	assay_undo_drop(&undo);
	join_workers(r);
	for (unsigned i = 0; i < r->started; i++)
		assay_thread_fail_as(&r->thread[i]);
	return r->started > 0;
}

static void read_one_by_one(struct reading *r)
{
	r->workers = 1;
	for (size_t i = 0; i < r->batch.n; i++) {
		struct batch *b = &r->batch.p[i];
		if (r->each)
			read_batch(r, b);
		for (struct file *f = b->first; f && !r->each; f = f->next)
			f->in_turn = true;
		take_batch(r, b);
	}
}

/* Standard input can be opened once only, so it is never looked at twice. */
static bool has_pipe(const struct reading *r)
{
	for (size_t i = 0; i < r->found.file.n; i++)
		if (!strcmp(r->found.file.p[i].path, "-"))
			return true;
	return false;
}

/* Neighbours stay together: ranks of a machine, and no more than one part to hold when parts are
 * put together in order. */
static void take_shard(struct reading *r, assay_listing *l)
{
	size_t shards = r->each->shards, n = r->batch.n;
	l->processes = l->n = n;
	for (size_t i = 0; i < r->found.file.n; i++)
		l->names = assay_hash(r->found.file.p[i].path, strlen(r->found.file.p[i].path),
				      l->names);
	if (shards) {
		l->first = n / shards * r->each->shard +
			   (n % shards < r->each->shard ? n % shards : r->each->shard);
		l->n = n / shards + (r->each->shard < n % shards);
	}
	memmove(r->batch.p, r->batch.p + l->first, l->n * sizeof *r->batch.p);
	r->batch.n = l->n;
	l->state = l->names;
	for (size_t i = 0; i < l->n; i++)
		for (const struct file *f = r->batch.p[i].first; f; f = f->next)
			l->state = assay_hash(&f->state, sizeof f->state, l->state);
}

static bool read_all(struct reading *r, const char *first_path, assay_err *err)
{
	assay_listing listing = {0};
	make_batches(r);
	if (r->each && (r->each->shards || r->each->listed))
		take_shard(r, &listing);
	if (r->each && r->each->listed && !r->each->listed(r->each->ctx, &listing))
		return true;
	r->workers = r->batch.n < r->threads ? (unsigned)r->batch.n : r->threads;
	r->workers = r->workers < WORKERS_MAX ? r->workers : WORKERS_MAX;
	bool pipe = has_pipe(r);
	if (r->each && !r->each->shards && (pipe || r->batch.n <= r->each->more_than))
		r->each = NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->turn, NULL);
	if (r->workers < 2 || pipe || !read_at_once(r))
		read_one_by_one(r);
	for (size_t i = 0; i < r->spare.n; i++)
		assay_run_free(r->spare.p[i]);
	assay_vec_free(&r->spare);
	pthread_cond_destroy(&r->turn);
	pthread_mutex_destroy(&r->lock);
	if (r->good || (r->each && r->each->shards))
		return true;
	for (size_t i = 0; i < r->found.file.n; i++)
		if (r->found.file.p[i].named) { /* the first one says it best */
			if (err)
				*err = r->found.file.p[i].err;
			return false;
		}
	const char *why = r->found.file.n ? r->found.file.p[0].err.text : "";
	return assay_fail(err, ASSAY_UNKNOWN, 0, "%s holds no file that assay can read%s%s",
			  first_path, *why ? "; " : "", why);
}

/* held: most runs that were there at a time, beside the one that is filled. */
static bool read_paths(assay_run *run, char *const *paths, size_t n, unsigned threads,
		       const assay_each *each, size_t *held, assay_err *err)
{
	struct reading r = {.run = run, .found = {.run = run}, .threads = threads, .each = each};
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++)
		ok = assay_files_add(&r.found, paths[i], err);
	if (ok) {
		assay_files_drop_twins(&r.found);
		ok = read_all(&r, n ? paths[0] : "", err);
	}
	if (held)
		*held = r.held_most;
	assay_vec_free(&r.found.file);
	assay_vec_free(&r.batch);
	assay_arena_free(&r.found.arena);
	return ok;
}

bool assay_read_paths(assay_run *run, char *const *paths, size_t n, assay_err *err)
{
	bool ok = read_paths(run, paths, n, assay_threads(), NULL, NULL, err);
	assay_assert_sound(run, "reading");
	return ok;
}

bool assay_read_each(assay_run *run, char *const *paths, size_t n, const assay_each *each,
		     assay_err *err)
{
	return read_paths(run, paths, n, assay_threads(), each, NULL, err);
}

bool assay_read_path(assay_run *run, const char *path, assay_err *err)
{
	char *one = (char *)(uintptr_t)path; /* never written to */
	return assay_read_paths(run, &one, 1, err);
}

/* Ranks of one job as files: rank 2 is empty, rank 3 is no trace. */
static char *write_ranks(assay_arena *a)
{
	char *dir = assay_printf(a, "%s", assay_test_path("ranks"));
	if (mkdir(dir, 0700))
		return NULL;
	for (int r = 0; r < 7; r++) {
		FILE *f = fopen(assay_printf(a, "%s/rank%d.json", dir, r), "w");
		if (!f)
			return NULL;
		fputs(r == 2   ? ""
		      : r == 3 ? "hello"
			       : "{\"schemaVersion\": 1, \"traceEvents\": [",
		      f);
		for (int i = 0; r != 2 && r != 3 && i < 500; i++)
			fprintf(f,
				"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%d\", \"pid\": 0, \"tid\": %d, \"ts\": %d, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": %d, \"note\": %d}},\n",
				i % (r + 5), i % 3, i * 10 + r, i % 3, i);
		fputs(r == 2 || r == 3 ? "" : "{}]}", f);
		fclose(f);
	}
	return dir;
}

/* A hash of every value of every table, strings by their text. */
static uint64_t digest(const assay_run *run)
{
	uint64_t h = 1;
	for (size_t i = 0; i < ASSAY_T_COUNT; i++) {
		const assay_table_info *info = &assay_table_infos[i];
		size_t n = assay_rows(&run->part.t, info);
		for (size_t c = 0; n && c < info->cols; c++) {
			const void *v = assay_values(&run->part.t, info, &info->col[c]);
			for (size_t k = 0; info->col[c].kind->type == ASSAY_COL_sid && k < n; k++) {
				assay_str s = assay_text(run, ((const assay_sid *)v)[k]);
				h = assay_hash(s.p, s.n, h);
			}
			if (info->col[c].kind->type != ASSAY_COL_sid)
				h = assay_hash(v, n * info->col[c].width, h);
		}
	}
	return assay_hash(run->part.issues, sizeof run->part.issues, h);
}

TEST(any_number_of_threads_reads_ranks_the_same)
{
	assay_arena a = {0};
	char *dir = write_ranks(&a);
	uint64_t want = 0;
	CHECK(dir);
	for (unsigned threads = 1; threads < 9; threads++) {
		assay_run *run = assay_run_new();
		CHECK(read_paths(run, &dir, 1, threads, NULL, NULL, NULL));
		CHECK_EQ(run->part.t.source.n, 5);
		CHECK(run->part.t.source.rank[2] == 4 && run->part.t.source.group[2] == 2);
		CHECK_EQ(run->part.t.gpu.n, 2500);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_broken_file], 1);
		CHECK_EQ(run->part.issues[ASSAY_ISSUE_skipped_file], 1);
		want = threads == 1 ? digest(run) : want;
		CHECK(digest(run) == want);
		assay_run_free(run);
	}
	assay_arena_free(&a);
	return 0;
}

TEST(a_file_with_two_names_is_read_once)
{
	assay_arena a = {0};
	char *dir = write_ranks(&a);
	CHECK(dir);
	char *first = assay_printf(&a, "%s/rank0.json", dir),
	     *loop = assay_printf(&a, "%s/again", dir), *link = assay_printf(&a, "%s/a.json", dir);
	CHECK(symlink(".", loop) == 0 && symlink("rank1.json", link) == 0);
	char *paths[] = {dir, first};
	assay_run *run = assay_run_new();
	CHECK(read_paths(run, paths, 2, 2, NULL, NULL, NULL));
	CHECK(run->part.t.source.n == 5 && run->part.t.gpu.n == 2500);
	CHECK(run->part.issues[ASSAY_ISSUE_same_file] > 0);
	for (size_t i = 0; i < run->part.t.source.n; i++)
		CHECK(!strstr(assay_z(run, run->part.t.source.path[i]), "/again") &&
		      !strstr(assay_z(run, run->part.t.source.path[i]), "/a.json"));
	assay_run_free(run);
	unlink(loop);
	unlink(link);
	assay_arena_free(&a);
	return 0;
}

TEST(a_broken_file_among_good_ones_is_named)
{
	assay_arena a = {0};
	char *dir = write_ranks(&a);
	CHECK(dir);
	char *paths[] = {assay_printf(&a, "%s/rank3.json", dir),
			 assay_printf(&a, "%s/rank1.json", dir)};
	for (unsigned threads = 1; threads < 3; threads++) {
		assay_run *run = assay_run_new();
		CHECK(read_paths(run, paths, 2, threads, NULL, NULL, NULL));
		CHECK(run->part.t.gpu.n == 500 && run->part.t.warning.n == 1);
		CHECK(strstr(assay_z(run, run->part.t.warning.text[0]), "rank3.json"));
		assay_run_free(run);
		assay_err err = {0};
		run = assay_run_new();
		CHECK(!read_paths(run, paths, 1, threads, NULL, NULL, &err) &&
		      strstr(err.text, "rank3.json"));
		assay_run_free(run);
	}
	assay_arena_free(&a);
	return 0;
}

static bool copy_file(const char *from, const char *to)
{
	char bytes[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;
	bool ok = n && n < sizeof bytes && out && fwrite(bytes, 1, n, out) == n;
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return ok;
}

#define SEEDS "tests/fuzz/seeds/"
static const struct {
	const char *seed, *name;
} process_files[] = {
	{SEEDS "capture/whole.asy", "%s/%d.asy"},
	{SEEDS "rocprof_csv/api.csv", "%s/%d_hip_api_trace.csv"},
	{SEEDS "rocprof_csv/kernel_trace.csv", "%s/%d_kernel_trace.csv"},
	{SEEDS "rocpd/v305.db", "%s/%d.db"},
	{SEEDS "xplane/jax.pb", "%s/%d.xplane.pb"},
};

/* The first `kinds` files of the list for each of n processes, in a new folder. */
static char *write_processes(assay_arena *a, int n, size_t kinds)
{
	char *dir = assay_printf(a, "%s", assay_test_path("processes"));
	if (mkdir(dir, 0700))
		return NULL;
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < kinds; k++)
			if (!copy_file(process_files[k].seed,
				       assay_printf(a, process_files[k].name, dir, i)))
				return NULL;
	return dir;
}

TEST(processes_of_every_format_are_joined_as_if_read_in_turn)
{
	enum { PROCESSES = 3, KINDS = ASSAY_COUNT_OF(process_files) };
	assay_arena a = {0};
	char *dir = write_processes(&a, PROCESSES, KINDS);
	uint64_t want = 0;
	CHECK(dir);
	for (unsigned threads = 1; threads < 5; threads++) {
		assay_run *run = assay_run_new();
		const assay_tables *t = &run->part.t;
		CHECK(read_paths(run, &dir, 1, threads, NULL, NULL, NULL));
		CHECK(t->source.n >= PROCESSES * KINDS && t->given_scope.n && t->kept.n);
		want = threads == 1 ? digest(run) : want;
		CHECK(digest(run) == want);
		assay_run_free(run);
	}
	assay_arena_free(&a);
	return 0;
}

struct tally {
	size_t runs, sources, rows, left;
};

static void tally_run(void *ctx, const assay_run *run)
{
	struct tally *y = ctx;
	y->runs++;
	y->sources += run->part.t.source.n;
	y->rows += run->part.t.gpu.n;
}

static void tally_left(void *ctx, const char *path)
{
	(void)path;
	((struct tally *)ctx)->left++;
}

TEST(of_64_captures_no_more_are_held_than_there_are_workers)
{
	enum { CAPTURES = 64, WORKERS = 4 };
	assay_arena a = {0};
	char *dir = write_processes(&a, CAPTURES, 1);
	struct tally y = {0};
	size_t held = 0;
	const assay_each each = {
		.ctx = &y, .more_than = 16, .take = tally_run, .leave = tally_left};
	assay_run *run = assay_run_new(), *one = assay_run_new();
	CHECK(dir && assay_read_path(one, process_files[0].seed, NULL) && one->part.t.gpu.n);
	CHECK(read_paths(run, &dir, 1, WORKERS, &each, &held, NULL));
	CHECK(held && held <= WORKERS);
	CHECK(y.runs == CAPTURES && y.sources == CAPTURES && !y.left);
	CHECK_EQ(y.rows, CAPTURES * one->part.t.gpu.n);
	CHECK(!run->part.t.gpu.n && !run->part.t.source.n);
	assay_run_free(run);
	assay_run_free(one);
	assay_arena_free(&a);
	return 0;
}

TEST(the_files_of_a_process_are_taken_together)
{
	enum { PROCESSES = 20 };
	assay_arena a = {0};
	char *dir = write_processes(&a, PROCESSES, 3);
	struct tally y = {0};
	size_t held = 0;
	const assay_each each = {
		.ctx = &y, .more_than = 39, .take = tally_run, .leave = tally_left};
	assay_run *run = assay_run_new();
	CHECK(dir && read_paths(run, &dir, 1, 2, &each, &held, NULL));
	CHECK(held <= 2 && y.runs == 2 * PROCESSES && y.sources == 3 * PROCESSES && !y.left);
	assay_run_free(run);
	assay_arena_free(&a);
	return 0;
}
