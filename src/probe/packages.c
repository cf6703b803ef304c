/* GPU packages of the distribution, from dpkg's own text file and RPM's own database. */
#include <unistd.h>

#include "base/sqlite.h"
#include "base/test.h"
#include "probe/probe.h"

static const char *const prefixes[] = {"rocm",          "roc",
				       "hip",           "amdgpu",
				       "amdrocm",       "amdsmi",
				       "libamdhip",     "librocm",
				       "librocblas",    "librocsparse",
				       "librocrand",    "libhsa",
				       "libhip",        "miopen",
				       "rccl",          "librccl",
				       "libmiopen",     "composablekernel",
				       "cuda-",         "libcudnn",
				       "libnccl",       "libcublas",
				       "nvidia-driver", "nvidia-dkms",
				       "nvidia-kernel", "libnvidia-compute",
				       "libcupti",      "openmpi",
				       "libopenmpi",    "libibverbs"};

static bool wanted(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(prefixes); i++)
		if (assay_str_starts(name, prefixes[i]))
			return true;
	return false;
}

static void dpkg(assay_ctx *c)
{
	assay_str text, name = {0}, version = {0};
	bool installed = false;
	assay_cause cause =
		assay_root_read(&c->root, c->a, "/var/lib/dpkg/status", 64 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE && cause != ASSAY_CAUSE_MISSING)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "assay.system_packages: /var/lib/dpkg/status %s",
				 assay_cause_text(cause));
	while (text.n || name.n) {
		assay_str line = assay_str_cut(&text, '\n');
		if (assay_str_starts(line, "Package: ")) {
			name = (assay_str){line.p + 9, line.n - 9};
		} else if (assay_str_starts(line, "Status: ")) {
			installed = assay_str_ends(line, " installed");
		} else if (assay_str_starts(line, "Version: ")) {
			version = (assay_str){line.p + 9, line.n - 9};
		} else if (!line.n) {
			if (installed && name.n && version.n && wanted(name))
				assay_ctx_pair(c, &c->env->system_packages, assay_dup(c->a, name),
					       assay_dup(c->a, version));
			name = version = (assay_str){0};
			installed = false;
		}
	}
}

/* A text of an RPM header: two big-endian counts, 16 bytes an entry (tag, type, offset, count),
 * then the data. */
static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static assay_str rpm_text(const unsigned char *blob, size_t n, uint32_t tag)
{
	enum { STRING = 6, ENTRY = 16 };
	size_t entries = n >= 8 ? big_endian(blob) : 0;
	size_t data = 8 + entries * ENTRY;
	if (data > n)
		return (assay_str){"", 0};
	for (size_t i = 0; i < entries; i++) {
		const unsigned char *e = blob + 8 + i * ENTRY;
		size_t at = data + big_endian(e + 8);
		if (big_endian(e) == tag && big_endian(e + 4) == STRING && at < n)
			return (assay_str){(const char *)blob + at,
					   strnlen((const char *)blob + at, n - at)};
	}
	return (assay_str){"", 0};
}

static void rpm_package(assay_ctx *c, const unsigned char *blob, size_t n)
{
	enum { NAME = 1000, VERSION = 1001, RELEASE = 1002 };
	assay_str name = rpm_text(blob, n, NAME), version = rpm_text(blob, n, VERSION),
		  release = rpm_text(blob, n, RELEASE);
	if (name.n && version.n && wanted(name))
		assay_ctx_pair(c, &c->env->system_packages, assay_dup(c->a, name),
			       assay_printf(c->a, "%.*s-%.*s", (int)version.n, version.p,
					    (int)release.n, release.p));
}

/* Opened through its descriptor, so that a root's links lead nowhere else, and as immutable:
 * nothing is written beside it. */
static void rpm(assay_ctx *c, const char *path)
{
	struct stat st;
	assay_cause cause;
	sqlite3 *db = NULL;
	sqlite3_stmt *rows = NULL;
	assay_undo of_fd, of_db;
	int fd = assay_root_fd(&c->root, path, &st, &cause);
	if (fd < 0)
		return;
	assay_undo_fd(&of_fd, fd);
	const char *uri = assay_printf(c->a, "file:/proc/self/fd/%d?immutable=1", fd);
	bool ok = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) ==
		  SQLITE_OK;
	assay_sqlite_guard(&of_db, db);
	ok = ok &&
	     sqlite3_prepare_v2(db, "SELECT blob FROM Packages", -1, &rows, NULL) == SQLITE_OK;
	int step = SQLITE_ROW;
	while (ok && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		const unsigned char *blob = sqlite3_column_blob(rows, 0);
		if (blob)
			rpm_package(c, blob, (size_t)sqlite3_column_bytes(rows, 0));
	}
	if (!ok || step != SQLITE_DONE)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.system_packages: %s: %s", path,
				 sqlite3_errmsg(db));
	if (assay_root_stat(&c->root, assay_printf(c->a, "%s-wal", path), &st) && st.st_size)
		assay_ctx_reason(
			c, ASSAY_LEVEL_EXPECTED,
			"assay.system_packages: the newest changes of %s are in its -wal, which was not read",
			path);
	sqlite3_finalize(rows);
	assay_undo_drop(&of_db);
	assay_undo_drop(&of_fd);
	sqlite3_close(db);
	close(fd);
}

static void run(assay_ctx *c)
{
	dpkg(c);
	rpm(c, "/var/lib/rpm/rpmdb.sqlite");
	rpm(c, "/usr/lib/sysimage/rpm/rpmdb.sqlite");
}

const assay_probe assay_probe_packages = {.name = "system_packages", .run = run};

TEST(headers_of_rpm_are_read_within_their_bounds)
{
	static const unsigned char blob[] = "\0\0\0\1\0\0\0\5"
					    "\0\0\3\xe8\0\0\0\6\0\0\0\0\0\0\0\1"
					    "rccl";
	assay_str name = rpm_text(blob, sizeof blob, 1000);
	CHECK(assay_str_is(name, "rccl") && !rpm_text(blob, sizeof blob, 1001).n);
	for (size_t n = 0; n < sizeof blob; n++)
		CHECK(rpm_text(blob, n, 1000).n <= n);
	return 0;
}
