/* What is known to be missing, what may be, and when it is proved that nothing is. */
#include "base/fmt.h"
#include "base/test.h"
#include "render/report.h"

static const char *const cause_text[ASSAY_LOSS_CAUSE_COUNT] = {
	[ASSAY_LOSS_NONE] = "",
	[ASSAY_LOSS_RING] = "a thread's ring was full",
	[ASSAY_LOSS_VENDOR] = "the vendor's library dropped them",
	[ASSAY_LOSS_TAKEN] = "another profiler took the vendor's library over",
	[ASSAY_LOSS_THREAD] = "there was no ring for their thread",
	[ASSAY_LOSS_INCOMPLETE] = "the work had not ended when the recording did",
	[ASSAY_LOSS_DAMAGED] = "the program wrote over a ring",
	[ASSAY_LOSS_SAMPLES] = "there are more threads than are looked at",
	[ASSAY_LOSS_STALLED] = "the file could not be written fast enough",
	[ASSAY_LOSS_NOT_KEPT] = "they are older than what was to be kept",
	[ASSAY_LOSS_ENDED] = "threads went on when the recording had ended",
	[ASSAY_LOSS_MISSING] = "they were written and are not in the file",
	[ASSAY_LOSS_KILLED] = "the process was killed or left without a word",
	[ASSAY_LOSS_EXEC] = "the process became another program",
	[ASSAY_LOSS_UNTOLD] = "how the process went is not in the file",
	[ASSAY_LOSS_NO_WORK] = "launched, and the vendor's library reported nothing of it",
};

typedef struct loss {
	uint64_t dropped, unknown, processes;
} loss;

static loss sum_of(const assay_ledger_table *l, assay_sid kind, uint8_t cause)
{
	loss sum = {0};
	uint32_t last = ASSAY_NO_ROW; /* several kinds of records have one name */
	for (size_t i = 0; i < l->n; i++)
		if (l->cause[i] == cause && l->kind[i] == kind) {
			sum.dropped += l->dropped[i];
			sum.unknown += l->unknown[i];
			sum.processes += l->source[i] != last;
			last = l->source[i];
		}
	return sum;
}

static bool met_before(const assay_ledger_table *l, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (l->cause[i] == l->cause[row] && l->kind[i] == l->kind[row])
			return true;
	return false;
}

static void print_loss(FILE *out, const char *indent, const assay_run *run, size_t row)
{
	const assay_ledger_table *l = &run->part.t.ledger;
	loss sum = sum_of(l, l->kind[row], l->cause[row]);
	const char *kind = l->kind[row] ? assay_z(run, l->kind[row]) : "";
	char n[ASSAY_FMT], p[ASSAY_FMT];
	bool known = l->cause[row] < ASSAY_LOSS_KILLED;
	uint64_t count = known ? sum.dropped : sum.unknown;
	bool bound = l->cause[row] != ASSAY_LOSS_UNTOLD;
	const char *cause = cause_text[l->cause[row]];
	if (!known && bound && !sum.unknown)
		fprintf(out, "%sno GPU work is missing, though %s", indent, cause);
	else
		fprintf(out, "%s%s %s%s %s%s%s%s%s: %s", indent,
			known   ? "lost"
			: bound ? "unknown: at most"
				: "unknown:",
			assay_fmt_count(n, count), bound ? "" : " or more", known ? kind : "",
			known && *kind ? " " : "", known ? "record" : "piece",
			count == 1 && bound ? "" : "s", known ? "" : " of GPU work", cause);
	if (sum.processes > 1)
		fprintf(out, " (%s processes)", assay_fmt_count(p, sum.processes));
	fprintf(out, "\n");
}

bool assay_ledger_text(FILE *out, const char *indent, const assay_run *run)
{
	const assay_ledger_table *l = &run->part.t.ledger;
	uint64_t by[ASSAY_PROOF_COUNT] = {0};
	for (size_t i = 0; i < run->part.t.source.n; i++)
		if (assay_has_trait(run, (uint32_t)i, ASSAY_TRAIT_FOLDER))
			by[run->part.t.source.proof[i]]++;
	for (size_t i = 0; i < l->n; i++)
		if (l->cause[i] != ASSAY_LOSS_NONE && l->cause[i] != ASSAY_LOSS_NOT_KEPT &&
		    !met_before(l, i))
			print_loss(out, indent, run, i);
	char n[ASSAY_FMT];
	bool whole = by[ASSAY_PROOF_WHOLE] && !by[ASSAY_PROOF_OPEN] && !by[ASSAY_PROOF_LOST] &&
		     !by[ASSAY_PROOF_NONE];
	if (whole)
		fprintf(out,
			"%snothing was lost: %s process%s ended in order, and the counts agree\n",
			indent, assay_fmt_count(n, by[ASSAY_PROOF_WHOLE]),
			by[ASSAY_PROOF_WHOLE] == 1 ? "" : "es");
	return whole;
}

void assay_ledger_json(assay_jsonw *w, const char *key, const assay_run *run)
{
	const assay_ledger_table *l = &run->part.t.ledger;
	assay_jsonw_open(w, key, '[');
	for (size_t i = 0; i < l->n; i++) {
		assay_jsonw_open_flat(w, NULL, '{');
		assay_jsonw_u64(w, "source", l->source[i]);
		assay_jsonw_z(w, "proof", assay_proof_name[run->part.t.source.proof[l->source[i]]]);
		assay_jsonw_z(w, "kind", assay_z_if(run, l->kind[i]));
		assay_jsonw_z(w, "cause", assay_loss_cause_name[l->cause[i]]);
		if (l->cause[i] == ASSAY_LOSS_NONE) {
			assay_jsonw_u64(w, "made", l->made[i]);
			assay_jsonw_u64(w, "read", l->read[i]);
		} else {
			assay_jsonw_u64(w, "dropped", l->dropped[i]);
			assay_jsonw_u64(w, "unknown", l->unknown[i]);
			assay_jsonw_i64(w, "first", l->first[i]);
		}
		assay_jsonw_close(w, '}');
	}
	assay_jsonw_close(w, ']');
}

static void add_source(assay_run *run, unsigned traits, assay_proof proof)
{
	assay_source_table *s = &run->part.t.source;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_source);
	s->traits[i] = traits;
	s->proof[i] = proof;
}

/* Of the newest source. */
static void add_loss(assay_run *run, const char *kind, assay_loss_cause cause, uint64_t dropped,
		     uint64_t unknown)
{
	assay_ledger_table *l = &run->part.t.ledger;
	uint32_t i = assay_add(&run->part.t, ASSAY_T_ledger);
	l->source[i] = (uint32_t)run->part.t.source.n - 1;
	l->kind[i] = kind ? assay_sid_of(run, kind) : 0;
	l->cause[i] = cause;
	l->dropped[i] = dropped;
	l->unknown[i] = unknown;
	l->made[i] = dropped + 1;
	l->read[i] = unknown + 2;
	l->first[i] = -5;
}

static bool says(const assay_run *run, bool whole, const char *want)
{
	char text[2048] = "";
	FILE *out = fmemopen(text, sizeof text, "w");
	bool proved = assay_ledger_text(out, "> ", run);
	fclose(out);
	if (strcmp(text, want))
		fprintf(stderr, "%s", text);
	return proved == whole && !strcmp(text, want);
}

TEST(losses_are_summed_by_kind_and_cause)
{
	assay_run *run = assay_run_new();
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_LOST);
	add_loss(run, "kernel", ASSAY_LOSS_RING, 3, 90);
	add_loss(run, "kernel", ASSAY_LOSS_NONE, 7, 0);
	add_loss(run, "copy", ASSAY_LOSS_RING, 1, 0);
	add_loss(run, "kernel", ASSAY_LOSS_VENDOR, 8, 0);
	add_loss(run, NULL, ASSAY_LOSS_MISSING, 1, 0);
	add_loss(run, NULL, ASSAY_LOSS_MISSING, 1, 0);
	add_loss(run, NULL, ASSAY_LOSS_NOT_KEPT, 6, 0);
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_OPEN);
	add_loss(run, "kernel", ASSAY_LOSS_RING, 4, 0);
	add_loss(run, NULL, ASSAY_LOSS_KILLED, 50, 9);
	add_loss(run, NULL, ASSAY_LOSS_UNTOLD, 50, 1);
	add_loss(run, NULL, ASSAY_LOSS_NO_WORK, 50, 1);
	add_loss(run, NULL, ASSAY_LOSS_EXEC, 0, 0);
	CHECK(says(
		run, false,
		"> lost 7 kernel records: a thread's ring was full (2 processes)\n"
		"> lost 1 copy record: a thread's ring was full\n"
		"> lost 8 kernel records: the vendor's library dropped them\n"
		"> lost 2 records: they were written and are not in the file\n"
		"> unknown: at most 9 pieces of GPU work: the process was killed or left without a word\n"
		"> unknown: 1 or more pieces of GPU work: how the process went is not in the file\n"
		"> unknown: at most 1 piece of GPU work: launched, and the vendor's library reported nothing of it\n"
		"> no GPU work is missing, though the process became another program\n"));
	assay_run_free(run);
	return 0;
}

TEST(nothing_was_lost_only_where_every_capture_proves_it)
{
	assay_run *run = assay_run_new();
	CHECK(says(run, false, ""));
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_WHOLE);
	add_source(run, 0, ASSAY_PROOF_WHOLE); /* no capture of ours */
	CHECK(says(run, true,
		   "> nothing was lost: 1 process ended in order, and the counts agree\n"));
	add_source(run, 0, ASSAY_PROOF_LOST);
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_WHOLE);
	CHECK(says(run, true,
		   "> nothing was lost: 2 processes ended in order, and the counts agree\n"));
	assay_run_free(run);
	static const assay_proof others[] = {ASSAY_PROOF_NONE, ASSAY_PROOF_OPEN, ASSAY_PROOF_LOST};
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++) {
		run = assay_run_new();
		add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_WHOLE);
		add_source(run, ASSAY_TRAIT_FOLDER, others[i]);
		CHECK(says(run, false, ""));
		assay_run_free(run);
	}
	return 0;
}

TEST(the_ledger_in_json_has_counts_or_a_loss_in_each_row)
{
	assay_run *run = assay_run_new();
	assay_jsonw w = {.compact = true};
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_WHOLE);
	add_loss(run, "kernel", ASSAY_LOSS_NONE, 6, 4);
	add_source(run, ASSAY_TRAIT_FOLDER, ASSAY_PROOF_LOST);
	add_loss(run, NULL, ASSAY_LOSS_RING, 3, 4);
	assay_jsonw_open(&w, NULL, '{');
	assay_ledger_json(&w, "ledger", run);
	assay_jsonw_close(&w, '}');
	CHECK(assay_str_is(
		assay_jsonw_text(&w),
		"{\"ledger\": [{\"source\": 0, \"proof\": \"proved\", \"kind\": \"kernel\", \"cause\": \"none\", \"made\": 7, \"read\": 6}, "
		"{\"source\": 1, \"proof\": \"lost\", \"kind\": null, \"cause\": \"ring_full\", \"dropped\": 3, \"unknown\": 4, \"first\": -5}]}"));
	assay_jsonw_free(&w);
	assay_run_free(run);
	return 0;
}
