/* What secrets and their names look like. A secret of a maker that is not listed is known by how
 * mixed its letters and digits are; a bare hex number is a digest only where a name says so. */
#include "wire/secret_look.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
	SHORTEST_TOKEN = 12,
	SHORTEST_RUN = 16,
	SHORTEST_RANDOM = 20,
	SHORTEST_HEX = 32,
	LETTERS_ALONE = 20,
	AWS_SECRET = 40
};

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

bool assay_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool assay_is_letter(char c)
{
	return upper(c) >= 'A' && upper(c) <= 'Z';
}

bool assay_is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

int assay_hex_digit(char c)
{
	return assay_is_digit(c)                    ? c - '0'
	       : upper(c) >= 'A' && upper(c) <= 'F' ? upper(c) - 'A' + 10
						    : -1;
}

bool assay_ends_with(const char *p, size_t n, const char *word)
{
	size_t w = strlen(word);
	for (size_t i = 0; n >= w && i < w; i++)
		if (upper(p[n - w + i]) != word[i])
			return false;
	return n >= w;
}

bool assay_is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && assay_ends_with(p, n, word);
}

bool assay_is_word_of(const char *p, size_t n, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (assay_is_word(p, n, words[i]))
			return true;
	return false;
}

static bool ends_with_one_of(const char *p, size_t n, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (assay_ends_with(p, n, words[i]))
			return true;
	return false;
}

/* One part of a name between dashes, underscores and dots; the last one says what the value is. */
static assay_secret_kind kind_of_part(const char *p, size_t n, bool alone, bool last)
{
	static const char *const numbers[] = {"PASSWORD",  "PASSWD",   "PASSPHRASE", "PASSCODE",
					      "PASSWORDS", "SSHPASS",  "DBPASS",     "USERPASS",
					      "ROOTPASS",  "ADMINPASS"};
	static const char *const whole_numbers[] = {"PASS", "PWD", "PW", "OTP", "TOTP", "MFA"};
	static const char *const ends[] = {"KEY",       "TOKEN",         "SECRET",      "AUTH",
					   "COOKIE",    "CREDENTIAL",    "CREDENTIALS", "WEBHOOK",
					   "SIGNATURE", "BEARER",        "CREDS",       "CRED",
					   "JWT",       "AUTHORIZATION", "KEYS",        "TOKENS",
					   "SECRETS",   "SESSIONID",     "SESSID"};
	static const char *const whole[] = {"SIG", "PAT", "SALT", "SIGNING"};
	/* PWD alone is the folder a shell stands in */
	if (alone && n == 3 && !memcmp(p, "PWD", 3))
		return ASSAY_SECRET_NONE;
	if (ends_with_one_of(p, n, numbers, COUNT_OF(numbers)) ||
	    assay_is_word_of(p, n, whole_numbers, COUNT_OF(whole_numbers)))
		return ASSAY_SECRET_NUMBER;
	bool word = ends_with_one_of(p, n, ends, COUNT_OF(ends)) ||
		    assay_is_word_of(p, n, whole, COUNT_OF(whole)) ||
		    (last && (assay_is_word(p, n, "PRIVATE") || assay_is_word(p, n, "SESSION")));
	return word                                 ? ASSAY_SECRET_WORD
	       : last && assay_is_word(p, n, "PIN") ? ASSAY_SECRET_PIN
						    : ASSAY_SECRET_NONE;
}

assay_secret_kind assay_secret_name(const char *name, size_t n)
{
	assay_secret_kind kind = ASSAY_SECRET_NONE;
	for (; n && *name == '-'; n--)
		name++;
	for (size_t at = 0; at < n;) {
		size_t end = at;
		while (end < n && !assay_is_one_of(name[end], "-_."))
			end++;
		assay_secret_kind part = kind_of_part(name + at, end - at, end - at == n, end == n);
		kind = part > kind ? part : kind;
		at = end + 1;
	}
	return kind;
}

bool assay_is_harmless(const char *p, size_t n, assay_secret_kind kind)
{
	static const char *const words[] = {"TRUE", "FALSE", "ON",   "OFF", "YES",
					    "NO",   "NONE",  "NULL", "AUTO"};
	size_t digits = 0, most = kind == ASSAY_SECRET_WORD ? 6 : 3;
	while (digits < n && assay_is_digit(p[digits]))
		digits++;
	return !n || (kind == ASSAY_SECRET_PIN && digits < n) ||
	       assay_is_word_of(p, n, words, COUNT_OF(words)) || (digits == n && n <= most) ||
	       (n == 3 && !memcmp(p, "***", 3));
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
	for (; s.n < n && (assay_is_letter(p[s.n]) || assay_is_digit(p[s.n]) ||
			   assay_is_one_of(p[s.n], others));
	     s.n++) {
		s.large += p[s.n] >= 'A' && p[s.n] <= 'Z';
		s.small += p[s.n] >= 'a' && p[s.n] <= 'z';
		s.digits += assay_is_digit(p[s.n]);
		piece = assay_is_one_of(p[s.n], others) ? 0 : piece + 1;
		s.piece = piece > s.piece ? piece : s.piece;
	}
	return s;
}

bool assay_is_run(const char *p, size_t n, const char *others)
{
	return shape_of(p, n, others).n == n;
}

/* Secret keys of AWS have no prefix, but a length; hashes have one case only, paths begin with a
 * slash. */
static bool looks_like_aws(const char *p, size_t n)
{
	shape s = shape_of(p, n, "/+");
	return s.n == n && n == AWS_SECRET && *p != '/' && s.large > 3 && s.small > 3 && s.digits;
}

/* Capitals, small letters or digits. */
static int sort_of(char c)
{
	return assay_is_digit(c) ? 0 : c == upper(c) ? 1 : 2;
}

/* Of two neighbours drawn from 62 letters and digits 62 % are of different sorts, of those in names
 * of kernels and classes at most 40 %. C++ writes names as _Z...; that is what they are. */
bool assay_looks_random(const char *p, size_t n)
{
	size_t changes = 0, length = 0, of[3] = {0};
	if (n > 1 && p[0] == '_' && p[1] == 'Z')
		return false;
	for (size_t i = 0; i < n && !assay_is_one_of(p[i], "/:"); i++) {
		if (!assay_is_letter(p[i]) && !assay_is_digit(p[i])) {
			length = changes = of[0] = of[1] = of[2] = 0;
			continue;
		}
		changes += length && sort_of(p[i]) != sort_of(p[i - 1]);
		of[sort_of(p[i])]++;
		if (++length >= SHORTEST_RANDOM && 20 * changes >= 9 * (length - 1) && of[0] > 1 &&
		    of[1] > 2 && of[2] > 2)
			return true;
	}
	return false;
}

bool assay_is_bare_hex(const char *p, size_t n)
{
	size_t digits = 0;
	for (size_t i = 0; i < n; i++) {
		if (assay_hex_digit(p[i]) < 0)
			return false;
		digits += assay_is_digit(p[i]);
	}
	return n >= SHORTEST_HEX && digits && digits < n;
}

bool assay_names_digest(const char *name, size_t n)
{
	static const char *const ends[] = {
		"COMMIT", "SHA",  "SHA1",  "SHA256",   "SHA384",      "SHA512", "MD5",
		"HASH",   "UUID", "GUID",  "REVISION", "FINGERPRINT", "DIGEST", "ID",
		"SUM",    "REV",  "BUILD", "VERSION",  "TAG",         "REF",    "HEAD"};
	return ends_with_one_of(name, n, ends, COUNT_OF(ends));
}

/* Tokens of well-known makers: a prefix, then a run of letters and digits; of Hugging Face (34) and
 * by chance of others, letters of both cases alone. */
static bool has_known_prefix(const char *p, size_t n)
{
	static const char *const prefixes[] = {
		"sk-",       "hf_",         "ghp_",   "gho_",
		"ghs_",      "github_pat_", "glpat-", "xoxb-",
		"xoxp-",     "AKIA",        "ASIA",   "eyJ",
		"nvapi-",    "pypi-",       "AIza",   "dop_v1_",
		"ghu_",      "ghr_",        "gsk_",   "npm_",
		"ya29.",     "xapp-",       "xai-",   "sk_live_",
		"sk_test_",  "r8_",         "SG.",    "hvs.",
		"shpat_",    "shpss_",      "whsec_", "rk_live_",
		"dckr_pat_", "dapi",        "EAAA",   "xoxe",
		"glptt-",    "gldt-",       "glrt-",  "tskey-",
		"lin_api_",  "sq0atp-",     "LTAI",   "pk_live_",
		"figd_",     "tfp_",        "pplx-",  "ntn_",
		"sbp_",      "rpa_",        "ops_",   "lsv2_",
		"tgp_v1_",   "wandb_v1",    "gAAAAA", "ATATT",
		"AKID",      "dp.st.",      "dp.pt.", "hfr_",
		"hvb.",      "hvr.",        "cfut_",  "AGE-SECRET-KEY-1"};
	/* words that names begin with, too: nothing but a long run follows */
	static const char *const words[] = {"key-", "secret_", "secret-", "pat_",
					    "fw_",  "sk_",     "token_",  "token-",
					    "s.",   "api_",    "vercel_", "rnd_"};
	shape s = shape_of(p, n, "-_.");
	bool letters_alone = s.piece >= LETTERS_ALONE && s.large > 3 && s.small > 3;
	if (s.n < SHORTEST_TOKEN || s.large + s.small < 4 || (!s.digits && !letters_alone))
		return false;
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (!strncmp(p, prefixes[i], strlen(prefixes[i])))
			return true;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t w = strlen(words[i]);
		if (!strncmp(p, words[i], w) && s.n - w >= SHORTEST_RUN && s.piece == s.n - w)
			return true;
	}
	return false;
}

bool assay_looks_secret(const char *p, size_t n)
{
	return looks_like_aws(p, n) || has_known_prefix(p, n) || assay_looks_random(p, n);
}
