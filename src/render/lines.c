/* Lines that fit: text flows into the columns there are, names are cut, nothing wraps. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/test.h"
#include "base/utf8.h"
#include "render/printout.h"

enum { LEAST = 12 }; /* columns of a name */

static size_t columns_of(const char *text, size_t n)
{
	size_t columns = 0;
	for (size_t at = 0, wide; at < n; columns += wide)
		at += assay_utf8_next(text + at, n - at, &wide);
	return columns;
}

size_t assay_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

int assay_padded(const char *text, size_t columns)
{
	return (int)(columns + strlen(text) - assay_columns(text));
}

/* Where the end of a text begins that takes at most so many columns. */
static const char *ending(const char *text, size_t columns)
{
	for (size_t all = assay_columns(text), wide; all > columns; all -= wide)
		text += assay_utf8_next(text, strlen(text), &wide);
	return text;
}

const char *assay_cut_middle(assay_arena *a, const char *text, size_t columns, size_t tail)
{
	if (assay_columns(text) <= columns)
		return text;
	size_t head = assay_utf8_fitting(assay_str_of(text), columns - 3 - tail);
	return assay_printf(a, "%.*s...%s", (int)head, text, ending(text, tail));
}

const char *assay_cut(assay_arena *a, const char *text, size_t columns)
{
	assay_str s = assay_str_of(text);
	if (assay_utf8_fitting(s, columns) == s.n)
		return text;
	size_t fits = assay_utf8_fitting(s, columns > 3 ? columns - 3 : 0);
	return assay_printf(a, "%.*s...", (int)fits, text);
}

size_t assay_room(const assay_printout *p, size_t used)
{
	enum { ALL = 4096 };
	return p->full_names ? ALL : p->width > used + LEAST ? p->width - used : LEAST;
}

/* Of the first word, which a number and its unit are one of. */
static size_t word_length(const char *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s",  "B",
					    "kB", "MB", "GB", "TB", "GiB"};
	size_t n = strcspn(text, " \n");
	if (!n || !isdigit((unsigned char)text[n - 1]) || text[n] != ' ')
		return n;
	const char *next = text + n + 1;
	size_t unit = strspn(next, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	for (size_t i = 0; i < ASSAY_COUNT_OF(units); i++)
		if (strlen(units[i]) == unit && !memcmp(units[i], next, unit))
			return n + 1 + strcspn(next, " \n");
	return n;
}

/* Words from a column on, written where there is an out; how many lines they take. */
static size_t flow(FILE *out, size_t width, size_t column, const char *text)
{
	size_t at = column, lines = 1, room = width > column + 20 ? width : column + 20;
	for (bool first = true; *text; first = false) {
		text += strspn(text, " \n");
		size_t n = word_length(text);
		if (!n)
			break;
		size_t wide = columns_of(text, n);
		bool next = !first && at + 1 + wide > room;
		if (out && !first)
			fprintf(out, "%s%*s", next ? "\n" : " ", next ? (int)column : 0, "");
		if (out)
			fwrite(text, 1, n, out);
		lines += next;
		at = next ? column + wide : at + !first + wide;
		text += n;
	}
	return lines;
}

void assay_print_flow(assay_printout *p, size_t column, const char *text)
{
	flow(p->out, p->width, column, text);
	fputc('\n', p->out);
}

void assay_print_sentence(assay_printout *p, const char *text)
{
	fputs("  ", p->out);
	assay_print_flow(p, 2, text);
}

size_t assay_flow_lines(const assay_printout *p, size_t column, const char *text)
{
	return flow(NULL, p->width, column, text);
}

/* One line of a finished text, without what is behind the last column. */
static void put_line(FILE *out, const char *line, size_t n, size_t width)
{
	assay_str s = {line, n};
	size_t fits = assay_utf8_fitting(s, width);
	if (fits < n)
		fits = assay_utf8_fitting(s, width - 3);
	fwrite(line, 1, fits, out);
	if (fits < n)
		fputs(memchr(line, '\033', n) ? "...\033[0m" : "...", out);
	fputc('\n', out);
}

void assay_lines_put(FILE *out, const char *text, size_t n, size_t width)
{
	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t len = end ? (size_t)(end - text) : n;
		put_line(out, text, len, width);
		len += end != NULL;
		text += len;
		n -= len;
	}
}

/* Where what is behind the last column of a line goes on: below the last column of a row, which
 * two spaces part from the others, as long as it has room; else a little behind the line's own
 * start. */
static size_t last_column(const char *line, size_t n, size_t width)
{
	size_t start = 0, column = 0;
	while (start < n && line[start] == ' ')
		start++;
	for (size_t i = start + 2; i < n && i < width; i++)
		if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
			column = columns_of(line, i);
	return column && column + LEAST <= width ? column : start + 2;
}

/* One line, in as many as it needs. Breaks are at spaces, or within a word that no line holds. */
static void fit_line(FILE *out, const char *line, size_t n, size_t width)
{
	size_t indent = last_column(line, n, width), room = width;
	while (columns_of(line, n) > room) {
		size_t fits = assay_utf8_fitting((assay_str){line, n}, room), at = fits;
		while (at > 0 && line[at] != ' ')
			at--;
		size_t text = at;
		while (text > 0 && line[text - 1] == ' ')
			text--;
		at = text ? at : fits;
		fwrite(line, 1, text ? text : fits, out);
		while (at < n && line[at] == ' ')
			at++;
		line += at;
		n -= at;
		room = width - indent;
		fprintf(out, "\n%*s", n ? (int)indent : 0, "");
	}
	fwrite(line, 1, n, out);
	fputc('\n', out);
}

void assay_lines_fit(FILE *out, const char *text, size_t n, size_t width)
{
	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t len = end ? (size_t)(end - text) : n;
		fit_line(out, text, len, width);
		len += end != NULL;
		text += len;
		n -= len;
	}
}

/* What was printed, of at most 255 bytes. */
static const char *printed(void (*print)(FILE *out), char buf[256])
{
	FILE *f = tmpfile();
	print(f);
	rewind(f);
	buf[fread(buf, 1, 255, f)] = 0;
	fclose(f);
	return buf;
}

static void print_long_lines(FILE *out)
{
	static const char text[] = "0123456789abc\nshort\n\303\244\303\244\303\244\303\244\303\244"
				   "\303\244\303\244\303\244\303\244\303\244\n\033[1m0123456789abc"
				   "\033[0m\n";
	assay_lines_put(out, text, sizeof text - 1, 10);
}

TEST(no_line_is_wider_than_the_terminal)
{
	char buf[256];
	CHECK(!strcmp(printed(print_long_lines, buf),
		      "0123456...\nshort\n\303\244\303\244\303\244\303\244\303\244\303\244\303\244"
		      "\303\244\303\244\303\244\n\033[1m0123456...\033[0m\n"));
	return 0;
}

static void print_fitting(FILE *out)
{
	static const char text[] = "  12 us  thread 4 in a call that waits\n"
				   "a sentence that is too long for one line\n"
				   "  1 us  1234567890123456789012345678901234\n"
				   "short\n";
	assay_lines_fit(out, text, sizeof text - 1, 30);
}

TEST(lines_go_on_below_their_last_column)
{
	char buf[256];
	CHECK(!strcmp(printed(print_fitting, buf), "  12 us  thread 4 in a call\n"
						   "         that waits\n"
						   "a sentence that is too long\n"
						   "  for one line\n"
						   "  1 us\n"
						   "        1234567890123456789012\n"
						   "        345678901234\n"
						   "short\n"));
	return 0;
}

static void print_flowing(FILE *out)
{
	assay_printout p = {.out = out, .width = 30};
	fputs("     ", out);
	assay_print_flow(&p, 5, "words that flow into as many lines as they need");
}

TEST(words_flow_below_their_first_column)
{
	char buf[256];
	CHECK(!strcmp(printed(print_flowing, buf), "     words that flow into as\n"
						   "     many lines as they need\n"));
	return 0;
}

TEST(a_number_and_its_unit_are_one_word)
{
	CHECK_EQ(word_length("1.70 s, then"), strlen("1.70 s,"));
	CHECK_EQ(word_length("2.64 GiB"), strlen("2.64 GiB"));
	CHECK_EQ(word_length("14 of 48 steps"), 2);
	CHECK_EQ(word_length("12 seconds"), 2);
	return 0;
}
