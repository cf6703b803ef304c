#include "cmd/report_show.h"

#include <string.h>

#include "base/suggest.h"
#include "cmd/say.h"
#include "render/report.h"

static bool sections_known(const char *cmd, const report_show *s)
{
	for (size_t i = 0; i < s->section.n; i++) {
		assay_str rest = assay_str_of(s->section.item[i]);
		while (rest.n) {
			assay_str name = assay_str_cut(&rest, ',');
			if (assay_section_find(name))
				continue;
			assay_say_on("assay %s: no section is called '%.*s'; there are", cmd,
				     (int)name.n, name.p);
			assay_arena scratch = {0};
			assay_suggestion near = {.meant = assay_dup(&scratch, name)};
			for (size_t k = 0; k < assay_section_count; k++) {
				assay_say_on("%s %s", k ? "," : "", assay_sections[k].name);
				assay_suggest(&near, assay_sections[k].name);
			}
			fputc('\n', stderr);
			if (near.best)
				assay_say("Did you mean %s?", near.best);
			assay_arena_free(&scratch);
			return false;
		}
	}
	return true;
}

/* Options of the text beside something else that is written instead of it. */
static bool text_is_wanted(const char *cmd, const report_show *s)
{
	const char *instead = s->json ? "json" : s->html ? "html" : s->markdown ? "markdown" : NULL;
	const struct {
		const char *name;
		bool given;
	} of_text[] = {
		{"section", s->section.n},
		{"verbose", s->verbose},
		{"full-names", s->full_names},
	};
	for (size_t i = 0; instead && i < ASSAY_COUNT_OF(of_text); i++)
		if (of_text[i].given) {
			assay_say("assay %s: --%s means nothing to --%s", cmd, of_text[i].name,
				  instead);
			return false;
		}
	return true;
}

bool report_show_fits(const char *cmd, const report_show *s)
{
	bool page = s->html && !strcmp(s->html, "-");
	if (s->json && (s->markdown || page)) {
		assay_say("assay %s: %s and %s both want standard output", cmd,
			  s->markdown ? "--json" : "--html -",
			  s->markdown ? "--markdown" : "--json");
		return false;
	}
	return sections_known(cmd, s) && text_is_wanted(cmd, s);
}

static void print_text(const report_show *s, const assay_run *run)
{
	const assay_terminal terminal = assay_cmd_terminal();
	const assay_text_opts text = {.top = (uint32_t)s->top,
				      .width = terminal.width,
				      .colour = terminal.colour,
				      .full_names = s->full_names,
				      .verbose = s->verbose};
	if (s->markdown) {
		assay_report_markdown(stdout, run, &text);
		return;
	}
	assay_cmd_page_output(!s->no_pager);
	if (!s->section.n)
		assay_report_text(stdout, run, &text);
	for (size_t i = 0; i < s->section.n; i++) {
		assay_str rest = assay_str_of(s->section.item[i]);
		while (rest.n)
			assay_report_section(stdout, run,
					     assay_section_find(assay_str_cut(&rest, ',')), &text);
	}
}

static void print_json(const assay_run *run)
{
	assay_jsonw w = {.to = stdout};
	assay_report_json(&w, run);
	assay_jsonw_flush(&w);
	putchar('\n');
	assay_jsonw_free(&w);
}

int report_show_run(const report_show *s, assay_run *run, char **operands)
{
	int status = ASSAY_EXIT_OK;
	if (!run->part.t.device_time.n && !run->part.t.counter.n && !run->part.t.stat.n) {
		assay_say("assay report: there is no GPU work in the input");
		status = ASSAY_EXIT_FAIL;
	}
	/* before the page, which derives more rows: both say the same, together or alone */
	if (s->json)
		print_json(run);
	if (s->html && !assay_cmd_page(run, operands, s->html))
		status = ASSAY_EXIT_FAIL;
	if (!s->html && !s->json)
		print_text(s, run);
	assay_run_free(run);
	return status;
}
