/* A secret is known by the name before it (api_key=, --password, "token":, a netrc's password), by
 * its look (hf_..., sk-..., AKIA..., a private key), by its place in a URL or an address
 * (user:password@host), or by the option of a program that takes one (curl -u me:password,
 * sshpass -p). What is written with %40 for @ is read as what it stands for. */
#include "wire/secret.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
	SHORTEST_TOKEN = 12,
	LETTERS_ALONE = 20,
	AWS_SECRET = 40,
	BOT_SECRET = 35,
	LONGEST_DECODED = 2048,
	DEEPEST_DECODED = 3
};

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return upper(c) >= 'A' && upper(c) <= 'Z';
}

static bool in(char c, const char *set)
{
	return c && strchr(set, c);
}

/* The last `strlen(word)` letters, of either case. */
static bool ends_with(const char *p, size_t n, const char *word)
{
	size_t w = strlen(word);
	for (size_t i = 0; n >= w && i < w; i++)
		if (upper(p[n - w + i]) != word[i])
			return false;
	return n >= w;
}

/* One part of a name between dashes, underscores and dots; the last one says what the value is. */
static bool secret_part(const char *p, size_t n, bool alone, bool last)
{
	static const char *const ends[] = {
		"KEY",        "TOKEN",         "SECRET",     "PASSWORD",    "PASSWD",
		"AUTH",       "COOKIE",        "CREDENTIAL", "CREDENTIALS", "WEBHOOK",
		"PASSPHRASE", "AUTHORIZATION", "SIGNATURE",  "BEARER",      "PASSCODE",
		"CREDS",      "CRED",          "JWT",        "KEYS",        "TOKENS",
		"SECRETS",    "PASSWORDS",     "SESSIONID",  "SESSID"};
	static const char *const whole[] = {"PASS", "PWD", "PW",   "SIG",
					    "PAT",  "OTP", "SALT", "SIGNING"};
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (ends_with(p, n, ends[i]))
			return true;
	/* PWD alone is the folder a shell stands in */
	if (alone && n == 3 && !memcmp(p, "PWD", 3))
		return false;
	if (last && n == 7 && (ends_with(p, n, "PRIVATE") || ends_with(p, n, "SESSION")))
		return true;
	for (size_t i = 0; i < COUNT_OF(whole); i++)
		if (n == strlen(whole[i]) && ends_with(p, n, whole[i]))
			return true;
	return false;
}

/* A variable or option of that name holds a secret, unless its value is a plain number or switch.
 */
static bool secret_name(const char *name, size_t n)
{
	for (; n && *name == '-'; n--)
		name++;
	for (size_t at = 0; at < n;) {
		size_t end = at;
		while (end < n && !in(name[end], "-_."))
			end++;
		if (secret_part(name + at, end - at, end - at == n, end == n))
			return true;
		at = end + 1;
	}
	return false;
}

/* Numbers, switches and nothing at all give nothing away: --max-token 512, NCCL_IB_PKEY=0. */
static bool is_harmless(const char *p, size_t n)
{
	static const char *const words[] = {"TRUE", "FALSE", "ON",   "OFF", "YES",
					    "NO",   "NONE",  "NULL", "AUTO"};
	size_t digits = 0;
	while (digits < n && is_digit(p[digits]))
		digits++;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (n == strlen(words[i]) && ends_with(p, n, words[i]))
			return true;
	return !n || (digits == n && n < 7) || (n == 3 && !memcmp(p, "***", 3));
}

/* What the word at the beginning is made of. */
typedef struct shape {
	size_t n, large, small, digits;
	size_t piece; /* longest run of letters and digits */
} shape;

static shape shape_of(const char *p, size_t n, const char *others)
{
	shape s = {0};
	size_t piece = 0;
	for (; s.n < n && (is_letter(p[s.n]) || is_digit(p[s.n]) || in(p[s.n], others)); s.n++) {
		s.large += p[s.n] >= 'A' && p[s.n] <= 'Z';
		s.small += p[s.n] >= 'a' && p[s.n] <= 'z';
		s.digits += is_digit(p[s.n]);
		piece = in(p[s.n], others) ? 0 : piece + 1;
		s.piece = piece > s.piece ? piece : s.piece;
	}
	return s;
}

/* Secret keys of AWS have no prefix, but a length; hashes have one case only, paths begin with a
 * slash. */
static bool looks_like_aws(const char *p, size_t n)
{
	shape s = shape_of(p, n, "/+");
	return s.n == n && n == AWS_SECRET && *p != '/' && s.large > 3 && s.small > 3 && s.digits;
}

/* Tokens of well-known makers: a prefix, then a run of letters and digits; of Hugging Face (34) and
 * by chance of others, letters of both cases alone. */
static bool looks_secret(const char *p, size_t n)
{
	static const char *const prefixes[] = {
		"sk-",    "hf_",    "ghp_",     "gho_",    "ghs_",      "github_pat_",
		"glpat-", "xoxb-",  "xoxp-",    "AKIA",    "ASIA",      "eyJ",
		"nvapi-", "pypi-",  "AIza",     "dop_v1_", "ghu_",      "ghr_",
		"gsk_",   "npm_",   "ya29.",    "xapp-",   "sk_live_",  "sk_test_",
		"xai-",   "r8_",    "SG.",      "hvs.",    "dckr_pat_", "shpat_",
		"shpss_", "whsec_", "rk_live_", "dapi",    "EAAA",      "AGE-SECRET-KEY-1"};
	if (looks_like_aws(p, n))
		return true;
	shape s = shape_of(p, n, "-_.");
	bool letters_alone = s.piece >= LETTERS_ALONE && s.large > 3 && s.small > 3;
	if (s.n < SHORTEST_TOKEN || s.large + s.small < 4 || (!s.digits && !letters_alone))
		return false;
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (!strncmp(p, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Where a value ends. */
typedef enum extent {
	NO_VALUE,
	TO_WORD,     /* of a URL, JSON or a connection string: at what separates there */
	TO_BLANK,    /* of an option: at a blank */
	TO_ARGUMENT, /* of an option that begins an argument: at NUL */
	TO_LINE      /* of a header, which may be several words */
} extent;

/* What the text read so far says about the next word. */
typedef struct reading {
	char *text;
	size_t n;
	extent value;        /* the name before it was a secret's */
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
	while (end < r->n && r->text[end] && !in(r->text[end], " \t\n\"'<>"))
		end++;
	size_t host = at;
	while (host < end && !in(r->text[host], "/?#"))
		host++;
	/* a slash in a password that was not escaped: a port has digits only */
	char *colon = memchr(r->text + at, ':', host - at);
	if (colon && colon + 1 < r->text + host && !is_digit(colon[1]))
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
	if (end >= r->n || r->text[end] != ':' || (from && !in(r->text[from - 1], " \t\n\"'=,;")) ||
	    memchr(r->text + from, '/', end - from) || memchr(r->text + from, '@', end - from))
		return 0;
	size_t at = end + 1;
	while (at < r->n && r->text[at] && !in(r->text[at], " \t\n\"'<>,;/@"))
		at++;
	if (at == end + 1 || at + 1 >= r->n || r->text[at] != '@')
		return 0;
	const char *host = r->text + at + 1;
	bool digest = r->n - at > 7 && !memcmp(host, "sha256:", 7);
	return (is_letter(*host) || is_digit(*host)) && !digest ? at : 0;
}

static size_t word_end(const reading *r, size_t at)
{
	static const char stops[] = " \t\r\n\"'=,;{}[]()&?<>|`";
	while (at < r->n && r->text[at] && !in(r->text[at], stops) &&
	       (r->text[at] != ':' || (at + 1 < r->n && r->text[at + 1] == '/')))
		at++;
	return at;
}

static bool is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && ends_with(p, n, word);
}

/* Where the value ends that begins at `from`; quotes around it go before anything else. */
static size_t value_end(const reading *r, size_t from, extent how)
{
	char before = from ? r->text[from - 1] : ' ';
	bool quoted = in(before, "\"'"), argument = !before || how == TO_ARGUMENT;
	if (!quoted && !argument && how == TO_WORD)
		return word_end(r, from);
	size_t end = from;
	for (; end < r->n && r->text[end]; end++) {
		if (quoted && r->text[end] == '\\' && end + 1 < r->n && r->text[end + 1])
			end++;
		else if (quoted ? r->text[end] == before
				: (!argument &&
				   in(r->text[end], how == TO_LINE ? "\"'\r\n" : " \t\r\n")))
			break;
	}
	/* what closes the text around it is no part of it */
	while (!quoted && !argument && end > from + 1 && in(r->text[end - 1], "\"'}])"))
		end--;
	return end;
}

static bool begins_argument(const reading *r, size_t from)
{
	return (!from || !r->text[from - 1]) && memchr(r->text, 0, r->n);
}

/* A name is followed by = or :, quotes and spaces between them; an option also by a space. */
static extent names_next(const reading *r, size_t from, size_t end)
{
	const char *word = r->text + from;
	size_t at = end, n = end - from;
	while (at < r->n && in(r->text[at], "\"' "))
		at++;
	bool assigned = at < r->n && in(r->text[at], "=:");
	bool apart = end < r->n && (!r->text[end] || in(r->text[end], " \t\n"));
	if (r->netrc && apart && (is_word(word, n, "PASSWORD") || is_word(word, n, "ACCOUNT")))
		return TO_BLANK;
	/* or by a comma, in a list of JSON */
	bool option = *word == '-' && (apart || assigned || (at < r->n && r->text[at] == ','));
	if ((!assigned && !option) || !secret_name(word, n))
		return NO_VALUE;
	if (ends_with(word, n, "COOKIE") || ends_with(word, n, "AUTHORIZATION"))
		return TO_LINE;
	if (!option)
		return TO_WORD;
	return r->text[end] == '=' && begins_argument(r, from) ? TO_ARGUMENT : TO_BLANK;
}

/* Programs and what of their letters are followed by a password; "login" is docker's, az's, ... */
static const char *letters_of(const char *word, size_t n)
{
	static const char *const programs[][2] = {
		{"SSHPASS", "p"}, {"LOGIN", "p"},      {"MYSQL", "p"},     {"MYSQLDUMP", "p"},
		{"MARIADB", "p"}, {"MONGO", "p"},      {"MONGOSH", "p"},   {"MONGODUMP", "p"},
		{"SQLCMD", "P"},  {"LDAPSEARCH", "w"}, {"REDIS-CLI", "a"}, {"OPENSSL", "kK"},
		{"HTTP", "a"},    {"HTTPS", "a"},      {"XH", "a"},        {"7Z", "p"},
		{"ZIP", "P"},     {"UNZIP", "P"},
	};
	for (size_t i = n; i > 0; i--)
		if (word[i - 1] == '/') {
			word += i, n -= i;
			break;
		}
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (is_word(word, n, programs[i][0]))
			return programs[i][1];
	return NULL;
}

/* -u, -U, --user and its kin: a login, or a name alone. */
static bool takes_login(const char *word, size_t n)
{
	static const char *const options[] = {"--USER", "--PROXY-USER", "--USERPWD", "--HTTP-USER"};
	for (size_t i = 0; i < COUNT_OF(options); i++)
		if (is_word(word, n, options[i]))
			return true;
	return is_word(word, n, "-U");
}

/* user:password or user%password; 1000:1000 is a user and a group. */
static bool is_login(const char *p, size_t n)
{
	size_t user = 0, digits = 0;
	for (; user < n && !in(p[user], ":%/ "); user++)
		digits += is_digit(p[user]);
	return user > digits && user + 1 < n && in(p[user], ":%") && p[user + 1] != '/';
}

/* "Bearer XYZ" and "Basic XYZ": the secret is the word behind the word. */
static bool is_scheme(const char *p, size_t n)
{
	return (n == 6 && ends_with(p, n, "BEARER")) || (n == 5 && ends_with(p, n, "BASIC"));
}

/* A host or folder behind which the path itself is what lets one in. */
static bool is_hook(const char *p, size_t n)
{
	return (n > 6 && !memcmp(p, "hooks.", 6)) || is_word(p, n, "WEBHOOK") ||
	       is_word(p, n, "WEBHOOKS");
}

/* Tokens that are folders of a URL's path, from the host at `at` on. The new end. */
static size_t hide_folders(reading *r, size_t at, size_t end)
{
	while (at < end) {
		const char *slash = memchr(r->text + at, '/', end - at);
		size_t stop = slash ? (size_t)(slash - r->text) : end, n = stop - at;
		if (slash && is_hook(r->text + at, n))
			return stop + 1 + hide(r, stop + 1, end - stop - 1);
		size_t kept = looks_secret(r->text + at, n) ? hide(r, at, n) : n;
		end -= n - kept;
		at += kept + 1;
	}
	return end;
}

static int hex_digit(char c)
{
	return is_digit(c)                          ? c - '0'
	       : upper(c) >= 'A' && upper(c) <= 'F' ? upper(c) - 'A' + 10
						    : -1;
}

/* A word with %40 and the like in it that holds a secret once they are decoded, or is too long to
 * tell. */
static bool hides_encoded(const reading *r, const char *word, size_t n)
{
	char plain[LONGEST_DECODED];
	size_t out = 0, decoded = 0;
	for (size_t i = 0; i < n && out < sizeof plain; i++) {
		bool coded = word[i] == '%' && n - i > 2 && hex_digit(word[i + 1]) >= 0 &&
			     hex_digit(word[i + 2]) >= 0;
		plain[out++] = coded ? (char)(hex_digit(word[i + 1]) * 16 + hex_digit(word[i + 2]))
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
	if (!ends_with(p, line, named))
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
	bool starts = !from || !r->text[from - 1] || in(r->text[from - 1], " \t\n\"'");
	if (!starts || end - from < 3 || *p != '-' || p[1] == '-')
		return 0;
	size_t all = value_end(r, from, TO_BLANK) - from;
	if (r->letters && in(p[1], r->letters))
		return 2;
	return in(p[1], "uU") && is_login(p + 2, all - 2) ? 2 : 0;
}

/* The value of a name, or a login, that begins at `from`: hidden. Its new end, 0: it is none. */
static size_t take_value(reading *r, size_t from)
{
	extent how = r->value;
	size_t n = value_end(r, from, how ? how : TO_BLANK) - from;
	const char *word = r->text + from;
	bool secret = how ? !is_harmless(word, n) : r->login && is_login(word, n);
	r->value = NO_VALUE;
	r->login = false;
	if (!secret)
		return 0;
	/* "Bearer abc": a kind, and then the secret */
	size_t kind = 0;
	while (kind < n && is_letter(word[kind]))
		kind++;
	if (how == TO_LINE && kind && kind + 1 < n && word[kind] == ' ')
		from += kind + 1, n -= kind + 1;
	return from + hide(r, from, n);
}

/* What the word says about those behind it. */
static void look_ahead(reading *r, size_t from, size_t end)
{
	const char *word = r->text + from, *letters = letters_of(word, end - from);
	size_t n = end - from;
	if (letters)
		r->letters = letters;
	r->netrc |= is_word(word, n, "MACHINE") || is_word(word, n, "LOGIN");
	r->login = takes_login(word, n);
	r->value = names_next(r, from, end);
	if (!r->value && r->letters && n == 2 && *word == '-' && in(word[1], r->letters))
		r->value = TO_BLANK;
	if (!r->value && is_scheme(word, n))
		r->value = TO_WORD;
}

/* Telegram's: the number of a bot, a colon, and what begins here. */
static bool is_bot_key(const reading *r, size_t from, size_t n)
{
	const char *p = r->text + from;
	return from >= 2 && p[-1] == ':' && is_digit(p[-2]) && n >= BOT_SECRET &&
	       !memcmp(p, "AA", 2) && shape_of(p, n, "-_").n == BOT_SECRET;
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
	if (letter) {
		from += letter;
		return from + hide(r, from, value_end(r, from, TO_BLANK) - from);
	}
	if (is_bot_key(r, from, n))
		return from + hide(r, from, BOT_SECRET);
	const char *slashes = n > 2 && !memcmp(word, "//", 2) ? word + 2 : NULL;
	for (size_t i = 0; !slashes && i + 3 <= n; i++)
		if (!memcmp(word + i, "://", 3))
			slashes = word + i + 3;
	if (looks_secret(word, n) || (memchr(word, '%', n) && hides_encoded(r, word, n)))
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
