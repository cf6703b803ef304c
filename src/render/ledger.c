/* What is known to be missing, what may be, and when it is proved that nothing is. */
#include "base/fmt.h"
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
	[ASSAY_LOSS_NO_WORK] = "launched, and the vendor's library told nothing of it",
};

typedef struct loss {
	uint64_t dropped, unknown, processes;
} loss;

static loss sum_of(const assay_ledger_table *l, assay_sid kind, uint8_t cause)
{
	loss sum = {0};
	for (size_t i = 0; i < l->n; i++)
		if (l->cause[i] == cause && l->kind[i] == kind) {
			sum.dropped += l->dropped[i];
			sum.unknown += l->unknown[i];
			sum.processes++;
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
	const char *kind = l->kind[row] ? assay_z(run, l->kind[row]) : "records";
	char n[ASSAY_FMT], p[ASSAY_FMT];
	bool known = l->cause[row] < ASSAY_LOSS_KILLED;
	bool bound = l->cause[row] != ASSAY_LOSS_UNTOLD;
	fprintf(out, "%s%s %s%s %s: %s", indent,
		known   ? "lost"
		: bound ? "unknown: at most"
			: "unknown:",
		assay_fmt_count(n, known ? sum.dropped : sum.unknown), bound ? "" : " or more",
		known ? kind : "pieces of GPU work", cause_text[l->cause[row]]);
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
		assay_jsonw_z(w, "kind", l->kind[i] ? assay_z(run, l->kind[i]) : NULL);
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
