#include "model/findings_pack.h"

#include "base/err.h"
#include "base/test.h"
#include "model/findings.h"

/* Field numbers of docs/formats/shard.md. */
enum { STRING = 1, ISSUE = 2, TABLE = 3 };
enum { NAME = 1, COUNT = 2, COLUMN = 3, VALUES = 2 };

static void pack_column(assay_protow *w, const assay_part *p, const assay_table_info *info,
			const assay_col_info *col)
{
	assay_protow inner = {0};
	const char *values = assay_values(&p->t, info, col);
	assay_protow_string(&inner, NAME, assay_str_of(col->name));
	assay_protow_bytes(&inner, VALUES,
			   (assay_str){values, assay_rows(&p->t, info) * col->width});
	assay_protow_message(w, COLUMN, &inner);
	assay_protow_free(&inner);
}

static void pack_table(assay_protow *w, const assay_part *p, const assay_table_info *info)
{
	assay_protow inner = {0};
	if (!assay_rows(&p->t, info))
		return;
	assay_protow_string(&inner, NAME, assay_str_of(info->name));
	assay_protow_varint(&inner, COUNT, assay_rows(&p->t, info));
	for (size_t c = 0; c < info->cols; c++)
		pack_column(&inner, p, info, &info->col[c]);
	assay_protow_message(w, TABLE, &inner);
	assay_protow_free(&inner);
}

static void pack_issue(assay_protow *w, assay_issue id, uint64_t count)
{
	assay_protow inner = {0};
	assay_protow_string(&inner, NAME, assay_str_of(assay_issue_infos[id].id));
	assay_protow_varint(&inner, COUNT, count);
	assay_protow_message(w, ISSUE, &inner);
	assay_protow_free(&inner);
}

void assay_findings_pack(assay_protow *w, const assay_part *part)
{
	for (assay_sid id = 1; id < part->strings.str.n; id++)
		assay_protow_bytes(w, STRING, assay_pool_get(&part->strings, id));
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (part->issues[i])
			pack_issue(w, (assay_issue)i, part->issues[i]);
	for (size_t i = 0; i < assay_findings_kept_count; i++)
		pack_table(w, part, &assay_table_infos[assay_findings_kept[i]]);
}

/* ---- and back ---- */

static bool refuse(assay_err *err, const char *what, assay_str name)
{
	return assay_fail(err, ASSAY_FORMAT, 0,
			  "%s '%.*s' is not what this version of assay writes", what,
			  name.n > 40 ? 40 : (int)name.n, name.p);
}

static bool is_bytes(const assay_field *f, uint32_t number)
{
	return f->number == number && f->wire == ASSAY_WIRE_BYTES;
}

/* A message of a name and a number, and whatever comes after. */
static bool take_name(assay_proto *c, assay_str *name, uint64_t *count)
{
	assay_field f;
	if (!assay_proto_next(c, &f) || !is_bytes(&f, NAME))
		return false;
	*name = f.bytes;
	if (!assay_proto_next(c, &f) || f.number != COUNT || f.wire != ASSAY_WIRE_VARINT)
		return false;
	*count = f.value;
	return true;
}

static bool unpack_issue(assay_part *part, assay_str message, assay_err *err)
{
	assay_proto c = assay_proto_on(message);
	assay_str name = ASSAY_S("");
	uint64_t count;
	if (!take_name(&c, &name, &count))
		return refuse(err, "issue", name);
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		if (assay_str_is(name, assay_issue_infos[i].id)) {
			part->issues[i] += count;
			return true;
		}
	return refuse(err, "issue", name);
}

static const assay_table_info *kept_table(assay_str name)
{
	for (size_t i = 0; i < assay_findings_kept_count; i++)
		if (assay_str_is(name, assay_table_infos[assay_findings_kept[i]].name))
			return &assay_table_infos[assay_findings_kept[i]];
	return NULL;
}

/* Every column, in order, each with a value a row. */
static bool unpack_table(assay_part *part, assay_str message, assay_err *err)
{
	assay_proto c = assay_proto_on(message), in;
	assay_field column, f;
	assay_str name = ASSAY_S("");
	uint64_t rows;
	if (!take_name(&c, &name, &rows))
		return refuse(err, "table", name);
	const assay_table_info *info = kept_table(name);
	if (!info || assay_rows(&part->t, info) || !rows || rows > message.n)
		return refuse(err, "table", name);
	assay_reserve(&part->t, info->id, rows);
	for (size_t i = 0; i < info->cols; i++) {
		const assay_col_info *col = &info->col[i];
		if (!assay_proto_next(&c, &column) || !is_bytes(&column, COLUMN))
			return refuse(err, "table", name);
		in = assay_proto_on(column.bytes);
		if (!assay_proto_next(&in, &f) || !is_bytes(&f, NAME) ||
		    !assay_str_is(f.bytes, col->name) || !assay_proto_next(&in, &f) ||
		    !is_bytes(&f, VALUES) || f.bytes.n != rows * col->width)
			return refuse(err, "a column of table", name);
		memcpy(assay_values(&part->t, info, col), f.bytes.p, f.bytes.n);
	}
	assay_table_at(&part->t, info)->n = rows;
	return true;
}

static bool is_kept(assay_table_id id)
{
	for (size_t i = 0; i < assay_findings_kept_count; i++)
		if (assay_findings_kept[i] == id)
			return true;
	return false;
}

/* Room for sums of a column and for times of one clock told in another. */
static int64_t bounded(int64_t v, size_t rows, bool length)
{
	int64_t most = ((int64_t)1 << 61) / (length ? (int64_t)rows + 1 : 1);
	return v < -most ? -most : v > most ? most : v;
}

static bool check_u32(assay_part *part, const assay_col_info *col, uint32_t *v, size_t rows)
{
	size_t limit = part->strings.str.n ? part->strings.str.n : 1;
	bool row = col->kind->type != ASSAY_COL_sid;
	if (row && !is_kept(col->kind->refers)) {
		if (rows)
			memset(v, 0xff, rows * sizeof *v); /* ASSAY_NO_ROW */
		return true;
	}
	if (row)
		limit = assay_rows(&part->t, &assay_table_infos[col->kind->refers]);
	for (size_t i = 0; i < rows; i++)
		if (v[i] >= limit)
			return false;
	return true;
}

/* Nothing that analyses follow without looking leads out of the part. */
static bool check_column(assay_part *part, const assay_table_info *info, const assay_col_info *col)
{
	void *values = assay_values(&part->t, info, col);
	size_t rows = assay_rows(&part->t, info);
	bool time = col->kind->type == ASSAY_COL_time;
	bool length = !strcmp(col->unit, "ns") && !time &&
		      info->id != ASSAY_T_source; /* its base is no length but a moment */
	if (col->kind->type == ASSAY_COL_sid || col->kind->type == ASSAY_COL_row ||
	    col->kind->type == ASSAY_COL_choice)
		return check_u32(part, col, values, rows);
	for (size_t i = 0; col->kind->words && i < rows; i++)
		if (((const uint8_t *)values)[i] >= col->kind->words)
			return false;
	for (size_t i = 0; (time || col->kind->type == ASSAY_COL_i64) && i < rows; i++)
		((int64_t *)values)[i] = bounded(((int64_t *)values)[i], rows, length);
	return true;
}

static bool check_part(assay_part *part, assay_err *err)
{
	for (size_t i = 0; i < assay_findings_kept_count; i++) {
		const assay_table_info *info = &assay_table_infos[assay_findings_kept[i]];
		for (size_t c = 0; c < info->cols; c++)
			if (!check_column(part, info, &info->col[c]))
				return assay_fail(err, ASSAY_FORMAT, 0,
						  "%s.%s points to what is not there", info->name,
						  info->col[c].name);
	}
	return true;
}

bool assay_findings_unpack(assay_part *part, assay_str message, assay_err *err)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);) {
		size_t strings = part->strings.str.n ? part->strings.str.n : 1;
		bool ok = false;
		if (is_bytes(&f, STRING))
			ok = assay_intern(&part->strings, f.bytes) == strings ||
			     refuse(err, "string", f.bytes);
		else if (is_bytes(&f, ISSUE))
			ok = unpack_issue(part, f.bytes, err);
		else if (is_bytes(&f, TABLE))
			ok = unpack_table(part, f.bytes, err);
		else
			refuse(err, "a field", ASSAY_S(""));
		if (!ok)
			return false;
	}
	return c.bad || c.cut ? assay_fail(err, ASSAY_FORMAT, 0, "a record is malformed")
			      : check_part(part, err);
}

/* A rank with a device, a cause of idle, a call and a warning. */
static void add_rank(assay_run *run)
{
	assay_tables *t = &run->part.t;
	uint32_t s = assay_add(t, ASSAY_T_source), d = assay_add(t, ASSAY_T_device_time);
	uint32_t why = assay_add(t, ASSAY_T_idle_cause), c = assay_add(t, ASSAY_T_call);
	t->source.rank[s] = 7;
	t->source.group[s] = t->device_time.source[d] = t->call.source[c] = s;
	t->idle_cause.device[why] = d;
	t->idle_cause.cause[why] = ASSAY_WHY_HOST_DATA;
	t->call.name[c] = assay_sid_of(run, "allreduce");
	t->call.ts[c] = -5;
	t->source.base[s] = 1790000000000000000;
	assay_warn(run, "one", "of %d", 2);
	assay_count(&run->part, ASSAY_ISSUE_bad_record, 3);
}

static bool unpacks(const assay_run *run)
{
	assay_protow w = {0};
	assay_part to = {0};
	assay_findings_pack(&w, &run->part);
	bool ok = assay_findings_unpack(&to, assay_protow_data(&w), NULL);
	assay_part_free(&to);
	assay_protow_free(&w);
	return ok;
}

TEST(findings_come_back_from_bytes_as_they_were)
{
	assay_run *run = assay_run_new();
	assay_protow w = {0}, again = {0};
	assay_part to = {0};
	add_rank(run);
	assay_findings_pack(&w, &run->part);
	CHECK(assay_findings_unpack(&to, assay_protow_data(&w), NULL));
	CHECK(to.t.source.rank[0] == 7 && to.t.source.base[0] == 1790000000000000000 &&
	      to.t.call.ts[0] == -5 && to.t.warning.n == 1);
	CHECK(assay_str_is(assay_pool_get(&to.strings, to.t.call.name[0]), "allreduce"));
	CHECK_EQ(to.issues[ASSAY_ISSUE_bad_record], 3);
	assay_findings_pack(&again, &to);
	CHECK(assay_str_eq(assay_protow_data(&w), assay_protow_data(&again)));
	assay_part_free(&to);
	assay_protow_free(&w);
	assay_protow_free(&again);
	assay_run_free(run);
	return 0;
}

TEST(findings_that_lead_out_of_their_bytes_are_refused)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	add_rank(run);
	CHECK(unpacks(run));
	t->idle_cause.device[0] = 1;
	CHECK(!unpacks(run));
	t->idle_cause.device[0] = 0;
	t->idle_cause.cause[0] = ASSAY_WHY_COUNT;
	CHECK(!unpacks(run));
	t->idle_cause.cause[0] = 0;
	t->call.group[0] = 1000;
	CHECK(!unpacks(run));
	t->call.group[0] = 0;
	CHECK(unpacks(run));
	assay_run_free(run);
	return 0;
}

TEST(findings_cut_anywhere_are_refused_or_whole)
{
	assay_run *run = assay_run_new();
	assay_protow w = {0};
	add_rank(run);
	assay_findings_pack(&w, &run->part);
	assay_str all = assay_protow_data(&w);
	for (size_t n = 0; n < all.n; n++) {
		assay_part to = {0};
		if (assay_findings_unpack(&to, (assay_str){all.p, n}, NULL))
			CHECK(to.t.call.n <= 1);
		assay_part_free(&to);
	}
	assay_protow_free(&w);
	assay_run_free(run);
	return 0;
}
