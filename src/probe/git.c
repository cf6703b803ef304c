/* Index format: git's Documentation/gitformat-index. */
#include "probe/git.h"

#include <stdio.h>

#include "base/num.h"
#include "base/test.h"

enum { INDEX_MAX = 256 << 20, ENTRY_FIXED = 62, GITLINK = 0160000, REF_DEPTH = 5 };

static bool is_sha(assay_str s)
{
	return assay_str_is_hex(s, 40, 40) || assay_str_is_hex(s, 64, 64);
}

/* The git folder of a checkout: .git itself, or where the file .git points. */
static char *git_dir(const assay_root *root, assay_arena *a, const char *dir)
{
	char *at = assay_printf(a, "%s/.git", dir), *text;
	if (assay_root_is_dir(root, at))
		return at;
	if (assay_root_text(root, a, at, &text) != ASSAY_CAUSE_NONE || strncmp(text, "gitdir:", 7))
		return NULL;
	assay_str to = assay_str_trim(assay_str_of(text + 7));
	return *to.p == '/' ? assay_dup(a, to) : assay_printf(a, "%s/%.*s", dir, (int)to.n, to.p);
}

/* A worktree keeps its branches in the main repository. */
static char *common_dir(const assay_root *root, assay_arena *a, const char *git)
{
	char *text;
	if (assay_root_text(root, a, assay_printf(a, "%s/commondir", git), &text) !=
	    ASSAY_CAUSE_NONE)
		return assay_dup(a, assay_str_of(git));
	return *text == '/' ? text : assay_printf(a, "%s/%s", git, text);
}

static char *packed_ref(const assay_root *root, assay_arena *a, const char *common, assay_str ref)
{
	assay_str text;
	const char *path = assay_printf(a, "%s/packed-refs", common);
	if (assay_root_read(root, a, path, 64 << 20, &text) != ASSAY_CAUSE_NONE)
		return NULL;
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n'), sha = assay_str_cut(&line, ' ');
		if (is_sha(sha) && assay_str_eq(assay_str_trim(line), ref))
			return assay_dup(a, sha);
	}
	return NULL;
}

static bool safe_ref(assay_str ref)
{
	return assay_str_starts(ref, "refs/") && assay_str_find(ref, "..") < 0;
}

char *assay_git_head(const assay_root *root, assay_arena *a, const char *dir)
{
	char *git = git_dir(root, a, dir), *text;
	if (!git ||
	    assay_root_text(root, a, assay_printf(a, "%s/HEAD", git), &text) != ASSAY_CAUSE_NONE)
		return NULL;
	char *common = common_dir(root, a, git);
	for (int depth = 0; depth < REF_DEPTH; depth++) {
		assay_str s = assay_str_of(text);
		if (is_sha(s))
			return text;
		if (!assay_str_starts(s, "ref:"))
			return NULL;
		assay_str ref = assay_str_trim((assay_str){s.p + 4, s.n - 4});
		if (!safe_ref(ref))
			return NULL;
		const char *path = assay_printf(a, "%s/%.*s", common, (int)ref.n, ref.p);
		if (assay_root_text(root, a, path, &text) != ASSAY_CAUSE_NONE)
			return packed_ref(root, a, common, ref);
	}
	return NULL;
}

/* Where version 4 says how many bytes of the last name to drop: git's offset encoding. */
static bool prefix_drop(assay_str s, size_t *at, size_t *drop)
{
	size_t v = 0;
	for (int i = 0; *at < s.n && i < 9; i++) {
		unsigned char c = (unsigned char)s.p[(*at)++];
		v = (v << 7) | (c & 127);
		if (!(c & 128)) {
			*drop = v;
			return true;
		}
		v++;
	}
	return false;
}

struct index_walk {
	assay_str s;
	size_t at;
	uint32_t version;
	char name[4096];
	size_t name_n;
};

/* The entry's name; the walk then stands on the next entry. False when the index is broken. */
static bool next_entry(struct index_walk *w, size_t *entry)
{
	size_t start = w->at, drop = w->name_n;
	if (w->s.n < start || w->s.n - start < ENTRY_FIXED)
		return false;
	uint32_t flags = (uint32_t)(unsigned char)w->s.p[start + 60] << 8 |
			 (unsigned char)w->s.p[start + 61];
	size_t at = start + ENTRY_FIXED + (w->version > 2 && (flags & 0x4000) ? 2 : 0);
	if (w->version == 4 && !prefix_drop(w->s, &at, &drop))
		return false;
	if (at >= w->s.n || drop > w->name_n)
		return false;
	size_t keep = w->version == 4 ? w->name_n - drop : 0;
	const char *end = memchr(w->s.p + at, 0, w->s.n - at);
	size_t n = end ? (size_t)(end - w->s.p) - at : sizeof w->name;
	if (keep + n >= sizeof w->name)
		return false;
	memcpy(w->name + keep, w->s.p + at, n);
	w->name_n = keep + n;
	/* versions 2 and 3 pad with NULs to a multiple of eight */
	size_t used = at + n - start;
	w->at = w->version == 4 ? at + n + 1 : start + ((used + 8) & ~(size_t)7);
	*entry = start;
	return true;
}

bool assay_git_index_link(assay_str index, const char *path, char hex[41])
{
	struct index_walk w = {.s = index, .at = 12};
	if (index.n < 12 || memcmp(index.p, "DIRC", 4))
		return false;
	w.version = assay_big_endian(index.p + 4, 4);
	uint32_t entries = assay_big_endian(index.p + 8, 4);
	if (w.version < 2 || w.version > 4)
		return false;
	for (uint32_t i = 0; i < entries; i++) {
		size_t e;
		if (!next_entry(&w, &e))
			return false;
		if (!assay_str_eq((assay_str){w.name, w.name_n}, assay_str_of(path)))
			continue;
		if ((assay_big_endian(index.p + e + 24, 4) & 0170000) != GITLINK)
			return false;
		for (size_t k = 0; k < 20; k++)
			snprintf(hex + 2 * k, 3, "%02x", (unsigned char)index.p[e + 40 + k]);
		return true;
	}
	return false;
}

char *assay_git_link(const assay_root *root, assay_arena *a, const char *dir, const char *submodule)
{
	char *git = git_dir(root, a, dir), hex[41];
	assay_str index;
	if (!git || assay_root_read(root, a, assay_printf(a, "%s/index", git), INDEX_MAX, &index) !=
			    ASSAY_CAUSE_NONE)
		return NULL;
	return assay_git_index_link(index, submodule, hex) ? assay_dup(a, assay_str_of(hex)) : NULL;
}

/* One entry at out: 62 fixed bytes, then the name. */
static size_t put_entry(char *out, uint32_t mode, char sha, const char *name, uint32_t version,
			char drop)
{
	size_t n = ENTRY_FIXED;
	memset(out, 0, 128);
	out[24] = (char)(mode >> 24), out[25] = (char)(mode >> 16), out[26] = (char)(mode >> 8);
	out[27] = (char)mode;
	memset(out + 40, sha, 20);
	if (version == 4)
		out[n++] = drop;
	strcpy(out + n, name);
	n += strlen(name) + 1;
	return version == 4 ? n : (n + 7) & ~(size_t)7;
}

static size_t put_index(char *out, uint32_t version)
{
	memcpy(out, "DIRC\0\0\0\0\0\0\0\2", 12);
	out[7] = (char)version;
	size_t n = 12;
	n += put_entry(out + n, 0100644, 0x11, "third_party/a", version, 0);
	return n + put_entry(out + n, GITLINK, 0x2a, version == 4 ? "fbgemm" : "third_party/fbgemm",
			     version, 1);
}

TEST(gitlinks_are_found_in_every_index_version)
{
	for (uint32_t version = 2; version <= 4; version++) {
		char buf[512] = {0}, hex[41];
		size_t n = put_index(buf, version);
		assay_str index = {buf, n};
		CHECK(assay_git_index_link(index, "third_party/fbgemm", hex));
		CHECK(!strcmp(hex, "2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a"));
		CHECK(!assay_git_index_link(index, "third_party/a", hex)); /* a file, no gitlink */
		CHECK(!assay_git_index_link(index, "third_party/none", hex));
		for (size_t cut = 0; cut < n; cut++)
			assay_git_index_link((assay_str){buf, cut}, "third_party/fbgemm", hex);
	}
	return 0;
}
