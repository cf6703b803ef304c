/* A secret is known by the name before it (api_key=, --password, "token":, a netrc's password), by
 * its look (secret_look.h), by its place in a URL or an address (user:password@host, ?code=), by
 * the option of a program that takes one (curl -u me:password, sshpass -p), or by what a sentence
 * says of it ("the password is"). What is written with %40 for @ is read as what it stands for. */
#include "wire/secret.h"

#include <string.h>

#include "wire/secret_look.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
	BOT_SECRET = 35,
	LONGEST_DECODED = 2048,
	DEEPEST_DECODED = 3,
	LONGEST_PIPE = 512,
	LONGEST_LOGIN = 4096
};

/* Where a value ends. */
typedef enum extent {
	NO_VALUE,
	TO_WORD,     /* of a URL, JSON or a connection string: at what separates there */
	TO_BLANK,    /* of an option: at a blank */
	TO_ARGUMENT, /* of an option that begins an argument: at NUL */
	TO_LINE      /* of a header, which may be several words */
} extent;

/* What a sentence said before the next word: "password", "the token", "the token is". */
typedef enum saying { NOTHING, ITS_NAME, ITS_NAME_MAYBE, IT_IS, IT_IS_MAYBE } saying;

/* What the text read so far says about the next word. */
typedef struct reading {
	char *text;
	size_t n;
	extent value; /* the name before it was a secret's */
	assay_secret_kind kind;
	saying said;
	bool digest;         /* hex digits are a commit's or another digest's */
	bool git;            /* they are so in all of git's arguments */
	bool settings;       /* NAME VALUE may follow: "aws configure set" */
	bool login;          /* it may be user:password */
	bool netrc;          /* "password" names the next word */
	const char *letters; /* options of the program that are followed by a secret */
	unsigned depth;      /* how often it was decoded */
} reading;

static size_t hide_all(reading *r);

/* [from, from + bytes) becomes "***", or as many stars as fit. How many there are now. */
static size_t hide(reading *r, size_t from, size_t bytes)
{
	size_t stars = bytes < 3 ? bytes : 3;
	memset(r->text + from, '*', stars);
	memmove(r->text + from + stars, r->text + from + bytes, r->n - from - bytes);
	r->n -= bytes - stars;
	return stars;
}

/* user:password of "://user:password@host", where `at` stands behind the slashes. */
static size_t hide_login(reading *r, size_t at)
{
	size_t end = at, last = 0;
	while (end < r->n && end - at < LONGEST_LOGIN && r->text[end] &&
	       !assay_is_one_of(r->text[end], " \t\n\"'<>"))
		end++;
	size_t host = at;
	while (host < end && !assay_is_one_of(r->text[host], "/?#"))
		host++;
	/* a slash in a password that was not escaped: a port has digits only */
	char *colon = memchr(r->text + at, ':', host - at);
	if (colon && colon + 1 < r->text + host && !assay_is_digit(colon[1]))
		host = end;
	for (size_t i = at; i < host; i++)
		if (r->text[i] == '@')
			last = i;
	return last > at ? at + hide(r, at, last - at) : at;
}

/* Where the @ of "user:password@host" stands, whose user is a word; 0: it is none. The digest of an
 * image is none, nor is a port or tag with a path. */
static size_t login_end(const reading *r, size_t from, size_t end)
{
	if (end >= r->n || r->text[end] != ':' ||
	    (from && !assay_is_one_of(r->text[from - 1], " \t\n\"'=,;")) ||
	    memchr(r->text + from, '/', end - from) || memchr(r->text + from, '@', end - from))
		return 0;
	size_t at = end + 1;
	while (at < r->n && r->text[at] && !assay_is_one_of(r->text[at], " \t\n\"'<>,;/@"))
		at++;
	if (at == end + 1 || at + 1 >= r->n || r->text[at] != '@')
		return 0;
	const char *host = r->text + at + 1;
	bool digest = r->n - at > 7 && !memcmp(host, "sha256:", 7);
	return (assay_is_letter(*host) || assay_is_digit(*host)) && !digest ? at : 0;
}

static size_t word_end(const reading *r, size_t at)
{
	static const char stops[] = " \t\r\n\"'=,;{}[]()&?<>|`";
	while (at < r->n && r->text[at] && !assay_is_one_of(r->text[at], stops) &&
	       (r->text[at] != ':' || (at + 1 < r->n && r->text[at + 1] == '/')))
		at++;
	return at;
}

/* Where the value ends that begins at `from`; quotes around it go before anything else. */
static size_t value_end(const reading *r, size_t from, extent how)
{
	char before = from ? r->text[from - 1] : ' ';
	bool quoted = assay_is_one_of(before, "\"'"), argument = !before || how == TO_ARGUMENT;
	if (!quoted && !argument && how == TO_WORD)
		return word_end(r, from);
	size_t end = from;
	for (; end < r->n && r->text[end]; end++) {
		if (quoted && r->text[end] == '\\' && end + 1 < r->n && r->text[end + 1])
			end++;
		else if (quoted ? r->text[end] == before
				: (!argument &&
				   assay_is_one_of(r->text[end],
						   how == TO_LINE ? "\"'\r\n" : " \t\r\n")))
			break;
	}
	/* what closes the text around it is no part of it */
	while (!quoted && !argument && end > from + 1 &&
	       assay_is_one_of(r->text[end - 1], "\"'}])"))
		end--;
	return end;
}

static bool begins_argument(const reading *r, size_t from)
{
	return (!from || !r->text[from - 1]) && memchr(r->text, 0, r->n);
}

/* ?code= and its kin: what a login hands to a page. */
static bool in_query(const reading *r, size_t from, size_t end)
{
	static const char *const names[] = {"CODE",      "TICKET",       "ACCESS",     "SID",
					    "ASSERTION", "SAMLRESPONSE", "SAMLREQUEST"};
	return from && assay_is_one_of(r->text[from - 1], "?&#;") &&
	       assay_is_word_of(r->text + from, end - from, names, COUNT_OF(names));
}

/* A name is followed by = or :, quotes and spaces between them; an option also by a space. */
static extent names_next(reading *r, size_t from, size_t end)
{
	const char *word = r->text + from;
	size_t at = end, n = end - from;
	while (at < r->n && assay_is_one_of(r->text[at], "\"' "))
		at++;
	bool assigned = at < r->n && assay_is_one_of(r->text[at], "=:");
	bool apart = end < r->n && (!r->text[end] || assay_is_one_of(r->text[end], " \t\n"));
	if (r->netrc && apart &&
	    (assay_is_word(word, n, "PASSWORD") || assay_is_word(word, n, "ACCOUNT")))
		return TO_BLANK;
	/* or by a comma, in a list of JSON */
	bool option = (*word == '-' && (apart || assigned || (at < r->n && r->text[at] == ','))) ||
		      (r->settings && apart);
	r->kind = assay_secret_name(word, n);
	if (assigned && in_query(r, from, end))
		r->kind = ASSAY_SECRET_WORD;
	if ((!assigned && !option) || !r->kind)
		return NO_VALUE;
	if (assay_ends_with(word, n, "COOKIE") || assay_ends_with(word, n, "AUTHORIZATION"))
		return TO_LINE;
	if (!option)
		return TO_WORD;
	return r->text[end] == '=' && begins_argument(r, from) ? TO_ARGUMENT : TO_BLANK;
}

/* Programs and what of their letters are followed by a password; "login" is docker's, az's, ... */
static const char *letters_of(const char *word, size_t n)
{
	static const char *const programs[][2] = {
		{"SSHPASS", "p"}, {"LOGIN", "p"},      {"MYSQL", "p"},       {"MYSQLDUMP", "p"},
		{"MARIADB", "p"}, {"MONGO", "p"},      {"MONGOSH", "p"},     {"MONGODUMP", "p"},
		{"SQLCMD", "P"},  {"LDAPSEARCH", "w"}, {"REDIS-CLI", "a"},   {"OPENSSL", "kK"},
		{"HTTP", "a"},    {"HTTPS", "a"},      {"XH", "a"},          {"7Z", "p"},
		{"ZIP", "P"},     {"UNZIP", "P"},      {"SSH-KEYGEN", "NP"},
	};
	for (size_t i = n; i > 0; i--)
		if (word[i - 1] == '/') {
			word += i, n -= i;
			break;
		}
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (assay_is_word(word, n, programs[i][0]))
			return programs[i][1];
	return NULL;
}

/* -u, -U, --user and its kin: a login, or a name alone. */
static bool takes_login(const char *word, size_t n)
{
	static const char *const options[] = {"--USER", "--PROXY-USER", "--USERPWD", "--HTTP-USER",
					      "--CERT", "--PROXY-CERT", "-U",        "-E"};
	return assay_is_word_of(word, n, options, COUNT_OF(options));
}

/* user:password or user%password; 1000:1000 is a user and a group. */
static bool is_login(const char *p, size_t n)
{
	size_t user = 0, digits = 0;
	for (; user < n && !assay_is_one_of(p[user], ":%/ "); user++)
		digits += assay_is_digit(p[user]);
	return user > digits && user + 1 < n && assay_is_one_of(p[user], ":%") &&
	       p[user + 1] != '/';
}

/* "Bearer XYZ" and "Basic XYZ": the secret is the word behind the word. */
static bool is_scheme(const char *p, size_t n)
{
	return (n == 6 && assay_ends_with(p, n, "BEARER")) ||
	       (n == 5 && assay_ends_with(p, n, "BASIC"));
}

/* A host or folder behind which the path itself is what lets one in. */
static bool is_hook(const char *p, size_t n)
{
	static const char *const names[] = {"WEBHOOK", "WEBHOOKS", "WEBHOOKB2"};
	return (n > 6 && !memcmp(p, "hooks.", 6)) || assay_is_word_of(p, n, names, COUNT_OF(names));
}

/* Tokens that are folders of a URL's path, from the host at `at` on. The new end. */
static size_t hide_folders(reading *r, size_t at, size_t end)
{
	while (at < end) {
		const char *slash = memchr(r->text + at, '/', end - at);
		size_t stop = slash ? (size_t)(slash - r->text) : end, n = stop - at;
		if (slash && is_hook(r->text + at, n))
			return stop + 1 + hide(r, stop + 1, end - stop - 1);
		size_t kept = assay_looks_secret(r->text + at, n) ? hide(r, at, n) : n;
		end -= n - kept;
		at += kept + 1;
	}
	return end;
}

/* A word with %40 and the like in it that holds a secret once they are decoded, or is too long to
 * tell. */
static bool hides_encoded(const reading *r, const char *word, size_t n)
{
	char plain[LONGEST_DECODED];
	size_t out = 0, decoded = 0;
	for (size_t i = 0; i < n && out < sizeof plain; i++) {
		bool coded = word[i] == '%' && n - i > 2 && assay_hex_digit(word[i + 1]) >= 0 &&
			     assay_hex_digit(word[i + 2]) >= 0;
		plain[out++] = coded ? (char)(assay_hex_digit(word[i + 1]) * 16 +
					      assay_hex_digit(word[i + 2]))
				     : word[i];
		decoded += coded;
		i += coded ? 2 : 0;
	}
	if (!decoded)
		return false;
	if (out == sizeof plain || r->depth >= DEEPEST_DECODED)
		return true;
	char open[LONGEST_DECODED];
	memcpy(open, plain, out);
	reading inside = {.text = open, .n = out, .depth = r->depth + 1};
	return hide_all(&inside) != out || memcmp(open, plain, out) != 0;
}

/* The length of a private key with its first and last line, 0 when none begins here. */
static size_t key_block(const char *p, size_t n)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ", named[] = "PRIVATE KEY";
	size_t line = 0, stop = n;
	if (n < sizeof begin || memcmp(p, begin, sizeof begin - 1) != 0)
		return 0;
	while (line < n && line < 64 && (line < sizeof begin || p[line] != '-'))
		line++;
	if (!assay_ends_with(p, line, named))
		return 0;
	for (size_t i = line; i + sizeof end - 1 <= n && stop == n; i++)
		if (!memcmp(p + i, end, sizeof end - 1))
			stop = i + sizeof end - 1;
	while (stop < n && p[stop] && p[stop] != '\n' && p[stop] != '"')
		stop++;
	return stop;
}

/* -ume:password, -ppassword: the letter and its value are one argument. How much is no secret. */
static size_t attached_option(const reading *r, size_t from, size_t end)
{
	const char *p = r->text + from;
	bool starts = !from || !r->text[from - 1] || assay_is_one_of(r->text[from - 1], " \t\n\"'");
	if (!starts || end - from < 3 || *p != '-' || p[1] == '-')
		return 0;
	size_t all = value_end(r, from, TO_BLANK) - from;
	if (r->letters && assay_is_one_of(p[1], r->letters))
		return 2;
	return assay_is_one_of(p[1], "uU") && is_login(p + 2, all - 2) ? 2 : 0;
}

/* The value of a name, or a login, that begins at `from`: hidden. Its new end, 0: it is none. */
static size_t take_value(reading *r, size_t from)
{
	extent how = r->value;
	size_t n = value_end(r, from, how ? how : TO_BLANK) - from;
	const char *word = r->text + from;
	bool secret = how ? !assay_is_harmless(word, n, r->kind) : r->login && is_login(word, n);
	r->value = NO_VALUE;
	r->login = false;
	if (!secret)
		return 0;
	/* "Bearer abc": a kind, and then the secret */
	size_t kind = 0;
	while (kind < n && assay_is_letter(word[kind]))
		kind++;
	if (how == TO_LINE && kind && kind + 1 < n && word[kind] == ' ')
		from += kind + 1, n -= kind + 1;
	return from + hide(r, from, n);
}

/* "password letmein", "the key is abc1": what a sentence says of the word behind this one. */
static saying said_by(const reading *r, size_t from, size_t end)
{
	static const char *const sure[] = {"PASSWORD", "PASSPHRASE"};
	static const char *const maybe[] = {"PASSWD", "PASSCODE",   "TOKEN", "KEY",
					    "SECRET", "CREDENTIAL", "PIN",   "IDENTIFIED"};
	static const char *const is[] = {"IS", "WAS", "BY", "="};
	const char *word = r->text + from;
	size_t n = end - from;
	bool ends = end < r->n && assay_is_one_of(r->text[end], " \t\"':");
	if (!ends)
		return NOTHING;
	if (assay_is_word_of(word, n, sure, COUNT_OF(sure)))
		return ITS_NAME;
	if (assay_is_word_of(word, n, maybe, COUNT_OF(maybe)))
		return ITS_NAME_MAYBE;
	return !r->said || !assay_is_word_of(word, n, is, COUNT_OF(is)) ? NOTHING
	       : r->said == ITS_NAME                                    ? IT_IS
									: IT_IS_MAYBE;
}

/* Whether it is the secret a sentence spoke of. Where that is not sure it has digits in it. */
static bool is_said(const reading *r, const char *word, size_t n)
{
	static const char *const others[] = {"IS",  "WAS", "FILE", "FOR",   "OF",     "AND",
					     "OR",  "IN",  "ON",   "WITH",  "FROM",   "TO",
					     "NOT", "THE", "A",    "AN",    "HASH",   "PROMPT",
					     "SET", "AS",  "BY",   "WRONG", "MISSING"};
	size_t digits = 0;
	for (size_t i = 0; i < n; i++)
		digits += assay_is_digit(word[i]);
	if (!r->said || r->said == ITS_NAME_MAYBE || assay_is_one_of(*word, "-/.$") ||
	    assay_is_word_of(word, n, others, COUNT_OF(others)))
		return false;
	return r->said != IT_IS_MAYBE || digits;
}

/* "echo letmein | sudo -S": what is printed into a program that asks for it. How much. */
static size_t piped_secret(const reading *r, size_t from, size_t end)
{
	static const char *const readers[] = {"-stdin", "sudo -S", "chpasswd", "passphrase-fd 0"};
	const char *word = r->text + from;
	size_t line = end, pipe = 0;
	if (!assay_is_word(word, end - from, "ECHO") && !assay_is_word(word, end - from, "PRINTF"))
		return 0;
	for (; line < r->n && line - end < LONGEST_PIPE && r->text[line] != '\n'; line++)
		if (!pipe && r->text[line] == '|')
			pipe = line;
	for (size_t i = pipe; pipe && i < line; i++)
		for (size_t k = 0; k < COUNT_OF(readers); k++) {
			size_t w = strlen(readers[k]);
			if (line - i >= w && !memcmp(r->text + i, readers[k], w))
				return pipe - end;
		}
	return 0;
}

/* What the word says about those behind it. */
static void look_ahead(reading *r, size_t from, size_t end)
{
	const char *word = r->text + from, *letters = letters_of(word, end - from);
	size_t n = end - from;
	if (letters)
		r->letters = letters;
	r->netrc |= assay_is_word(word, n, "MACHINE") || assay_is_word(word, n, "LOGIN");
	r->git |= n >= 3 && assay_ends_with(word, n, "GIT");
	r->digest = assay_names_digest(word, n);
	r->said = said_by(r, from, end);
	r->login = takes_login(word, n);
	r->value = names_next(r, from, end);
	r->settings |= assay_is_word(word, n, "CONFIG") || assay_is_word(word, n, "CONFIGURE");
	if (!r->value &&
	    ((r->letters && n == 2 && *word == '-' && assay_is_one_of(word[1], r->letters)) ||
	     is_scheme(word, n))) {
		r->value = *word == '-' ? TO_BLANK : TO_WORD;
		r->kind = ASSAY_SECRET_WORD;
	}
}

/* Telegram's: the number of a bot, a colon, and what begins here. */
static bool is_bot_key(const reading *r, size_t from, size_t n)
{
	const char *p = r->text + from;
	return from >= 2 && p[-1] == ':' && assay_is_digit(p[-2]) && n >= BOT_SECRET &&
	       !memcmp(p, "AA", 2) && assay_is_run(p, BOT_SECRET, "-_") &&
	       (n == BOT_SECRET || !assay_is_run(p + BOT_SECRET, 1, "-_"));
}

/* "model@0123abcd", "sha256-...": not a word of its own. */
static bool is_part(const reading *r, size_t from)
{
	return from && assay_is_one_of(r->text[from - 1], "@/#~^");
}

static size_t take_word(reading *r, size_t from, size_t end)
{
	if (r->value || r->login) {
		size_t hidden = take_value(r, from);
		if (hidden)
			return hidden;
	}
	const char *word = r->text + from;
	size_t n = end - from, letter = attached_option(r, from, end);
	if (letter || is_said(r, word, n)) {
		from += letter;
		r->said = NOTHING;
		return from + hide(r, from, value_end(r, from, TO_BLANK) - from);
	}
	if (is_bot_key(r, from, n))
		return from + hide(r, from, BOT_SECRET);
	if (assay_is_bare_hex(word, n))
		return r->digest || r->git || is_part(r, from) ? end : from + hide(r, from, n);
	size_t piped = piped_secret(r, from, end);
	if (piped)
		return end + hide(r, end, piped);
	const char *slashes = n > 2 && !memcmp(word, "//", 2) ? word + 2 : NULL;
	for (size_t i = 0; !slashes && i + 3 <= n; i++)
		if (!memcmp(word + i, "://", 3))
			slashes = word + i + 3;
	if (assay_looks_secret(word, n) || (memchr(word, '%', n) && hides_encoded(r, word, n)))
		return from + hide(r, from, n);
	size_t login = slashes ? 0 : login_end(r, from, end);
	if (login)
		end = from + hide(r, from, login - from);
	if (slashes) {
		end = hide_login(r, (size_t)(slashes - r->text));
		end = hide_folders(r, end, word_end(r, end));
	}
	look_ahead(r, from, end);
	return end;
}

static size_t hide_all(reading *r)
{
	for (size_t at = 0; at < r->n;) {
		size_t end = word_end(r, at), key = key_block(r->text + at, r->n - at);
		at = key ? at + hide(r, at, key) : end > at ? take_word(r, at, end) : at + 1;
	}
	return r->n;
}

size_t assay_hide_secrets(char *text, size_t n)
{
	reading r = {.text = text, .n = n};
	return hide_all(&r);
}
