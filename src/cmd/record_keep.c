/* --keep: how much a flight recorder keeps. */
#include <string.h>
#include <sys/statvfs.h>

#include "base/test.h"
#include "cmd/cmd.h"
#include "cmd/record.h"

#define USUAL_BYTES (1ll << 30)
#define LEAST_BYTES (16ll << 20)
#define MOST_BYTES  (1ll << 40)

static bool bytes_of(assay_str s, int64_t *out)
{
	static const struct {
		char unit;
		int shift;
	} units[] = {{'K', 10}, {'M', 20}, {'G', 30}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(units); i++)
		if (s.n > 1 && s.p[s.n - 1] == units[i].unit &&
		    assay_str_i64((assay_str){s.p, s.n - 1}, out) && *out > 0 &&
		    *out <= MOST_BYTES >> units[i].shift) {
			*out <<= units[i].shift;
			return *out >= LEAST_BYTES;
		}
	return false;
}

static bool time_of(const char *text, int64_t *ns)
{
	return strchr(text, 's') && assay_opt_time(text, ns) && *ns > 0;
}

bool assay_record_keep(const char *text, record_keep *out)
{
	*out = (record_keep){0};
	if (!text)
		return true;
	char part[32];
	assay_str rest = assay_str_of(text);
	while (rest.n) {
		assay_str s = assay_str_cut(&rest, ',');
		if (s.n >= sizeof part)
			return false;
		memcpy(part, s.p, s.n);
		part[s.n] = 0;
		if (!(!out->ns && time_of(part, &out->ns)) &&
		    !(!out->bytes && bytes_of(s, &out->bytes)))
			return false;
	}
	return out->ns || out->bytes;
}

/* Others need the memory too: without a number of bytes at most a quarter of what is free. */
void assay_record_keep_room(const recording *r, record_keep *k)
{
	struct statvfs fs;
	if (!k->ns || k->bytes)
		return;
	k->bytes = USUAL_BYTES;
	if (statvfs(r->rings, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize / 4 < (uint64_t)k->bytes)
		k->bytes = (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize / 4);
	k->bytes = k->bytes > LEAST_BYTES ? k->bytes : LEAST_BYTES;
}

TEST(what_is_kept_is_a_time_a_size_or_both)
{
	record_keep k;
	CHECK(assay_record_keep("30s", &k) && k.ns == 30000000000 && !k.bytes);
	CHECK(assay_record_keep("512M", &k) && !k.ns && k.bytes == 512ll << 20);
	CHECK(assay_record_keep("500ms,2G", &k) && k.ns == 500000000 && k.bytes == 2ll << 30);
	CHECK(assay_record_keep("1G,10s", &k) && k.ns && k.bytes);
	CHECK(assay_record_keep(NULL, &k) && !k.ns && !k.bytes);
	static const char *const wrong[] = {"",  "30",          "0s",    "-1s",   "1M",
					    "M", "5X",          "1s,2s", "1G,2G", "30m",
					    "s", "9999999999G", ",",     "30s,1K"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(wrong); i++)
		CHECK(!assay_record_keep(wrong[i], &k));
	return 0;
}
