/* Telemetry tables: amd-smi, rocm-smi, nvidia-smi (query and dmon), dcgmi dmon, and our own
 * telemetry.csv.
 *
 * All are lines of cells below a header, with the same oddities in different places: banners,
 * headers printed again, blank lines, other tables in between. So there is one loop over lines;
 * what a column means is in read/smi_columns.c. */
#include "read/reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "read/lines.h"
#include "read/smi_columns.h"
#include "read/smi_dcgm.h"
#include "read/smi_table.h"
#include "read/smi_time.h"

enum {
	COLUMNS_MAX = 1024,
	LIST_MAX = 256,
	SNIFF_LINES = 64,
	GPU_MAX = 65535,
};

typedef enum clock_kind {
	CLOCK_NONE,  /* no time column: times count the samples of a GPU */
	CLOCK_EPOCH, /* since 1970 */
	CLOCK_LOCAL, /* calendar time of an unknown zone, taken as UTC */
	CLOCK_DAY,   /* since midnight of an unknown day */
} clock_kind;

static const char *const clock_names[] = {"none", "epoch", "local", "day"};

typedef struct table {
	smi_dialect dialect;
	char *text; /* header line: cells of cols point into it; NULL before the first header */
	assay_str head, unit_line;
	smi_cells header;
	smi_columns cols;
	assay_sid *names; /* by column; 0 when not a sample */
	bool skip;        /* not telemetry: its rows are passed over */
	size_t stamp;     /* words in front of each line that another program put there */
} table;

typedef struct reader {
	assay_run *run;
	assay_part *part;
	table t;
	smi_cells cells;
	assay_str stamp;     /* what stood in front of the line */
	assay_arena scratch; /* header lines and their names */
	assay_map samples;   /* track -> rows so far */
	clock_kind clock;
	unsigned dialects; /* met so far */
	int64_t last_daytime, days;
	uint64_t rows;
	bool any_table;
	bool versioned; /* the version of ROCm was said */
} reader;

/* Comma cells: trimmed, quotes taken off; a quote inside a bare cell is text. */
static void split_commas(assay_str line, smi_cells *out)
{
	const char *p = line.p, *end = line.p + line.n;
	for (;;) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		const char *from = p, *to;
		if (p < end && *p == '"') {
			from++;
			to = memchr(from, '"', (size_t)(end - from));
			while (to && to + 1 < end && to[1] != ',' && to[1] != ' ' && to[1] != '\r')
				to = memchr(to + 1, '"', (size_t)(end - to - 1));
			to = to ? to : end;
			p = memchr(to, ',', (size_t)(end - to));
		} else {
			p = memchr(p, ',', (size_t)(end - p));
			to = p ? p : end;
		}
		*assay_push(out) = assay_str_trim((assay_str){from, (size_t)(to - from)});
		if (!p)
			return;
		p++;
	}
}

static void split_spaces(assay_str line, smi_cells *out)
{
	for (size_t i = 0; i < line.n;) {
		size_t from = i;
		while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t')
			i++;
		if (i > from)
			*assay_push(out) = (assay_str){line.p + from, i - from};
		i++;
	}
}

static bool is_hash_line(assay_str line)
{
	return line.n && line.p[0] == '#';
}

static void split_line(assay_str line, smi_dialect dialect, smi_cells *out)
{
	out->n = 0;
	if (is_hash_line(line)) {
		line.p++, line.n--;
		dialect = SMI_DMON;
	}
	if ((dialect & (SMI_DMON | SMI_DCGM)) && !memchr(line.p, ',', line.n))
		split_spaces(line, out);
	else
		split_commas(line, out);
}

static bool is_word(assay_str cell)
{
	char c = cell.n ? (char)(cell.p[0] | 0x20) : 0;
	return c >= 'a' && c <= 'z' && !assay_str_same(cell, ASSAY_S("N/A"));
}

/* A header has a word in every cell; every row has a number or a missing value, or starts cardN. */
static bool looks_like_header(const smi_cells *cells)
{
	if (!cells->n || cells->n > COLUMNS_MAX || smi_is_card(cells->p[0]))
		return false;
	for (size_t i = 0; i < cells->n; i++)
		if (!is_word(cells->p[i]))
			return false;
	return true;
}

static bool has_dotted_name(const smi_cells *cells)
{
	for (size_t i = 0; i < cells->n; i++)
		if (memchr(cells->p[i].p, '.', cells->p[i].n))
			return true;
	return false;
}

static bool has_unit(const smi_cells *cells)
{
	for (size_t i = 0; i < cells->n; i++)
		if (cells->p[i].p[cells->p[i].n - 1] == ']' || assay_str_ends(cells->p[i], "_pct"))
			return true;
	return false;
}

/* amd-smi and our own table start gpu or timestamp,gpu; rocm-smi starts device; nvidia-smi has
 * names with dots. 0: none of these. */
static smi_dialect guess_dialect(assay_str line, const smi_cells *c)
{
	if (is_hash_line(line))
		return assay_str_same(c->p[0], ASSAY_S("entity")) ? SMI_DCGM : SMI_DMON;
	if (assay_str_same(c->p[0], ASSAY_S("device")))
		return SMI_ROCM;
	bool timed = c->n > 1 && (assay_str_starts(c->p[0], "time"));
	if (assay_str_same(c->p[timed ? 1 : 0], ASSAY_S("gpu")))
		return has_unit(c) ? SMI_OWN : SMI_AMD;
	return has_dotted_name(c) ? SMI_NV : 0;
}

/* A table of one GPU, without its number: amd-smi's names for what it has, time and version aside,
 * two at least. */
static bool is_of_one_gpu(const smi_cells *c, smi_columns *cols)
{
	size_t known = smi_columns_plan(c, NULL, SMI_AMD, cols), values = 0;
	for (size_t i = 0; i < cols->n; i++)
		values += cols->p[i].role == SMI_VALUE;
	return known >= 2 && known == values;
}

/* The dialect when this line is the header of a telemetry table, else 0. cols is filled either way
 * unless there is no dialect at all. */
static smi_dialect telemetry_header(assay_str line, const smi_cells *cells, smi_columns *cols)
{
	cols->n = 0;
	if (!looks_like_header(cells))
		return 0;
	smi_dialect d = guess_dialect(line, cells);
	if (!d)
		return is_of_one_gpu(cells, cols) ? SMI_AMD : 0;
	size_t known = smi_columns_plan(cells, NULL, d, cols);
	if (!known || smi_columns_have(cols, SMI_PROCESS))
		return 0;
	return d == SMI_DMON && !smi_columns_have(cols, SMI_GPU) ? 0 : d;
}

static int smi_sniff(assay_str head)
{
	smi_cells cells = {0};
	smi_columns cols = {0};
	int sure = 0;
	assay_str start = assay_str_trim(head);
	bool text = !(start.n && start.p[0] == '[');
	for (int i = 0; text && i < SNIFF_LINES && head.n && !sure; i++) {
		assay_str line = assay_str_trim(assay_str_cut(&head, '\n'));
		size_t stamp;
		text = !memchr(line.p, 0, line.n); /* a disk that filled up leaves some behind */
		if (!text || !line.n || line.n > ASSAY_LINE_MAX || line.p[0] == '{')
			continue;
		smi_dcgm_header(&line, &stamp);
		split_line(line, 0, &cells);
		sure = telemetry_header(line, &cells, &cols) ? 80 : 0;
	}
	assay_vec_free(&cells);
	assay_vec_free(&cols);
	return sure;
}

/* A bare number is seconds (amd-smi); a unit in the header says otherwise. */
static bool epoch_of(const smi_column *col, assay_str s, int64_t *ns)
{
	int digits = 9;
	if (col->unit && col->unit->kind == SMI_SECONDS)
		for (double scale = col->unit->scale; scale < 0.5; scale *= 1e3)
			digits -= 3;
	return assay_str_scaled(s, digits, ns) && *ns >= 0;
}

typedef struct row_key {
	int64_t gpu, xcp, time, date;
	assay_sid id;
	clock_kind clock;
	bool bad;
} row_key;

static bool small_number(assay_str s, int64_t *out)
{
	if (smi_is_card(s))
		s = (assay_str){s.p + 4, s.n - 4};
	return assay_str_i64(s, out) && *out >= 0 && *out <= GPU_MAX;
}

static void read_time(const smi_column *col, assay_str cell, row_key *k)
{
	int64_t ns;
	if (smi_calendar(cell, &ns))
		k->clock = CLOCK_LOCAL;
	else if (epoch_of(col, cell, &ns))
		k->clock = CLOCK_EPOCH;
	else
		k->bad = true;
	k->time = k->bad ? 0 : ns;
}

static void read_key_cell(reader *r, const smi_column *col, assay_str cell, row_key *k)
{
	assay_str rest = cell;
	switch ((int)col->role) {
	case SMI_GPU:
		k->bad |= !small_number(cell, &k->gpu);
		break;
	case SMI_XCP:
		if (!small_number(cell, &k->xcp))
			k->xcp = 0;
		break;
	case SMI_ID:
		k->id = k->id ? k->id : assay_intern(&r->part->strings, cell);
		break;
	case SMI_VERSION:
		if (!r->versioned && cell.n)
			assay_meta_add(r->part, "rocm_version", cell);
		r->versioned |= cell.n > 0;
		break;
	case SMI_TIME:
		read_time(col, cell, k);
		break;
	case SMI_DATE:
		k->bad |= !smi_date(&rest, NULL, &k->date) || rest.n;
		break;
	case SMI_DAYTIME:
		k->bad |= !smi_daytime(cell, &k->time);
		k->clock = CLOCK_DAY;
		break;
	}
}

/* Times of a day without a date go on past midnight. */
static void settle_day(reader *r, row_key *k)
{
	if (k->clock != CLOCK_DAY)
		return;
	if (smi_columns_have(&r->t.cols, SMI_DATE)) {
		k->clock = CLOCK_LOCAL;
		k->time += k->date;
		return;
	}
	if (k->time + 43200 * smi_second < r->last_daytime)
		r->days++;
	r->last_daytime = k->time;
	k->time += r->days * 86400 * smi_second;
}

static void add_sample(reader *r, const row_key *k, uint32_t track, assay_sid name, double value)
{
	assay_counter_table *c = &r->part->t.counter;
	uint32_t row = assay_add(&r->part->t, ASSAY_T_counter);
	c->ts[row] = k->time;
	c->track[row] = track;
	c->name[row] = name;
	c->value[row] = value;
}

static void take_value(reader *r, const row_key *k, uint32_t track, size_t col, assay_str cell,
		       assay_sid name)
{
	double v;
	smi_got got = smi_cell_value(&r->t.cols.p[col], cell, &v);
	if (got == SMI_GOT_VALUE)
		add_sample(r, k, track, name, v);
	else if (got == SMI_GOT_BAD)
		assay_count(r->part, ASSAY_ISSUE_bad_number, 1);
	else if (got == SMI_GOT_BAD_UNIT)
		assay_count(r->part, ASSAY_ISSUE_bad_unit, 1);
}

/* "[0, 'N/A', 3]": element i is sampled as NAME_i. */
static void take_list(reader *r, const row_key *k, uint32_t track, size_t col, assay_str inside)
{
	assay_str base = assay_pool_get(&r->part->strings, r->t.names[col]);
	for (int i = 0; inside.n && i < LIST_MAX; i++) {
		assay_str cell = assay_str_trim(assay_str_cut(&inside, ','));
		while (cell.n && strchr("'\"[]", cell.p[0]))
			cell.p++, cell.n--;
		while (cell.n && strchr("'\"[]", cell.p[cell.n - 1]))
			cell.n--;
		char name[256];
		int n = snprintf(name, sizeof name, "%.*s_%d", (int)(base.n < 200 ? base.n : 200),
				 base.p, i);
		take_value(r, k, track, col, cell,
			   assay_intern(&r->part->strings, (assay_str){name, (size_t)n}));
	}
}

static uint32_t track_of(reader *r, row_key *k)
{
	bool numbered = smi_columns_have(&r->t.cols, SMI_GPU);
	uint32_t track = assay_track(r->part, ASSAY_TRACK_TELEMETRY, numbered ? k->gpu : -1, k->xcp,
				     numbered ? 0 : k->id, 0);
	if (k->clock == CLOCK_NONE) {
		uint32_t *n = assay_map_at(&r->samples, track);
		*n = *n == ASSAY_MAP_ABSENT ? 0 : *n + 1;
		k->time = *n;
	}
	return track;
}

static void read_row(reader *r)
{
	const table *t = &r->t;
	row_key k = {0};
	r->rows++;
	for (size_t i = 0; i < t->cols.n; i++)
		read_key_cell(r, &t->cols.p[i], r->cells.p[i], &k);
	if (k.bad) {
		assay_count(r->part, ASSAY_ISSUE_bad_record, 1);
		return;
	}
	if (r->stamp.n && smi_calendar(r->stamp, &k.time))
		k.clock = CLOCK_LOCAL;
	settle_day(r, &k);
	uint32_t track = track_of(r, &k);
	if (r->clock == CLOCK_NONE)
		r->clock = k.clock;
	for (size_t i = 0; i < t->cols.n; i++) {
		assay_str inside;
		if (t->cols.p[i].role != SMI_VALUE)
			continue;
		if (smi_cell_list(r->cells.p[i], &inside))
			take_list(r, &k, track, i, inside);
		else
			take_value(r, &k, track, i, r->cells.p[i], t->names[i]);
	}
}

/* The name a column's samples go by: canonical, or the header's own with its unit. */
static assay_sid sample_name(reader *r, const smi_column *c, assay_str unit)
{
	if (c->role != SMI_VALUE)
		return 0;
	if (c->quantity)
		return assay_intern_z(&r->part->strings, c->quantity->name);
	if (!unit.n)
		return assay_intern(&r->part->strings, c->text);
	char *name = assay_printf(&r->scratch, "%.*s [%.*s]", (int)c->text.n, c->text.p,
				  (int)unit.n, unit.p);
	return assay_intern_z(&r->part->strings, name);
}

static void name_columns(reader *r, const smi_cells *units)
{
	table *t = &r->t;
	t->names = assay_alloc(&r->scratch, t->cols.n * sizeof *t->names);
	for (size_t i = 0; i < t->cols.n; i++)
		t->names[i] =
			sample_name(r, &t->cols.p[i], units ? units->p[i] : (assay_str){"", 0});
}

static void begin_table(reader *r, assay_str line, smi_dialect dialect)
{
	table *t = &r->t;
	assay_arena_free(&r->scratch);
	r->scratch = (assay_arena){0};
	t->text = assay_dup(&r->scratch, line);
	t->head = (assay_str){t->text, line.n};
	t->unit_line = (assay_str){"", 0};
	t->dialect = dialect;
	t->skip = !dialect;
	split_line(t->head, dialect, &t->header);
	if (t->skip)
		return;
	smi_columns_plan(&t->header, NULL, dialect, &t->cols);
	name_columns(r, NULL);
	r->any_table = true;
	r->dialects |= (unsigned)dialect;
}

/* "# Idx   W   C ..." below a dmon header. */
static bool take_unit_line(reader *r, assay_str line)
{
	table *t = &r->t;
	bool units = false;
	if (!is_hash_line(line) || t->dialect != SMI_DMON || !t->text || r->cells.n != t->header.n)
		return false;
	for (size_t i = 0; i < r->cells.n; i++)
		units |= assay_str_same(r->cells.p[i], ASSAY_S("idx"));
	if (!units || assay_str_eq(line, t->unit_line))
		return units;
	char *copy = assay_dup(&r->scratch, line);
	t->unit_line = (assay_str){copy, line.n};
	smi_columns_plan(&t->header, &r->cells, SMI_DMON, &t->cols);
	name_columns(r, &r->cells);
	return true;
}

/* A header of a table we do not read: words, one of which names a device or a process. */
static bool other_header(const smi_cells *cells)
{
	static const char *const marks[] = {"gpu",          "pid",          "process_info",
					    "process_list", "process_name", "device"};
	for (size_t i = 0; looks_like_header(cells) && cells->n > 1 && i < cells->n; i++)
		for (size_t m = 0; m < ASSAY_COUNT_OF(marks); m++)
			if (assay_str_same(cells->p[i], assay_str_of(marks[m])))
				return true;
	return false;
}

/* Rows and other lines of dcgmi dmon. False: read the line as any other, a GPU's from its number
 * on. */
static bool take_dcgm(reader *r, assay_str *line)
{
	size_t words;
	r->stamp = (assay_str){"", 0};
	if (smi_dcgm_header(line, &words)) {
		r->t.stamp = words;
		return false;
	}
	if (r->t.dialect != SMI_DCGM)
		return false;
	r->stamp = smi_dcgm_stamp(line, r->t.stamp);
	smi_dcgm kind = smi_dcgm_row(line);
	assay_count(r->part, ASSAY_ISSUE_other_table, kind == SMI_DCGM_OTHER);
	assay_count(r->part, ASSAY_ISSUE_bad_syntax, kind == SMI_DCGM_MESSAGE);
	return kind != SMI_DCGM_GPU;
}

static void read_line(reader *r, assay_str line)
{
	table *t = &r->t;
	if (!line.n || take_dcgm(r, &line))
		return;
	if (t->text && assay_str_eq(line, t->head)) {
		assay_count(r->part, ASSAY_ISSUE_repeated_header, !t->skip);
		return;
	}
	split_line(line, t->dialect, &r->cells);
	if (t->text && !t->skip && r->cells.n == t->header.n && !is_word(r->cells.p[0]) &&
	    !is_hash_line(line)) {
		read_row(r);
		return;
	}
	if (take_unit_line(r, line))
		return;
	smi_columns planned = {0};
	smi_dialect d = telemetry_header(line, &r->cells, &planned);
	assay_vec_free(&planned);
	if (d || other_header(&r->cells))
		begin_table(r, line, d);
	else if (t->skip)
		assay_count(r->part, ASSAY_ISSUE_other_table, 1);
	else if (t->text && r->cells.n == t->header.n && !is_hash_line(line))
		read_row(r); /* starts with a word: a card, a GPU's name */
	else if (r->cells.n > 1)
		assay_count(r->part, ASSAY_ISSUE_bad_record, 1);
	else
		assay_count(r->part, ASSAY_ISSUE_bad_syntax, 1); /* a banner or message */
}

static void note_origin(reader *r)
{
	static const struct {
		smi_dialect dialect;
		const char *tool;
	} tools[] = {{SMI_AMD, "amd-smi"},     {SMI_ROCM, "rocm-smi"},
		     {SMI_NV, "nvidia-smi"},   {SMI_DMON, "nvidia-smi dmon"},
		     {SMI_DCGM, "dcgmi dmon"}, {SMI_OWN, "assay"}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(tools); i++)
		if (r->dialects & tools[i].dialect)
			assay_meta_add(r->part, "telemetry_tool", assay_str_of(tools[i].tool));
	assay_meta_add(r->part, "telemetry_clock", assay_str_of(clock_names[r->clock]));
	if (r->clock == CLOCK_LOCAL || r->clock == CLOCK_DAY)
		assay_meta_add(r->part, "telemetry_timezone", ASSAY_S("unknown"));
	if (r->part->source >= r->part->t.source.n)
		return;
	r->part->t.source.epoch[r->part->source] = r->clock == CLOCK_EPOCH;
	r->part->t.source.records[r->part->source] = r->rows;
}

bool assay_smi_read_lines(assay_run *run, const char *path,
			  bool (*next)(void *ctx, assay_str *line), void *ctx, assay_err *err)
{
	reader r = {.run = run, .part = &run->part};
	assay_str line;
	while (next(ctx, &line))
		read_line(&r, line);
	if (r.any_table)
		note_origin(&r);
	assay_vec_free(&r.cells);
	assay_vec_free(&r.t.header);
	assay_vec_free(&r.t.cols);
	assay_arena_free(&r.scratch);
	assay_map_free(&r.samples);
	if (!r.any_table)
		return assay_fail(err, ASSAY_FORMAT, 0, "%s has no telemetry header", path);
	return true;
}

static bool next_line(void *ctx, assay_str *line)
{
	return assay_next_line(ctx, line);
}

static bool smi_read(assay_run *run, assay_input *in, assay_err *err)
{
	assay_lines lines = {in, &run->part, 0};
	return assay_smi_read_lines(run, assay_input_path(in), next_line, &lines, err);
}

const assay_reader assay_reader_smi = {
	.name = "smi",
	.ends = {".csv"},
	.about = "telemetry tables of amd-smi, rocm-smi, nvidia-smi, dcgmi dmon and assay",
	.note = "telemetry",
	.page = "smi",
	.sniff = smi_sniff,
	.read = smi_read,
	.traits = ASSAY_TRAIT_TELEMETRY,
};
