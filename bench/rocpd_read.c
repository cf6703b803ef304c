/* rocpd: our reader beside the query its users run. usage: rocpd_read [DISPATCHES]
 * Writes a database of that many kernel dispatches (one event each) to a temporary file, reads it
 * into the model, then asks SQLite for time by kernel name, joined as the top_kernels view does. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "read/reader.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char make[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
	"CREATE TABLE rocpd_info_process_a(id INTEGER PRIMARY KEY, pid);"
	"CREATE TABLE rocpd_info_kernel_symbol_a(id INTEGER PRIMARY KEY, display_name);"
	"CREATE TABLE rocpd_event_a(id INTEGER PRIMARY KEY, guid, category_id, stack_id,"
	" parent_stack_id, correlation_id, extdata);"
	"CREATE TABLE rocpd_kernel_dispatch_a(id INTEGER PRIMARY KEY, guid, nid, pid, tid, "
	"agent_id,"
	" kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", private_segment_size,"
	" group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"
	" grid_size_y, grid_size_z, event_id);"
	"INSERT INTO rocpd_info_process_a VALUES(1, 1);"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
	" INSERT INTO rocpd_info_kernel_symbol_a SELECT i, 'kernel number ' || i FROM n;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %lld)"
	" INSERT INTO rocpd_event_a SELECT i, 'guid', 1, i, i, 0, '{}' FROM n;"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %lld)"
	" INSERT INTO rocpd_kernel_dispatch_a SELECT i, 'guid', 1, 1, 1, 2, 1 + i %% 500, i, 1, i "
	"%% 4,"
	" 1000000000 + i * 10000, 1000000000 + i * 10000 + 5000 + i %% 77, 0, 0, 256, 1, 1, 65536, "
	"1,"
	" 1, i FROM n; COMMIT";
static const char ask[] =
	"SELECT s.display_name, count(*), sum(k.\"end\" - k.start) t FROM rocpd_kernel_dispatch_a "
	"k "
	"JOIN rocpd_info_kernel_symbol_a s ON s.id = k.kernel_id GROUP BY 1 ORDER BY t DESC";

int main(int argc, char **argv)
{
	long long n = argc > 1 ? atoll(argv[1]) : 1000000;
	char path[] = "/tmp/rocpd-bench-XXXXXX";
	sqlite3 *sql = NULL;
	close(mkstemp(path));
	sqlite3_open(path, &sql);
	char *text = sqlite3_mprintf(make, n, n);
	if (sqlite3_exec(sql, text, NULL, NULL, NULL) != SQLITE_OK)
		return fprintf(stderr, "%s\n", sqlite3_errmsg(sql)), 1;
	sqlite3_free(text);

	assay_err err = {0};
	assay_run *run = assay_run_new();
	double t0 = now();
	bool ok = assay_read_path(run, path, &err);
	double ours = now() - t0;
	t0 = now();
	sqlite3_exec(sql, ask, NULL, NULL, NULL);
	double theirs = now() - t0;
	printf("rocpd_read dispatches %lld rows_kept %zu assay_s %.3f sqlite_top_kernels_s %.3f\n",
	       n, run->part.t.gpu.n, ours, theirs);
	assay_run_free(run);
	sqlite3_close(sql);
	unlink(path);
	return ok ? 0 : (fprintf(stderr, "%s\n", err.text), 1);
}
