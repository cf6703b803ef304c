/* Format: glibc's sysdeps/generic/dl-cache.h, "glibc-ld.so.cache1.1": a header of 48 bytes, rows of
 * 24, then the strings the rows' offsets point to. The older format before it, when there is one,
 * is the text "ld.so-1.7.0" with rows of 12 bytes; the new header follows it at the next multiple
 * of 8. */
#include "probe/ldcache.h"

#include "base/test.h"

enum { HEADER = 48, ROW = 24, OLD_HEADER = 16, OLD_ROW = 12 };
static const char magic[] = "glibc-ld.so.cache1.1";
static const char old_magic[] = "ld.so-1.7.0";

static uint32_t u32(assay_str s, size_t at)
{
	uint32_t v = 0;
	if (at <= s.n && s.n - at >= 4)
		memcpy(&v, s.p + at, 4);
	return v;
}

/* The part that starts with the new header. */
static assay_str new_part(assay_str s)
{
	if (assay_str_starts(s, old_magic)) {
		uint64_t skip = OLD_HEADER + (uint64_t)u32(s, 12) * OLD_ROW;
		skip = (skip + 7) & ~7ull;
		s = skip < s.n ? (assay_str){s.p + skip, s.n - (size_t)skip} : (assay_str){"", 0};
	}
	return assay_str_starts(s, magic) && s.n >= HEADER ? s : (assay_str){"", 0};
}

static assay_str text_at(assay_str s, uint32_t at)
{
	const char *end = at < s.n ? memchr(s.p + at, 0, s.n - at) : NULL;
	return end ? (assay_str){s.p + at, (size_t)(end - s.p) - at} : (assay_str){"", 0};
}

bool assay_ldcache_next(assay_str cache, size_t *at, assay_str *soname, assay_str *path)
{
	assay_str s = new_part(cache);
	uint32_t rows = s.n ? u32(s, 20) : 0;
	while (*at < rows && (uint64_t)HEADER + ((uint64_t)*at + 1) * ROW <= s.n) {
		size_t row = HEADER + *at * ROW;
		(*at)++;
		/* flags: low byte 3 is an ELF libc6 library, the next byte the machine (3 is
		 * x86-64, 10 AArch64); 0 there is a 32-bit one */
		if (!(u32(s, row) & 0xff00))
			continue;
		*soname = text_at(s, u32(s, row + 4));
		*path = text_at(s, u32(s, row + 8));
		if (soname->n && path->n)
			return true;
	}
	return false;
}

assay_str assay_ldcache_find(assay_str cache, const char *soname)
{
	size_t at = 0;
	assay_str name, path;
	while (assay_ldcache_next(cache, &at, &name, &path))
		if (assay_str_is(name, soname))
			return path;
	return (assay_str){"", 0};
}

static size_t put_cache(char *out, bool old)
{
	size_t n = 0;
	if (old) {
		memcpy(out, old_magic, sizeof old_magic);
		memcpy(out + 12, &(uint32_t){1}, 4);
		n = 32; /* 16 + 12, to a multiple of 8 */
	}
	char *p = out + n;
	static const char strings[] = "libx.so.1\0/lib32/libx.so.1\0/lib/libx.so.1.2";
	memcpy(p, magic, sizeof magic - 1);
	memcpy(p + 20, &(uint32_t){2}, 4);
	const uint32_t base = HEADER + 2 * ROW;
	const uint32_t rows[2][3] = {{0x0003, base, base + 10}, {0x0303, base, base + 27}};
	for (size_t i = 0; i < 2; i++)
		memcpy(p + HEADER + i * ROW, rows[i], sizeof rows[i]);
	memcpy(p + base, strings, sizeof strings);
	return n + base + sizeof strings;
}

TEST(loader_cache_is_read_in_both_layouts)
{
	for (int old = 0; old < 2; old++) {
		char buf[512] = {0};
		size_t n = put_cache(buf, old);
		CHECK(assay_str_is(assay_ldcache_find((assay_str){buf, n}, "libx.so.1"),
				   "/lib/libx.so.1.2"));
		CHECK(!assay_ldcache_find((assay_str){buf, n}, "liby.so").n);
		for (size_t cut = 0; cut < n; cut++)
			assay_ldcache_find((assay_str){buf, cut}, "libx.so.1");
	}
	return 0;
}
