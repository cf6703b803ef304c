/* Answers of `assay ctl`: a line a recording, and one on the steps that were asked for. */
#include "render/control.h"

#include <inttypes.h>

#include "base/fmt.h"
#include "base/test.h"

static void put_steps(FILE *out, const char *run, const assay_control_state *s)
{
	fprintf(out, "%s: steps %" PRId64 " to %" PRId64 " are recorded; ", run, s->first_step,
		s->last_step);
	if (s->step < 0)
		fprintf(out,
			"no step was seen since: steps are NVTX and roctx ranges that are named so, or that --steps-from named\n");
	else
		fprintf(out, "%s step %" PRId64 "\n",
			s->step > s->last_step ? "they are over, it is at" : "it is at", s->step);
}

void assay_control_text(FILE *out, const char *run, const assay_control_state *s)
{
	char records[ASSAY_FMT], lost[ASSAY_FMT], left[ASSAY_FMT];
	fprintf(out, "%s: recording is %s", run, s->recording ? "on" : "off");
	if (s->recording && s->left)
		fprintf(out, " for %s", assay_fmt_time(left, s->left));
	if (!s->processes)
		fprintf(out, "; no process uses a GPU yet\n");
	else
		fprintf(out,
			"; %" PRIu64 " of %" PRIu64
			" processes record, %s records so far, %s lost\n",
			s->on, s->processes, assay_fmt_count(records, s->records),
			assay_fmt_count(lost, s->lost));
	if (s->last_step)
		put_steps(out, run, s);
}

TEST(a_recording_says_what_it_records_and_how_far_its_steps_are)
{
	static const struct {
		assay_control_state s;
		const char *text;
	} cases[] = {
		{{.recording = true}, "r: recording is on; no process uses a GPU yet\n"},
		{{.recording = true, .left = 2000000000, .processes = 2, .on = 1, .records = 1234},
		 "r: recording is on for 2.00 s; 1 of 2 processes record, 1,234 records so far, 0 lost\n"},
		{{.first_step = 5, .last_step = 9, .step = 7},
		 "r: recording is off; no process uses a GPU yet\nr: steps 5 to 9 are recorded; it is at step 7\n"},
		{{.first_step = 5, .last_step = 9, .step = 10},
		 "r: recording is off; no process uses a GPU yet\nr: steps 5 to 9 are recorded; they are over, it is at step 10\n"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		char text[256] = "";
		FILE *out = fmemopen(text, sizeof text, "w");
		assay_control_text(out, "r", &cases[i].s);
		fclose(out);
		CHECK(!strcmp(text, cases[i].text));
	}
	return 0;
}
