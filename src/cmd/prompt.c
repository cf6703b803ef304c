/* A small line editor. Readline would bring its licence along. The terminal is raw only while a
 * line is typed, so that Ctrl-C stops a question that runs. */
#include "cmd/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/str.h"
#include "base/test.h"

enum { PAST_MAX = 1000, LINE_MAX_BYTES = 1 << 20 };
enum { CTRL_C = 3, CTRL_D = 4, TAB = 9, ENTER = 13, NEWLINE = 10, ESCAPE = 27, DELETE = 127 };

typedef enum key {
	KEY_TEXT,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_UP,
	KEY_DOWN,
	KEY_BACK,
	KEY_DELETE,
	KEY_CUT_END,
	KEY_CUT_START,
	KEY_CUT_WORD,
	KEY_CLEAR,
	KEY_ENTER,
	KEY_STOP,
	KEY_EOF,
	KEY_NONE,
} key;

/* Control characters, as in any shell. */
static const struct {
	char code;
	key key;
} controls[] = {
	{1, KEY_HOME},       {2, KEY_LEFT},      {CTRL_C, KEY_STOP}, {CTRL_D, KEY_DELETE},
	{5, KEY_END},        {6, KEY_RIGHT},     {8, KEY_BACK},      {DELETE, KEY_BACK},
	{11, KEY_CUT_END},   {12, KEY_CLEAR},    {14, KEY_DOWN},     {16, KEY_UP},
	{21, KEY_CUT_START}, {23, KEY_CUT_WORD}, {ENTER, KEY_ENTER}, {NEWLINE, KEY_ENTER},
};

/* What terminals send behind ESC [ or ESC O. */
static const struct {
	const char *text;
	key key;
} sequences[] = {
	{"A", KEY_UP},   {"B", KEY_DOWN},  {"C", KEY_RIGHT}, {"D", KEY_LEFT},
	{"H", KEY_HOME}, {"F", KEY_END},   {"1~", KEY_HOME}, {"3~", KEY_DELETE},
	{"4~", KEY_END}, {"7~", KEY_HOME}, {"8~", KEY_END},
};

static bool next_byte(char *c)
{
	ssize_t n;
	while ((n = read(STDIN_FILENO, c, 1)) < 0 && errno == EINTR)
		;
	return n == 1;
}

static key read_sequence(void)
{
	char text[8] = "", c;
	size_t n = 0;
	if (!next_byte(&c) || (c != '[' && c != 'O'))
		return KEY_NONE;
	/* ends with a letter or ~ */
	while (n + 1 < sizeof text && next_byte(&c)) {
		text[n++] = c;
		if (c >= '@')
			break;
	}
	for (size_t i = 0; i < ASSAY_COUNT_OF(sequences); i++)
		if (!strcmp(text, sequences[i].text))
			return sequences[i].key;
	return KEY_NONE;
}

static key read_key(char *c)
{
	if (!next_byte(c))
		return KEY_EOF;
	if (*c == ESCAPE)
		return read_sequence();
	for (size_t i = 0; i < ASSAY_COUNT_OF(controls); i++)
		if (*c == controls[i].code)
			return controls[i].key;
	return (unsigned char)*c >= ' ' || *c == TAB ? KEY_TEXT : KEY_NONE;
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80; /* inside a UTF-8 character */
}

static size_t before(const assay_prompt *p, size_t at)
{
	while (at && continues(p->line.p[--at]))
		;
	return at;
}

static size_t behind(const assay_prompt *p, size_t at)
{
	at += at < p->line.n;
	while (at < p->line.n && continues(p->line.p[at]))
		at++;
	return at;
}

static void cut(assay_prompt *p, size_t from, size_t to)
{
	memmove(p->line.p + from, p->line.p + to, p->line.n - to);
	p->line.n -= to - from;
	p->at = from;
}

static void insert(assay_prompt *p, char c)
{
	if (p->line.n >= LINE_MAX_BYTES)
		return;
	*assay_push(&p->line) = c;
	memmove(p->line.p + p->at + 1, p->line.p + p->at, p->line.n - 1 - p->at);
	p->line.p[p->at++] = c;
}

static void set_line(assay_prompt *p, const char *text)
{
	p->line.n = p->at = 0;
	while (*text)
		insert(p, *text++);
}

static void show_past(assay_prompt *p, size_t which)
{
	if (which > p->past.n)
		return;
	p->shown = which;
	set_line(p, which < p->past.n ? p->past.p[which] : "");
}

static size_t word_start(const assay_prompt *p)
{
	size_t at = p->at;
	while (at && p->line.p[at - 1] == ' ')
		at--;
	while (at && p->line.p[at - 1] != ' ')
		at--;
	return at;
}

static void obey(assay_prompt *p, key k, char c)
{
	switch (k) {
	case KEY_TEXT:
		insert(p, c == TAB ? ' ' : c);
		break;
	case KEY_LEFT:
		p->at = before(p, p->at);
		break;
	case KEY_RIGHT:
		p->at = behind(p, p->at);
		break;
	case KEY_HOME:
		p->at = 0;
		break;
	case KEY_END:
		p->at = p->line.n;
		break;
	case KEY_UP:
		show_past(p, p->shown ? p->shown - 1 : 0);
		break;
	case KEY_DOWN:
		show_past(p, p->shown + 1);
		break;
	case KEY_BACK:
		cut(p, before(p, p->at), p->at);
		break;
	case KEY_DELETE:
		cut(p, p->at, behind(p, p->at));
		break;
	case KEY_CUT_END:
		cut(p, p->at, p->line.n);
		break;
	case KEY_CUT_START:
		cut(p, 0, p->at);
		break;
	case KEY_CUT_WORD:
		cut(p, word_start(p), p->at);
		break;
	case KEY_CLEAR:
		fputs("\033[H\033[2J", stdout);
		break;
	case KEY_ENTER:
	case KEY_STOP:
	case KEY_EOF:
	case KEY_NONE:
		break;
	}
}

static size_t columns(const assay_prompt *p, size_t from, size_t to)
{
	size_t n = 0;
	for (; from < to; from++)
		n += !continues(p->line.p[from]);
	return n;
}

/* The part of the line around the cursor that the terminal has room for. */
static void draw(const assay_prompt *p, const char *text)
{
	struct winsize size;
	size_t width =
		!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col > 20 ? size.ws_col : 80;
	size_t room = width - strlen(text) - 1, from = 0, to;
	while (columns(p, from, p->at) >= room)
		from = behind(p, from);
	for (to = p->at; to < p->line.n && columns(p, from, to) < room;)
		to = behind(p, to);
	printf("\r\033[K%s%.*s\r\033[%zuC", text, (int)(to - from),
	       p->line.p ? p->line.p + from : "", strlen(text) + columns(p, from, p->at));
	fflush(stdout);
}

static const char *finish(assay_prompt *p)
{
	*assay_push(&p->line) = 0;
	const char *text = p->line.p, *last = p->past.n ? p->past.p[p->past.n - 1] : "";
	if (text[strspn(text, " ")] && strcmp(text, last) != 0)
		*assay_push(&p->past) = assay_dup(&p->a, assay_str_of(text));
	return text;
}

static const char *edit(assay_prompt *p, const char *text, bool *given_up)
{
	char c = 0;
	p->line.n = p->at = 0;
	p->shown = p->past.n;
	for (;;) {
		draw(p, text);
		key k = read_key(&c);
		*given_up = k == KEY_STOP;
		if (k == KEY_STOP || k == KEY_EOF || (c == CTRL_D && !p->line.n))
			return NULL;
		if (k == KEY_ENTER)
			return finish(p);
		obey(p, k, c);
	}
}

const char *assay_prompt_read(assay_prompt *p, const char *text, bool *given_up)
{
	struct termios before_it, raw;
	*given_up = false;
	if (tcgetattr(STDIN_FILENO, &before_it))
		return NULL;
	raw = before_it;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	const char *line = edit(p, text, given_up);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before_it);
	fputs(*given_up ? "^C\n" : "\n", stdout);
	fflush(stdout);
	return line;
}

/* $XDG_STATE_HOME/assay/NAME, else below ~/.local/state. */
static const char *state_file(assay_arena *a, const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && *state == '/')
		return assay_printf(a, "%s/assay/%s", state, name);
	return home && *home == '/' ? assay_printf(a, "%s/.local/state/assay/%s", home, name)
				    : NULL;
}

void assay_prompt_open(assay_prompt *p, const char *name)
{
	char *line = NULL;
	size_t room = 0;
	*p = (assay_prompt){0};
	p->file = state_file(&p->a, name);
	FILE *f = p->file ? fopen(p->file, "re") : NULL;
	for (ssize_t n; f && (n = getline(&line, &room, f)) > 0;) {
		assay_str text = assay_str_trim((assay_str){line, (size_t)n});
		if (text.n && n < LINE_MAX_BYTES)
			*assay_push(&p->past) = assay_dup(&p->a, text);
	}
	if (f)
		fclose(f);
	free(line);
	p->read = p->past.n;
}

/* Only those of now are added; when the file has grown long, its newest lines are kept. */
static void keep_past(const assay_prompt *p)
{
	bool anew = p->past.n > 2 * PAST_MAX;
	size_t from = anew ? p->past.n - PAST_MAX : p->read;
	if (!p->file || p->past.n == p->read || !assay_make_parents(p->file, 0700))
		return;
	mode_t mask = umask(077);
	FILE *f = fopen(p->file, anew ? "we" : "ae");
	umask(mask);
	for (size_t i = from; f && i < p->past.n; i++)
		fprintf(f, "%s\n", p->past.p[i]);
	if (f)
		fclose(f);
}

void assay_prompt_close(assay_prompt *p)
{
	keep_past(p);
	assay_vec_free(&p->past);
	assay_vec_free(&p->line);
	assay_arena_free(&p->a);
}

TEST(keys_edit_a_line_by_characters)
{
	assay_prompt p = {0};
	set_line(&p, "a\xc3\xa4z");
	obey(&p, KEY_LEFT, 0);
	obey(&p, KEY_BACK, 0);
	CHECK(p.line.n == 2 && !memcmp(p.line.p, "az", 2) && p.at == 1);
	obey(&p, KEY_TEXT, 'b');
	obey(&p, KEY_END, 0);
	obey(&p, KEY_TEXT, ' ');
	obey(&p, KEY_TEXT, 'c');
	CHECK(p.line.n == 5 && !memcmp(p.line.p, "abz c", 5));
	obey(&p, KEY_CUT_WORD, 0);
	CHECK(p.line.n == 4 && p.at == 4);
	obey(&p, KEY_HOME, 0);
	obey(&p, KEY_DELETE, 0);
	obey(&p, KEY_CUT_END, 0);
	CHECK(!p.line.n && !p.at);
	assay_vec_free(&p.line);
	return 0;
}

TEST(keys_walk_through_earlier_lines)
{
	assay_prompt p = {0};
	static const char *const lines[] = {"one", "two"};
	for (size_t i = 0; i < 2; i++) {
		set_line(&p, lines[i]);
		CHECK(!strcmp(finish(&p), lines[i]));
	}
	p.shown = p.past.n;
	obey(&p, KEY_UP, 0);
	obey(&p, KEY_UP, 0);
	obey(&p, KEY_UP, 0);
	CHECK(p.line.n == 3 && !memcmp(p.line.p, "one", 3));
	obey(&p, KEY_DOWN, 0);
	obey(&p, KEY_DOWN, 0);
	obey(&p, KEY_DOWN, 0);
	CHECK(!p.line.n && p.shown == p.past.n);
	assay_vec_free(&p.past);
	assay_vec_free(&p.line);
	assay_arena_free(&p.a);
	return 0;
}
