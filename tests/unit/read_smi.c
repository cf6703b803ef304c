/* What is read of tables of telemetry, as each tool writes them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "read/reader.h"
#include "read/smi_time.h"

static assay_run *read_text(const char *text, size_t n)
{
	return assay_read_bytes(&assay_reader_smi, text, n);
}

static assay_run *read_z(const char *text)
{
	return read_text(text, strlen(text));
}

/* How many samples of that name a GPU has; the last one's time and value. */
static size_t samples(const assay_run *run, int64_t gpu, const char *name, int64_t *ts,
		      double *value)
{
	const assay_counter_table *c = &run->part.t.counter;
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (run->part.t.track.pid[c->track[i]] != gpu ||
		    strcmp(assay_z(run, c->name[i]), name))
			continue;
		n++;
		*ts = c->ts[i];
		*value = c->value[i];
	}
	return n;
}

#define ISSUES(run, id) ((run)->part.issues[ASSAY_ISSUE_##id])
#define IS(run, gpu, name, count, want)                                                            \
	(samples(run, gpu, name, &ts, &v) == (count) && (double)v == (want))

TEST(columns_of_collectors_are_known_by_their_other_names)
{
	assay_run *run =
		read_z("timestamp,gpu,GPU_USE,VRAM_USED_GB,rocm_version\n"
		       "1700000000,0,80,2,\n1700000000,1,20,1,6.2.1\n1700000001,0,90,3,6.2.1\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 2, 90) && IS(run, 1, "util_pct", 1, 20));
	CHECK(IS(run, 0, "mem_used_bytes", 2, 3221225472.0));
	CHECK(assay_str_is(assay_meta_get(run, "rocm_version"), "6.2.1"));
	assay_run_free(run);
	return 0;
}

TEST(a_table_of_one_gpu_needs_no_number_where_all_of_its_columns_are_known)
{
	assay_run *run = read_z("timestamp,gfx_util,vram_used,rocm_version\n"
				"1700000000,80,1024,6.2.1\n1700000001,90,2048,6.2.1\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, -1, "util_pct", 2, 90) && ts == 1700000001 * smi_second);
	CHECK(IS(run, -1, "mem_used_bytes", 2, 2147483648.0));
	assay_run_free(run);
	static const char *const others[] = {"timestamp,gfx_util\n1,80\n",
					     "timestamp,gfx_util,vram_used,loss\n1,80,1024,3\n"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++)
		CHECK(assay_reader_smi.sniff(assay_str_of(others[i])) == 0);
	return 0;
}

TEST(zeros_that_a_crash_left_behind_cost_a_row)
{
	static const char text[] = "timestamp,gfx_util,vram_used,rocm_version\n"
				   "1700000000,80,1024,6.2.1\n1700000001,90,2048,6.2.1\n"
				   "17000\0\0\0\0\0\0\0\0\0";
	CHECK(assay_reader_smi.sniff((assay_str){text, sizeof text}) == 80);
	assay_run *run = read_text(text, sizeof text);
	int64_t ts;
	double v;
	CHECK(IS(run, -1, "util_pct", 2, 90) && ISSUES(run, truncated) == 1);
	assay_run_free(run);
	CHECK(!assay_reader_smi.sniff(
		(assay_str){"\0timestamp,gfx_util,vram_used,rocm_version\n", 43}));
	return 0;
}

TEST(dcgm_tables_are_read_by_gpu)
{
	static const char text[] =
		"#Entity   GRACT        SMACT        DRAMA        FBUSD    POWER    SMCLK    XIDER    \n"
		"ID                                               C                           \n"
		"GPU 0     N/A          N/A          N/A          100      70.5     210      0 \n"
		"GPU 10    0.912        0.884        0.421        18342    241.300  1980     0 \n"
		"GPU-I 3   0.5          0.5          0.5          1        1        1        0 \n"
		"#Entity   GRACT        SMACT        DRAMA        FBUSD    POWER    SMCLK    XIDER    \n"
		"ID                                               C                           \n"
		"GPU 10    0.918        1.000        0.430        18355    243.1    1980     79 \n"
		"\n\ndmon was stopped due to receiving a signal\n";
	CHECK(assay_reader_smi.sniff(ASSAY_S(text)) == 80);
	assay_run *run = read_z(text);
	int64_t ts;
	double v;
	CHECK(IS(run, 10, "sm_active_pct", 2, 100) && ts == 1);
	CHECK(IS(run, 10, "mem_used_bytes", 2, 18355.0 * 1048576));
	CHECK(IS(run, 10, "clock_gfx_mhz", 2, 1980) && IS(run, 0, "power_watts", 1, 70.5));
	CHECK(IS(run, 10, "XIDER", 2, 79) && !samples(run, 0, "sm_active_pct", &ts, &v));
	CHECK_EQ(ISSUES(run, other_table), 1);
	CHECK_EQ(ISSUES(run, repeated_header), 1);
	CHECK_EQ(ISSUES(run, bad_syntax), 1);
	CHECK(assay_str_is(assay_meta_get(run, "telemetry_tool"), "dcgmi dmon"));
	assay_run_free(run);
	return 0;
}

TEST(times_in_front_of_dcgm_tables_are_times)
{
	assay_run *run = read_z("[2026-11-15 02:20:04.5] #Entity   SMACT\n"
				"[2026-11-15 02:20:04.5] ID\n"
				"[2026-11-15 02:20:05.472] GPU 0     0.25\n");
	int64_t ts;
	double v;
	CHECK(IS(run, 0, "sm_active_pct", 1, 25) && ts == 1794709205472000000);
	CHECK(assay_str_is(assay_meta_get(run, "telemetry_clock"), "local"));
	assay_run_free(run);
	return 0;
}

TEST(amd_monitor_watch_repeats_its_header_and_has_a_banner)
{
	assay_run *run =
		read_z("'CTRL' + 'C' to stop watching output:\r\n"
		       "timestamp,gpu,power_usage,gfx,gfx_clock,mem,mem_clock,vram_used,pviol\r\n"
		       "1700000000,0,300,97,2100,40,900,1024,\"  5 \"\r\n"
		       "1700000000,1,N/A,0,65535,0,900,283,N/A\r\n"
		       "\r\n"
		       "timestamp,gpu,power_usage,gfx,gfx_clock,mem,mem_clock,vram_used,pviol\r\n"
		       "1700000001,0,310,98,2100,41,900,2048,6\r\n\r\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 2, 98) && ts == 1700000001 * smi_second);
	CHECK(IS(run, 0, "power_watts", 2, 310) && IS(run, 1, "util_pct", 1, 0));
	CHECK(IS(run, 0, "mem_used_bytes", 2, 2147483648.0) && IS(run, 0, "mem_util_pct", 2, 41));
	CHECK(IS(run, 0, "pviol", 2, 6) && samples(run, 1, "power_watts", &ts, &v) == 0);
	CHECK(samples(run, 1, "clock_gfx_mhz", &ts, &v) == 0);
	CHECK_EQ(ISSUES(run, repeated_header), 1);
	CHECK_EQ(ISSUES(run, bad_syntax), 1);
	CHECK(run->part.t.source.epoch[0] == 1 && run->part.t.source.base[0] == 0);
	CHECK_EQ(run->part.t.source.records[0], 3);
	assay_run_free(run);
	return 0;
}

TEST(amd_monitor_process_tables_are_skipped_and_counted)
{
	assay_run *run =
		read_z("gpu,power_usage,gfx,vram_used\n0,300,97,1024\n1,301,98,1025\n\n"
		       "gpu,name,pid,gtt_mem,vram_mem\n0,python,12,0,100\n1,python,13,0,5\n\n"
		       "gpu,power_usage,gfx,vram_used\n0,300,99,1024\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 2, 99) && ts == 1);
	CHECK(samples(run, 0, "pid", &ts, &v) == 0 && samples(run, 0, "vram_mem", &ts, &v) == 0);
	CHECK_EQ(ISSUES(run, other_table), 2);
	CHECK(assay_str_is(assay_meta_get(run, "telemetry_clock"), "none"));
	assay_run_free(run);
	return 0;
}

TEST(amd_metric_lists_become_numbered_samples)
{
	assay_run *run = read_z(
		"timestamp,gpu,gfx_activity,vcn_activity,socket_power,throttle_status,gfx_0_clk,edge,hotspot,mem,usage,total_vram,used_vram\n"
		"1700000000,0,55,\"['N/A', 7, '9']\",750,UNTHROTTLED,1900,N/A,61,50,N/A,196592,196593\n"
		"1700000001,0,155,\"[0, 0]\",750,THROTTLED,1900,N/A,61,50,N/A,196592,10\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 1, 55) && IS(run, 0, "vcn_activity_1", 2, 0));
	CHECK(IS(run, 0, "vcn_activity_2", 1, 9) && IS(run, 0, "throttle", 2, 1));
	CHECK(IS(run, 0, "temp_mem_c", 2, 50) && IS(run, 0, "temp_hotspot_c", 2, 61));
	CHECK(samples(run, 0, "usage", &ts, &v) == 0 && samples(run, 0, "temp_c", &ts, &v) == 0);
	CHECK_EQ(ISSUES(run, bad_unit), 1);
	assay_run_free(run);
	return 0;
}

TEST(amd_partitions_are_tracks_of_their_own)
{
	assay_run *run = read_z("timestamp,gpu,xcp,power_usage,gfx_clk,gfx\n"
				"1700000000,0,0,300,2100,97\n1700000000,0,1,N/A,N/A,50\n");
	CHECK(run && run->part.t.track.n == 2 && run->part.t.track.tid[1] == 1);
	assay_run_free(run);
	return 0;
}

TEST(rocm_smi_labels_carry_units_and_rows_start_with_card)
{
	assay_run *run =
		read_z("\ndevice,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),"
		       "Average Graphics Package Power (W),GPU use (%),VRAM Total Memory (B),"
		       "sclk clock speed:,Performance Level\n"
		       "card0,41.0,45.0,36.0,3,17163091968,(808Mhz),auto\n"
		       "card1,N/A,47.0,40.0,N/A,17163091968,(809Mhz),auto\n\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 1, 3) && ts == 0 && IS(run, 0, "temp_c", 1, 41));
	CHECK(IS(run, 1, "clock_gfx_mhz", 1, 809) &&
	      IS(run, 1, "mem_total_bytes", 1, 17163091968.0));
	CHECK(samples(run, 1, "util_pct", &ts, &v) == 0);
	CHECK(run->part.t.source.epoch[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(nvidia_query_times_are_local)
{
	assay_run *run = read_z(
		"timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], temperature.gpu, clocks_event_reasons.active, pstate\n"
		"2026/11/15 02:20:04.472, 1, NVIDIA H200, 5 %, 10 MiB, 77.47 W, 345 MHz, 27, 0x0000000000000001, P0\n"
		"2026/11/15 02:20:04.679, 1, NVIDIA H200, [N/A], [Not Supported], [Unknown Error], [GPU requires reset], [Insufficient Permissions], 0x0000000000000004, P0\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 1, "util_pct", 1, 5) && IS(run, 1, "power_watts", 1, 77.47));
	CHECK_EQ(ts, 1794709204472000000);
	CHECK(IS(run, 1, "throttle", 2, 4) && ts == 1794709204679000000);
	CHECK(IS(run, 1, "temp_c", 1, 27) && IS(run, 1, "mem_used_bytes", 1, 10485760));
	CHECK(assay_str_is(assay_meta_get(run, "telemetry_timezone"), "unknown"));
	CHECK(run->part.t.source.epoch[0] == 0);
	assay_run_free(run);
	return 0;
}

TEST(nvidia_gpus_without_an_index_go_by_their_uuid)
{
	assay_run *run = read_z("uuid, utilization.gpu [%]\nGPU-1, 5 %\nGPU-2, 6 %\nGPU-1, 7 %\n");
	CHECK(run && run->part.t.track.n == 2 && run->part.t.track.pid[0] == -1);
	CHECK(!strcmp(assay_z(run, run->part.t.track.process[1]), "GPU-2"));
	CHECK(run->part.t.counter.n == 3 && run->part.t.counter.ts[2] == 1);
	assay_run_free(run);
	return 0;
}

TEST(dmon_has_two_header_lines_in_both_forms)
{
	static const char *const forms[] = {
		"# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk     fb  rxpci\n"
		"# Idx      W      C      C      %      %    MHz    MHz     MB   MB/s\n"
		"    0     77     27      -     12      3   3201    345     10      2\n"
		"# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk     fb  rxpci\n"
		"# Idx      W      C      C      %      %    MHz    MHz     MB   MB/s\n"
		"    0     78     27      -     13      3   3201    345     11      2\n",
		"#gpu, pwr, gtemp, mtemp, sm, mem, mclk, pclk, fb, rxpci\n"
		"#Idx, W, C, C, %, %, MHz, MHz, MB, MB/s\n"
		"0, 77, 27, -, 12, 3, 3201, 345, 10, 2\n"
		"#gpu, pwr, gtemp, mtemp, sm, mem, mclk, pclk, fb, rxpci\n"
		"#Idx, W, C, C, %, %, MHz, MHz, MB, MB/s\n"
		"0, 78, 27, -, 13, 3, 3201, 345, 11, 2\n"};
	int64_t ts;
	double v;
	for (int i = 0; i < 2; i++) {
		assay_run *run = read_z(forms[i]);
		CHECK(run && IS(run, 0, "util_pct", 2, 13) && ts == 1 &&
		      IS(run, 0, "power_watts", 2, 78));
		CHECK(IS(run, 0, "mem_util_pct", 2, 3) &&
		      IS(run, 0, "mem_used_bytes", 2, 11534336));
		CHECK(IS(run, 0, "pcie_rx_bytes_per_s", 2, 2e6));
		CHECK(samples(run, 0, "temp_mem_c", &ts, &v) == 0);
		CHECK_EQ(ISSUES(run, repeated_header), 1);
		CHECK(ISSUES(run, bad_unit) == 0 && ISSUES(run, bad_record) == 0);
		assay_run_free(run);
	}
	return 0;
}

TEST(dmon_dates_and_times_of_day_are_read)
{
	int64_t ts;
	double v;
	assay_run *run =
		read_z("#Date       Time        gpu   pwr\n#YYYYMMDD   HH:MM:SS   Idx     W\n"
		       " 20261115   02:20:04      0    77\n");
	CHECK(run && IS(run, 0, "power_watts", 1, 77) && ts == 1794709204000000000);
	assay_run_free(run);
	run = read_z("#Time        gpu   pwr\n"
		     "#HH:MM:SS   Idx     W\n"
		     "23:59:59  0  77\n"
		     "00:00:01  0  78\n");
	CHECK(run && IS(run, 0, "power_watts", 2, 78) && ts == 86401 * smi_second);
	CHECK(assay_str_is(assay_meta_get(run, "telemetry_clock"), "day"));
	assay_run_free(run);
	return 0;
}

TEST(our_own_telemetry_has_units_in_brackets)
{
	assay_run *run = read_z("time [ns],gpu,util [%],mem_used [B],power [W],clock_gfx [MHz]\n"
				"1700000000123456789,0,50,1024,300.5,2100\n");
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 1, 50) && ts == 1700000000123456789);
	CHECK(IS(run, 0, "mem_used_bytes", 1, 1024) && IS(run, 0, "power_watts", 1, 300.5));
	CHECK(run->part.t.source.epoch[0] == 1);
	assay_run_free(run);
	return 0;
}

TEST(other_csv_files_are_not_telemetry)
{
	static const char *const others[] = {
		"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Start_Timestamp\"\n",
		"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n",
		"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\"\n",
		"name,mem,usage\nx,1,2\n",
		"gpu,price,usage\n0,1,2\n",
		"timestamp,gpu,name,pid\n1,0,x,1\n",
		"timestamp, pid, process_name, used_gpu_memory [MiB]\n",
		"{\"traceEvents\": [{\"gpu\": 1, \"gfx\": 2}]}\n",
		"device,owner\ncard0,me\n",
		"file.name,size.bytes\n",
		"# gpu notes\n",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(others); i++)
		if (assay_reader_smi.sniff(assay_str_of(others[i]))) {
			fprintf(stderr, "claimed: %s\n", others[i]);
			return 1;
		}
	CHECK(assay_reader_smi.sniff(
		ASSAY_S("'CTRL' + 'C' to stop watching output:\r\ngpu,gfx,mem\r\n")));
	CHECK(assay_reader_smi.sniff(ASSAY_S("device,GPU use (%)\ncard0,1\n")));
	CHECK(assay_reader_smi.sniff(ASSAY_S("utilization.gpu [%]\n0 %\n")));
	return 0;
}

TEST(text_cut_at_any_byte_keeps_whole_rows)
{
	static const char text[] = "timestamp,gpu,gfx,vcn_activity\n1700000000,0,97,\"[1, 2]\"\n"
				   "1700000001,0,98,\"[1, 2]\"\n";
	size_t head = (size_t)(strchr(text, '\n') - text) + 1;
	for (size_t n = 0; n < sizeof text; n++) {
		assay_run *run = read_text(text, n);
		CHECK((run != NULL) == (n >= head));
		size_t lines = 0;
		for (size_t i = 0; i < n; i++)
			lines += text[i] == '\n';
		if (run) {
			CHECK_EQ(run->part.t.counter.n, 3 * (lines - 1));
			CHECK_EQ(ISSUES(run, truncated), n && text[n - 1] != '\n');
		}
		assay_run_free(run);
	}
	return 0;
}

TEST(hostile_tables_are_survived)
{
	static const char text[] = "gpu,gfx\n99999999999999999999,5\n-1,5\n0,\n0,1,2\n0\n,,,,"
				   "\n\"\"\"\"\n0,\"unclosed\n"
				   "0,[[[[[\n0,\"[1,2,,,']\"\n0,0x\n0,1e999\n0,\xff\xfe\n\0\0,\0\n#"
				   "\n# gpu\n# Idx\n#,#\n"
				   "gpu,gfx,gfx,gfx\n0,1,2,3\n[N/A],[N/A],,\n";
	assay_run *run = read_text(text, sizeof text - 1);
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 1, 3));
	CHECK(ISSUES(run, bad_record) > 3 && ISSUES(run, bad_number) + ISSUES(run, bad_unit) > 2);
	assay_run_free(run);
	return 0;
}

TEST(lines_beyond_the_limit_are_passed_over)
{
	assay_vec(char) text = {0};
	const char head[] = "gpu,gfx\n0,1\n", tail[] = "\n0,2\n";
	assay_vec_reserve(&text, 3u << 20);
	memset(text.p, 'x', 3u << 20);
	memcpy(text.p, head, sizeof head - 1);
	memcpy(text.p + (3u << 20) - (sizeof tail - 1), tail, sizeof tail - 1);
	assay_run *run = read_text(text.p, 3u << 20);
	int64_t ts;
	double v;
	CHECK(run && IS(run, 0, "util_pct", 2, 2) && ISSUES(run, bad_record) == 1);
	assay_run_free(run);
	assay_vec_free(&text);
	return 0;
}

TEST(a_real_nvidia_recording_is_read_whole)
{
	const char *root = getenv("ASSAY_CORPUS");
	char path[512];
	snprintf(path, sizeof path, "%s/h200/nvidia_smi.csv", root ? root : "../shared/data");
	assay_input *in = assay_input_open(path, NULL);
	if (!in)
		return 77;
	assay_run *run = assay_run_new();
	CHECK(assay_read_input(run, in, NULL));
	int64_t ts;
	double v;
	CHECK(IS(run, 0, "util_pct", 121, 0) && IS(run, 0, "power_watts", 121, 118.72));
	CHECK(IS(run, 0, "mem_used_bytes", 121, 3223 * 1048576.0) && IS(run, 0, "temp_c", 121, 28));
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		CHECK_EQ(run->part.issues[i], 0);
	assay_run_free(run);
	assay_input_close(in);
	return 0;
}
