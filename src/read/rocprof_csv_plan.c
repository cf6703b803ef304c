/* What a header means: which kind of table it heads, and which column is which field. */
#include "read/rocprof_csv.h"

#include <stdio.h>

#include "base/test.h"

enum { SURE = 95, UNSURE = 25 };

typedef enum column_of { ANY, EVENTS, AGENTS } column_of;

/* Column names as the versions write them, folded: lower case, '-' and ' ' as '_'. */
static const struct {
	const char *name;
	csv_field field;
	column_of of;
} columns[] = {
	{"kernel_name", CSV_NAME, ANY},
	{"kernelname", CSV_NAME, ANY},
	{"function", CSV_NAME, ANY},
	{"direction", CSV_NAME, ANY},
	{"operation", CSV_NAME, ANY},
	{"name", CSV_NAME, ANY},
	{"domain", CSV_DOMAIN, EVENTS},
	{"counter_name", CSV_COUNTER, ANY},
	{"counter_value", CSV_VALUE, ANY},
	{"process_id", CSV_PROCESS, ANY},
	{"pid", CSV_PROCESS, ANY},
	{"thread_id", CSV_THREAD, ANY},
	{"tid", CSV_THREAD, ANY},
	{"agent_id", CSV_AGENT, ANY},
	{"gpu_id", CSV_AGENT, EVENTS},
	{"logical_node_id", CSV_AGENT, AGENTS},
	{"source_agent_id", CSV_SOURCE_AGENT, ANY},
	{"destination_agent_id", CSV_TARGET_AGENT, ANY},
	{"queue_id", CSV_QUEUE, ANY},
	{"stream_id", CSV_STREAM, ANY},
	{"dispatch_id", CSV_DISPATCH, ANY},
	{"index", CSV_DISPATCH, ANY},
	{"kernel_id", CSV_KERNEL_ID, ANY},
	{"correlation_id", CSV_CORR, ANY},
	{"start_timestamp", CSV_START, ANY},
	{"end_timestamp", CSV_END, ANY},
	{"beginns", CSV_START, ANY},
	{"endns", CSV_END, ANY},
	{"durationns", CSV_DURATION, ANY},
	{"lds_block_size", CSV_SHARED, ANY},
	{"group_segment_size", CSV_SHARED, ANY},
	{"lds_per_workgroup", CSV_SHARED, ANY},
	{"lds", CSV_SHARED, ANY},
	{"scratch_size", CSV_SCRATCH, ANY},
	{"private_segment_size", CSV_SCRATCH, ANY},
	{"scratch_per_workitem", CSV_SCRATCH, ANY},
	{"scr", CSV_SCRATCH, ANY},
	{"vgpr_count", CSV_REGS, ANY},
	{"arch_vgpr", CSV_REGS, ANY},
	{"vgpr", CSV_REGS, ANY},
	{"accum_vgpr_count", CSV_ACC_REGS, ANY},
	{"accum_vgpr", CSV_ACC_REGS, ANY},
	{"sgpr_count", CSV_SCALAR_REGS, ANY},
	{"sgpr", CSV_SCALAR_REGS, ANY},
	{"workgroup_size_x", CSV_BLOCK_X, ANY},
	{"workgroup_size_y", CSV_BLOCK_Y, ANY},
	{"workgroup_size_z", CSV_BLOCK_Z, ANY},
	{"workgroup_size", CSV_BLOCK_X, ANY},
	{"wgr", CSV_BLOCK_X, ANY},
	{"grid_size_x", CSV_GRID_X, ANY},
	{"grid_size_y", CSV_GRID_Y, ANY},
	{"grid_size_z", CSV_GRID_Z, ANY},
	{"grid_size", CSV_GRID_X, ANY},
	{"grd", CSV_GRID_X, ANY},
	{"allocation_size", CSV_SIZE, ANY},
	{"address", CSV_ADDRESS, ANY},
	{"calls", CSV_CALLS, ANY},
	{"totaldurationns", CSV_TOTAL, ANY},
	{"minns", CSV_MIN, ANY},
	{"maxns", CSV_MAX, ANY},
	{"agent_type", CSV_AGENT_TYPE, AGENTS},
	{"product_name", CSV_PRODUCT, AGENTS},
	{"cu_count", CSV_UNITS, AGENTS},
	{"wave_front_size", CSV_WAVE, AGENTS},
	{"gfx_target_version", CSV_GFX, AGENTS},
	{"local_mem_size", CSV_MEMORY, AGENTS},
};

#define SPAN                                                                                       \
	{                                                                                          \
		CSV_START, CSV_END                                                                 \
	}

/* The first kind whose columns are all there is it. */
static const csv_kind kinds[] = {
	{"counter_collection",
	 {"counter_name", "counter_value", "start_timestamp", "end_timestamp"},
	 SPAN,
	 assay_csv_put_counter},
	{"counter_collection",
	 {"counter_name", "counter_value", "kernel_name"},
	 {0},
	 assay_csv_put_counter},
	/* streaming counters, summed by dispatch */
	{"counter_collection",
	 {"counter_name", "counter_value", "dispatch_id"},
	 {0},
	 assay_csv_put_counter},
	{"agent_info", {"agent_type", "gfx_target_version"}, {0}, assay_csv_put_device},
	{"pc_sampling", {"sample_timestamp", "exec_mask"}, {0}, assay_csv_put_sample},
	{"memory_copy",
	 {"direction", "source_agent_id", "start_timestamp", "end_timestamp"},
	 SPAN,
	 assay_csv_put_copy},
	{"memory_allocation",
	 {"operation", "allocation_size", "address", "start_timestamp"},
	 {CSV_START},
	 assay_csv_put_alloc},
	{"scratch_memory",
	 {"operation", "alloc_flags", "start_timestamp"},
	 {CSV_START},
	 assay_csv_put_alloc},
	{"api",
	 {"domain", "function", "start_timestamp", "end_timestamp"},
	 SPAN,
	 assay_csv_put_call},
	{"stats", {"name", "calls", "totaldurationns"}, {0}, assay_csv_put_stat},
	{"kernel_trace",
	 {"kernel_name", "start_timestamp", "end_timestamp"},
	 SPAN,
	 assay_csv_put_kernel},
	{"kernel_trace", {"kernelname", "beginns", "endns"}, SPAN, assay_csv_put_kernel},
};

/* Tables of unknown origin, by the names in pick_column(). */
static const csv_kind other_kernels = {"kernels", {0}, SPAN, assay_csv_put_kernel};
static const csv_kind other_lengths = {
	"kernels", {0}, {CSV_START, CSV_DURATION}, assay_csv_put_kernel};
/* No times: sums by name are all that can be had. */
static const csv_kind lengths_only = {
	"kernel_durations", {0}, {CSV_DURATION}, assay_csv_put_length};

static const uint8_t field_type[CSV_FIELD_COUNT] = {
#define X(id, type, absent) CSV_AS_##type,
	CSV_FIELDS(X)
#undef X
};

static char fold(char c)
{
	if (c == '-' || c == ' ')
		return '_';
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool folds_to(assay_str cell, const char *name)
{
	cell = assay_str_trim(cell);
	for (size_t i = 0; i < cell.n; i++)
		if (!name[i] || fold(cell.p[i]) != name[i])
			return false;
	return !name[cell.n];
}

static bool has_column(const csv_cells *head, const char *name)
{
	for (size_t i = 0; i < head->n; i++)
		if (folds_to(head->cell[i], name))
			return true;
	return false;
}

static const csv_kind *find_kind(const csv_cells *head)
{
	for (size_t k = 0; k < ASSAY_COUNT_OF(kinds); k++) {
		size_t has = 0;
		while (has < 4 && kinds[k].needs[has] && has_column(head, kinds[k].needs[has]))
			has++;
		if (has == 4 || !kinds[k].needs[has])
			return &kinds[k];
	}
	return NULL;
}

static csv_field column_field(assay_str cell, column_of of)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(columns); i++)
		if ((columns[i].of == ANY || columns[i].of == of) &&
		    folds_to(cell, columns[i].name))
			return columns[i].field;
	return CSV_NONE;
}

/* Every word of name, split at '_' and ' ', is in the cell, letters of any case. */
static bool has_words(assay_str cell, assay_str name)
{
	while (name.n) {
		size_t n = 0;
		while (n < name.n && name.p[n] != '_' && name.p[n] != ' ')
			n++;
		char word[32];
		snprintf(word, sizeof word, "%.*s", (int)n, name.p);
		if (assay_str_find_nocase(cell, word) < 0)
			return false;
		n += n < name.n;
		name = (assay_str){name.p + n, name.n - n};
	}
	return true;
}

/* Column of the first name that a tier finds; a tier is tried with all names before the next:
 * exact, letters of any case (the last such column), all words in it (the first such column). */
static size_t pick_column(const csv_cells *head, const char *const *names)
{
	for (const char *const *z = names; *z; z++)
		for (size_t i = 0; i < head->n; i++)
			if (assay_str_is(head->cell[i], *z))
				return i;
	for (const char *const *z = names; *z; z++)
		for (size_t i = head->n; i-- > 0;)
			if (assay_str_same(head->cell[i], assay_str_of(*z)))
				return i;
	for (const char *const *z = names; *z; z++)
		for (size_t i = 0; i < head->n; i++)
			if (has_words(head->cell[i], assay_str_of(*z)))
				return i;
	return CSV_COLS_MAX;
}

static const struct {
	csv_field field;
	const char *names[5];
} picks[] = {
	{CSV_NAME, {"KernelName", "Kernel_Name", "kernel_name", "Name"}},
	{CSV_START, {"BeginNs", "start_ns", "BeginNS", "Start"}},
	{CSV_END, {"EndNs", "end_ns", "EndNS", "End"}},
	{CSV_DURATION, {"DurationNs", "duration_ns", "Duration"}},
};

/* A name and a length may be of anything: it must be said that they are of kernels, or in ns. */
static bool names_lengths(const csv_cells *head)
{
	static const char *const told[] = {"kernel_name", "kernelname", "durationns",
					   "duration_ns"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(told); i++)
		if (has_column(head, told[i]))
			return pick_column(head, picks[ASSAY_COUNT_OF(picks) - 1].names) <
			       CSV_COLS_MAX;
	return false;
}

/* Kernels with a name, a start, and an end or a length. Summaries and telemetry are no kernels. */
static const csv_kind *pick_columns(const csv_cells *head, csv_plan *plan)
{
	if (has_column(head, "calls") || has_column(head, "count") || has_column(head, "gpu") ||
	    has_column(head, "device"))
		return NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(picks); i++) {
		size_t col = pick_column(head, picks[i].names);
		if (col < CSV_COLS_MAX && plan->field[col] == CSV_NONE) {
			plan->field[col] = (uint8_t)picks[i].field;
			plan->has[picks[i].field] = true;
		}
	}
	if (plan->has[CSV_NAME] && !plan->has[CSV_START] && names_lengths(head))
		return &lengths_only;
	if (!plan->has[CSV_NAME] || !plan->has[CSV_START])
		return NULL;
	if (plan->has[CSV_END])
		return &other_kernels;
	return plan->has[CSV_DURATION] ? &other_lengths : NULL;
}

/* Columns with names of rocprof; of two that mean the same the first is taken. */
static void map_columns(const csv_cells *head, csv_plan *plan)
{
	column_of of = plan->kind && plan->kind->put == assay_csv_put_device ? AGENTS : EVENTS;
	for (size_t i = 0; i < head->n; i++) {
		csv_field f = column_field(head->cell[i], of);
		if (f == CSV_NONE || plan->has[f] || plan->field[i] != CSV_NONE)
			continue;
		plan->field[i] = (uint8_t)f;
		plan->has[f] = true;
	}
}

static bool ends_with(assay_str s, const char *end)
{
	size_t n = strlen(end);
	return s.n >= n && !memcmp(s.p + s.n - n, end, n);
}

static size_t letters(assay_str s, char first, char last)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] >= first && s.p[i] <= last;
	return n;
}

/* Counters of the hardware are written SQ_WAVES, TCC_HIT[3], TCC_HIT_sum; those computed from them
 * MeanOccupancyPerCU. */
static bool names_counter(assay_str name)
{
	static const char *const sums[] = {"_sum", "_avr", "_max", "_min"};
	static const char *const others[] = {"Ns", "Name", "Index", "Id", "ID"};
	ptrdiff_t unit = assay_str_find(name, "[");
	if (unit > 0 && ends_with(name, "]"))
		name.n = (size_t)unit;
	for (size_t i = 0; i < ASSAY_COUNT_OF(sums); i++)
		if (ends_with(name, sums[i])) {
			name.n -= strlen(sums[i]);
			break;
		}
	if (name.n < 3 || name.p[0] < 'A' || name.p[0] > 'Z')
		return false;
	if (memchr(name.p, '_', name.n))
		return !letters(name, 'a', 'z');
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++)
		if (ends_with(name, others[i]))
			return false;
	return letters(name, 'a', 'z') && letters(name, 'A', 'Z') > 1;
}

static void map_counters(const csv_cells *head, csv_plan *plan)
{
	for (size_t i = 0; i < head->n; i++) {
		assay_str name = assay_str_trim(head->cell[i]);
		if (plan->field[i] != CSV_NONE || !names_counter(name) ||
		    column_field(name, EVENTS) != CSV_NONE)
			continue;
		plan->type[i] = CSV_AS_COUNTER;
		plan->name[i] = name;
		plan->has_counters = true;
	}
}

/* A name found through Kernel_Id needs that cell first, and a cell behind the name. */
static bool id_comes_first(const csv_plan *plan)
{
	size_t id = 0, name = 0;
	for (size_t i = 0; i < plan->cols; i++) {
		if (plan->field[i] == CSV_KERNEL_ID)
			id = i;
		if (plan->field[i] == CSV_NAME)
			name = i;
	}
	return plan->has[CSV_KERNEL_ID] && id < name && name + 1 < plan->cols;
}

static bool make_plan(assay_str text, csv_cells *head, csv_plan *plan, size_t *after)
{
	*plan = (csv_plan){0};
	const char *p = text.p, *end = text.p + text.n;
	while (p < end && (*p == '\n' || *p == '\r'))
		p++;
	if (p == end || !assay_csv_split_line((assay_str){p, (size_t)(end - p)}, head))
		return false;
	plan->cols = head->n;
	plan->kind = find_kind(head);
	if (!plan->kind)
		plan->kind = pick_columns(head, plan);
	if (!plan->kind)
		return false;
	map_columns(head, plan);
	for (size_t i = plan->cols; i-- > 0;) {
		plan->type[i] = field_type[plan->field[i]];
		if (plan->type[i] == CSV_AS_NUMBER && i + 1 < plan->cols)
			plan->numbers[i] = (uint16_t)(plan->numbers[i + 1] + 1);
	}
	if (!strcmp(plan->kind->name, "kernel_trace"))
		map_counters(head, plan);
	plan->stream = plan->has[CSV_QUEUE] && !plan->has[CSV_STREAM] ? CSV_QUEUE : CSV_STREAM;
	plan->has_kernel_id = id_comes_first(plan);
	plan->kernels_only = plan->kind->put == assay_csv_put_kernel && plan->has[CSV_END] &&
			     !plan->has_counters;
	*after = (size_t)(head->next - text.p);
	plan->header = assay_str_trim((assay_str){p, (size_t)(head->next - p)});
	return true;
}

/* Cells and plans are too large for the stack of a small thread. */
bool assay_csv_plan(assay_str text, csv_plan *plan, size_t *after)
{
	assay_arena scratch = {0};
	bool ok = make_plan(text, assay_alloc(&scratch, sizeof(csv_cells)), plan, after);
	assay_arena_free(&scratch);
	return ok;
}

/* A table of unknown origin is believed when its first row has whole numbers for times. */
static bool first_row_fits(const csv_plan *plan, csv_cells *row, assay_str rest)
{
	if (!rest.n || !assay_csv_split_line(rest, row) || row->n != plan->cols)
		return false;
	for (size_t i = 0; i < plan->cols; i++) {
		uint64_t ns;
		bool time = plan->field[i] == plan->kind->times[0] ||
			    plan->field[i] == plan->kind->times[1];
		if (time && !assay_str_u64(assay_str_trim(row->cell[i]), &ns))
			return false;
	}
	return true;
}

static int sureness(assay_str head, csv_plan *plan, csv_cells *cells)
{
	size_t after;
	if (!make_plan(head, cells, plan, &after))
		return 0;
	if (plan->kind != &other_kernels && plan->kind != &other_lengths &&
	    plan->kind != &lengths_only)
		return SURE;
	assay_str rest = {head.p + after, head.n - after};
	return first_row_fits(plan, cells, rest) ? UNSURE : 0;
}

bool assay_csv_is_other(assay_str head)
{
	if (head.n && *head.p == '{')
		return true;
	assay_str rest = head, line = assay_str_cut(&rest, '\n');
	const char *stop = line.n ? memchr(line.p, '\r', line.n - 1) : NULL;
	return stop || (line.n && memchr(line.p, 0, line.n));
}

int assay_csv_sniff(assay_str head)
{
	assay_arena scratch = {0};
	int sure = assay_csv_is_other(head)
			   ? 0
			   : sureness(head, assay_alloc(&scratch, sizeof(csv_plan)),
				      assay_alloc(&scratch, sizeof(csv_cells)));
	assay_arena_free(&scratch);
	return sure;
}

TEST(columns_are_picked_by_tiers)
{
	csv_cells head;
	CHECK(assay_csv_split_line(ASSAY_S("x_end,END,end,EndNS"), &head));
	CHECK_EQ(pick_column(&head, (const char *const[]){"End", "EndNS", NULL}), 3);
	CHECK_EQ(pick_column(&head, (const char *const[]){"End", NULL}), 2);
	CHECK_EQ(pick_column(&head, (const char *const[]){"end_x", NULL}), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("id,the kernel name,Start (ns),End (ns)\n1,k,1,2\n")),
		 UNSURE);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("Start,Name,Duration\n100,k,30\n")), UNSURE);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("Start,Name,Duration\n100,k,30.9\n")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("KernelName,DurationNs\nk,30\n")), UNSURE);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("Name,Duration\nsong,30\n")), 0);
	return 0;
}

TEST(only_tables_of_kernels_are_claimed)
{
	CHECK_EQ(assay_csv_sniff(ASSAY_S("Kind,Kernel_Name,Start_Timestamp,End_Timestamp\n")),
		 SURE);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("\r\nDomain,Function,Start_Timestamp,End_Timestamp")),
		 SURE);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("a,b,c\n1,2,3\n")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("name,start\nx,1\n")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("name,start,end\nparty,monday,tuesday\n")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S(
			 "timestamp,gpu,gfx_activity,umc_activity,socket_power\n1,0,2,3,4\n")),
		 0);
	CHECK_EQ(assay_csv_sniff(
			 ASSAY_S("timestamp, name, vendor, utilization.gpu [%]\nx, y, z, 0 %\n")),
		 0);
	CHECK_EQ(
		assay_csv_sniff(ASSAY_S("device,GPU use (%),Card name,Start,End\ncard0,0,x,1,2\n")),
		0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("{\"traceEvents\":[]}")), 0);
	CHECK_EQ(assay_csv_sniff(ASSAY_S("{Kind,Kernel_Name,Start_Timestamp,End_Timestamp\n")), 0);
	return 0;
}
