/* What is read of rocprofv3's tables: every kind, odd quotes, cut and damaged rows, and the same
 * rows with any number of threads, window and instruction set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "read/reader.h"
#include "read/rocprof_csv.h"

static const csv_how alone = {1, CSV_WINDOW, ASSAY_ISA_scalar};

static assay_run *read_text(assay_str text, csv_how how)
{
	assay_run *run = assay_run_new();
	assay_input *in = assay_input_memory(text.p, text.n);
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	assay_err err;
	assay_csv_read_as(run, in, how, &err);
	assay_input_close(in);
	return run;
}

static assay_run *read_z(const char *z)
{
	return read_text(assay_str_of(z), (csv_how){1, CSV_WINDOW, assay_cpu_isa()});
}

static bool is_text(const assay_run *run, assay_sid id, const char *want)
{
	if (assay_str_is(assay_text(run, id), want))
		return true;
	fprintf(stderr, "\"%s\" is not \"%s\"\n", assay_z(run, id), want);
	return false;
}

static uint64_t issues(const assay_run *run)
{
	uint64_t n = 0;
	for (int i = 0; i < ASSAY_ISSUE_COUNT; i++)
		n += run->part.issues[i];
	return n;
}

/* Every column of every table, every string, every issue. */
static bool same_run(const assay_run *a, const assay_run *b)
{
	for (assay_table_id id = 0; id < ASSAY_T_COUNT; id++) {
		const assay_table_info *info = &assay_table_infos[id];
		size_t n = assay_rows(&a->part.t, info);
		if (n != assay_rows(&b->part.t, info))
			return false;
		for (size_t c = 0; c < info->cols && n; c++) {
			const void *p = assay_values(&a->part.t, info, &info->col[c]);
			const void *q = assay_values(&b->part.t, info, &info->col[c]);
			if (memcmp(p, q, n * info->col[c].width))
				return false;
		}
	}
	if (a->part.strings.str.n != b->part.strings.str.n)
		return false;
	for (assay_sid i = 0; i < a->part.strings.str.n; i++)
		if (!assay_str_eq(assay_text(a, i), assay_text(b, i)))
			return false;
	return memcmp(a->part.issues, b->part.issues, sizeof a->part.issues) == 0;
}

#define KERNEL_HEAD                                                                                \
	"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","          \
	"\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\","  \
	"\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\","  \
	"\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","          \
	"\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
#define KERNEL_ROW(agent, id, name)                                                                \
	"\"KERNEL_DISPATCH\"," agent ",1,3,834,17," id ",\"" name                                  \
	"\",21,1550151853029637,1550151853042437,512,64,8,4,16,64,2,1,1024,1025,1\n"
#define API_HEAD                                                                                   \
	"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"

TEST(lines_that_end_with_cr_alone_are_refused_with_a_sentence)
{
	static const char text[] =
		"Domain,Function,Process_Id,Thread_Id,Start_Timestamp,End_Timestamp,Correlation_Id\r"
		"HSA_CORE_API,a,7,8,10,20,1\r";
	assay_err err = {0};
	assay_input *in = assay_input_memory(text, strlen(text));
	assay_run *run = assay_run_new();
	CHECK(!assay_csv_read_as(run, in, alone, &err));
	CHECK(strstr(err.text, "CR alone"));
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}

TEST(a_kernel_row_fills_every_column)
{
	assay_run *run =
		read_z(KERNEL_HEAD KERNEL_ROW("\"Agent 4\"", "10", "void f<float>(float*, int)")
			       KERNEL_ROW("7", "10", "void f<float>(float*, int)"));
	const assay_gpu_table *g = &run->part.t.gpu;
	const assay_track_table *t = &run->part.t.track;
	CHECK_EQ(g->n, 2);
	CHECK_EQ(g->ts[0], 1550151853029637);
	CHECK_EQ(g->dur[0], 12800);
	CHECK(is_text(run, g->name[0], "void f<float>(float*, int)") && g->name[1] == g->name[0]);
	CHECK(t->kind[g->track[0]] == ASSAY_TRACK_STREAM);
	CHECK(t->pid[g->track[0]] == 4 && t->tid[g->track[0]] == 3 && t->pid[g->track[1]] == 7);
	CHECK(g->corr[0] == 21 && g->queue[0] == 1 && g->dispatch[0] == 17 && g->kind[0] == 0);
	CHECK(g->shared[0] == 512 && g->scratch[0] == 64);
	CHECK(g->regs[0] == 8 && g->acc_regs[0] == 4 && g->scalar_regs[0] == 16);
	CHECK(g->block_x[0] == 64 && g->block_y[0] == 2 && g->block_z[0] == 1);
	CHECK(g->grid_x[0] == 1024 && g->grid_y[0] == 1025 && g->grid_z[0] == 1);
	CHECK(g->bytes[0] == -1 && g->context[0] == UINT32_MAX && g->graph[0] == 0);
	CHECK_EQ(issues(run), 0);
	assay_run_free(run);
	return 0;
}

TEST(columns_are_found_by_name_in_any_order_and_case)
{
	assay_run *run = read_z(
		"Guid,End_Timestamp,START_TIMESTAMP,Kernel_Name,Agent_Id,Queue_Id,Vgpr_Count,Lds_Block_Size,Private_Segment_Size\n"
		"\"0000ddb5-8903\",30,10,\"k\",\"Agent 2\",9,24,128,32\n"
		"\"0000ddb5-8903\",31,11,k,,9,24,,32\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->n == 2 && g->dur[0] == 20 && g->regs[0] == 24 && g->shared[0] == 128);
	CHECK(g->scratch[0] == 32 && g->dispatch[0] == UINT32_MAX && g->acc_regs[0] == UINT16_MAX);
	CHECK_EQ(run->part.t.track.tid[g->track[0]], 9); /* no stream: the queue */
	CHECK(run->part.t.track.pid[g->track[1]] == -1 && g->shared[1] == UINT32_MAX);
	CHECK(g->name[0] == g->name[1] && issues(run) == 0);
	assay_run_free(run);
	return 0;
}

TEST(tables_of_the_first_rocprof_are_kernels)
{
	assay_run *run =
		read_z("\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\","
		       "\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"vgpr\",\"sgpr\",\"sig\",\"obj\","
		       "\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\"\n"
		       "5,\"k.kd\",1,2,0,77,78,256,64,1,2,3,4,0x0,0xf00,99,100,150,160,50\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->n == 1 && g->ts[0] == 100 && g->dur[0] == 50 && g->dispatch[0] == 5);
	CHECK(g->queue[0] == 2 && g->grid_x[0] == 256 && g->block_x[0] == 64 && g->regs[0] == 3);
	CHECK(run->part.t.track.pid[g->track[0]] == 1 && issues(run) == 0);
	assay_run_free(run);
	return 0;
}

TEST(counters_in_columns_of_their_own_are_counters_of_the_kernel)
{
	assay_run *run = read_z(
		"Dispatch_ID,GPU_ID,Kernel_Name,Kind,Wave_Size_2,SQ_WAVES,TCC_HIT[10],TCC_HIT_sum,FetchSize,CompleteNs,Start_Timestamp,End_Timestamp\n"
		"7,1,\"k\",KERNEL,64,81583447.0,3,,1.5,9,100,150\n"
		"8,1,\"k\",KERNEL,64,x,4,nan,2,9,200,250\n");
	const assay_pmc_table *p = &run->part.t.pmc;
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->n == 2 && g->dur[1] == 50 && p->n == 5 && p->dispatch[4] == 8);
	CHECK(p->value[0] == 81583447 && is_text(run, p->name[0], "SQ_WAVES"));
	CHECK(p->value[1] == 3 && is_text(run, p->name[1], "TCC_HIT[10]"));
	CHECK(p->value[2] == 1.5 && is_text(run, p->name[2], "FetchSize"));
	CHECK(is_text(run, p->kernel[4], "k") && p->value[4] == 2);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_number], 1);
	assay_run_free(run);
	return 0;
}

TEST(other_tables_of_kernels_are_found_by_tiers_of_names)
{
	const char *ends = "id,the kernel name,Start (ns),End (ns)\n1,k,100,130\n";
	const char *lengths = "Start,Name,Duration\n100,k,30.9\n";
	for (int i = 0; i < 2; i++) {
		assay_run *run = read_z(i ? lengths : ends);
		const assay_gpu_table *g = &run->part.t.gpu;
		CHECK(g->n == 1 && g->ts[0] == 100 && g->dur[0] == 30 &&
		      is_text(run, g->name[0], "k"));
		assay_run_free(run);
	}
	return 0;
}

TEST(quotes_inside_names_are_literal)
{
	assay_run *run =
		read_z(API_HEAD "\"MARKER_CORE_API\",\"say \"hi\" to all\",7,8,1,10,20\n"
				"\"MARKER_CORE_API\",\"say \"hi\"\",7,8,2,10,20\n"
				"\"MARKER_CORE_API\",\"say \"hi\", bob\",7,8,3,10,20\n"
				"\"MARKER_CORE_API\",\"say \"\"hi\"\"\",7,8,4,10,20\n"
				"\"MARKER_CORE_API\",\"f(\"\"a\"\",1)\",7,8,5,10,20\n"
				"\"MARKER_CORE_API\",\"\",7,8,6,10,20\n"
				"\"MARKER_CORE_API\",\"two\nlines, \"three\",7,8,7,10,20\n");
	static const char *const want[] = {"say \"hi\" to all",  "say \"hi\"", "say \"hi\", bob",
					   "say \"hi\"",         "f(\"a\",1)", "",
					   "two\nlines, \"three"};
	const assay_host_table *h = &run->part.t.host;
	CHECK_EQ(h->n, 7);
	for (size_t i = 0; i < 7; i++) {
		CHECK(is_text(run, h->name[i], want[i]) && h->kind[i] == ASSAY_HOST_MARKER);
		CHECK_EQ(run->part.t.api.corr[h->detail[i]], i + 1);
	}
	CHECK_EQ(issues(run), 0);
	assay_run_free(run);
	return 0;
}

TEST(rows_that_do_not_fit_are_counted)
{
	assay_run *run =
		read_z(API_HEAD "\r\n\n" API_HEAD "\"HIP_RUNTIME_API_EXT\",\"good\",7,8,1,10,20\r\n"
				"\"HSA_CORE_API\",\"short\",7,8\n"
				"\"HSA_CORE_API\",\"long\",7,8,1,10,20,30\n"
				"\"HSA_CORE_API\",\"no time\",7,8,1,x,20\n"
				"\"HSA_CORE_API\",\"late\",7,8,1,99999999999999999999,20\n"
				"\"HSA_CORE_\n"
				"\"HSA_CORE_API\",\"cut \n"
				"\"HSA_CORE_API\",\"back\",7,8,-1,30,20\n"
				"\"RCCL_API\",\"last\",,9,2,10,20");
	const assay_host_table *h = &run->part.t.host;
	const uint64_t *count = run->part.issues;
	CHECK_EQ(h->n, 3);
	CHECK(h->kind[0] == ASSAY_HOST_RUNTIME && h->kind[1] == ASSAY_HOST_DRIVER);
	CHECK(h->kind[2] == ASSAY_HOST_RUNTIME && is_text(run, h->name[2], "last"));
	CHECK(h->ts[1] == 30 && h->dur[1] == 0);
	CHECK_EQ(count[ASSAY_ISSUE_negative_duration], 1);
	CHECK_EQ(count[ASSAY_ISSUE_repeated_header], 1);
	CHECK_EQ(count[ASSAY_ISSUE_bad_record], 6);
	CHECK_EQ(count[ASSAY_ISSUE_bad_number], 3);
	CHECK_EQ(run->part.t.track.pid[h->track[2]], -1);
	assay_run_free(run);
	return 0;
}

TEST(values_too_wide_for_a_column_become_absent)
{
	assay_run *run = read_z(
		"Kernel_Name,Start_Timestamp,End_Timestamp,Queue_Id,Grid_Size_X,Workgroup_Size_X,VGPR_Count\n"
		"\"k\",1,2,139690710949888,4294967296,65536,12\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(g->queue[0] == UINT32_MAX && g->grid_x[0] == 0 && g->block_x[0] == 0 &&
	      g->regs[0] == 12);
	CHECK_EQ(run->part.t.track.tid[g->track[0]], 139690710949888);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_wide_value], 3);
	assay_run_free(run);
	return 0;
}

TEST(a_copy_belongs_to_the_device_it_touches)
{
	assay_run *run = read_z(
		"\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
		"\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",2,\"Agent 0\",\"Agent 4\",1,5,9\n"
		"\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\",2,\"Agent 4\",\"Agent 0\",2,5,9\n"
		"\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_DEVICE\",2,\"Agent 4\",\"Agent 5\",3,5,9\n");
	const assay_gpu_table *g = &run->part.t.gpu;
	const int64_t *device = run->part.t.track.pid;
	CHECK(g->n == 3 && g->kind[0] == ASSAY_GPU_MEMCPY && g->dur[2] == 4 && g->bytes[0] == -1);
	CHECK(device[g->track[0]] == 4 && device[g->track[1]] == 4 && device[g->track[2]] == 5);
	CHECK(is_text(run, g->name[0], "MEMORY_COPY_HOST_TO_DEVICE") && g->corr[2] == 3);
	assay_run_free(run);
	run = read_z(
		"Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
		"MEMORY_COPY,HOST_TO_DEVICE,0,4,1,5,9\n");
	const assay_track_table *t = &run->part.t.track;
	CHECK(t->n == 1 && t->pid[0] == 4 && t->tid[0] == -1 && is_text(run, t->name[0], "copy"));
	assay_run_free(run);
	return 0;
}

TEST(frees_give_back_what_their_address_took)
{
	assay_run *run = read_z(
		"\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
		"\"M\",\"MEMORY_ALLOCATION_FREE\",\"\",0,\"0x00007ffb26354000\",7,30,40\n"
		"\"M\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 2\",1024,\"0x00007ffb26354000\",1,10,20\n"
		"\"M\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 3\",64,\"0x00007ffb26354000\",1,50,60\n"
		"\"M\",\"MEMORY_ALLOCATION_FREE\",\"\",0,\"0xffffffffffffffff\",7,70,80\n");
	const assay_alloc_table *a = &run->part.t.alloc;
	CHECK(a->n == 4 && a->bytes[1] == 1024 && a->bytes[0] == -1024 && a->bytes[2] == 64);
	CHECK(a->bytes[3] == 0 && a->device[3] == -1 && a->device[0] == 2 && a->device[2] == 3);
	CHECK(a->addr[0] == 0x7ffb26354000 && a->corr[0] == 7 && issues(run) == 0);
	assay_run_free(run);
	return 0;
}

TEST(counters_keep_one_kernel_a_dispatch)
{
	assay_run *run = read_z(
		"\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","
		"\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\","
		"\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n"
		"1,1,\"Agent 1\",1,15,15,1048576,17,\"k\",64,\"SQ_WAVES\",16384.000000,10,20\n"
		"1,1,\"Agent 1\",1,15,15,1048576,17,\"k\",64,\"OTHER\",0.50000000e+00,10,20\n"
		"2,2,\"Agent 1\",1,15,15,1048576,17,\"k\",64,\"SQ_WAVES\",nonsense,30,40\n");
	const assay_pmc_table *p = &run->part.t.pmc;
	const assay_gpu_table *g = &run->part.t.gpu;
	CHECK(p->n == 2 && p->value[0] == 16384 && p->value[1] == 0.5 && p->corr[0] == 1);
	CHECK(is_text(run, p->name[1], "OTHER") && is_text(run, p->kernel[1], "k") &&
	      p->dispatch[1] == 1);
	CHECK(g->n == 2 && g->ts[1] == 30 && g->grid_x[0] == 1048576 && g->block_x[0] == 64);
	CHECK_EQ(run->part.issues[ASSAY_ISSUE_bad_number], 1);
	assay_run_free(run);
	run = read_z(
		"Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n4,\"k\",\"SQ_WAVES\",7\n");
	CHECK(run->part.t.pmc.n == 1 && run->part.t.gpu.n == 0 && run->part.t.pmc.dispatch[0] == 4);
	assay_run_free(run);
	return 0;
}

static void add_text(assay_run *run, const char *z)
{
	assay_input *in = assay_input_memory(z, strlen(z));
	run->part.source = assay_add(&run->part.t, ASSAY_T_source);
	run->part.t.source.group[run->part.source] = 0;
	assay_csv_read_as(run, in, alone, NULL);
	assay_input_close(in);
}

TEST(kernels_in_both_a_trace_and_counters_are_kept_once)
{
	static const char *const texts[] = {
		"Dispatch_Id,Correlation_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,Counter_Value\n"
		"1,1,\"k\",10,20,\"A\",5\n"
		"1,1,\"k\",10,20,\"B\",6\n"
		"9,9,\"only here\",50,60,\"A\",7\n",
		"Dispatch_Id,Correlation_Id,Kernel_Name,Start_Timestamp,End_Timestamp,VGPR_Count\n"
		"1,1,\"k\",10,20,32\n2,2,\"k\",30,40,32\n"};
	for (int first = 0; first < 2; first++) {
		assay_run *run = assay_run_new();
		add_text(run, texts[first]);
		add_text(run, texts[!first]);
		const assay_gpu_table *g = &run->part.t.gpu;
		CHECK(g->n == 3 && run->part.t.pmc.n == 3);
		for (size_t r = 0; r < g->n; r++)
			CHECK(g->regs[r] == (g->dispatch[r] == 9 ? UINT16_MAX : 32));
		assay_run_free(run);
	}
	return 0;
}

TEST(a_thread_in_two_files_of_a_process_is_one)
{
	assay_run *run = assay_run_new();
	const char head[] =
		"Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n";
	assay_arena a = {0};
	add_text(run,
		 assay_printf(&a, "%sHIP_RUNTIME_API,hipLaunchKernel,10,11,1,100,110\n", head));
	add_text(run, assay_printf(&a,
				   "%sMARKER_CORE_API,step,10,11,2,90,200\n"
				   "MARKER_CORE_API,other,10,12,3,90,200\n",
				   head));
	const assay_host_table *h = &run->part.t.host;
	CHECK(h->n == 3 && h->track[0] == h->track[1] && h->track[0] != h->track[2]);
	assay_arena_free(&a);
	assay_run_free(run);
	return 0;
}

TEST(streaming_counters_are_known_by_their_dispatch)
{
	assay_run *run = read_z("\"Dispatch_Id\",\"Counter_Name\",\"Counter_Value\"\n"
				"1,\"SQ_WAVES\",4096\n2,\"SQ_WAVES\",17\n");
	const assay_pmc_table *t = &run->part.t.pmc;
	CHECK(t->n == 2 && t->dispatch[1] == 2 && t->value[1] == 17 && !run->part.t.gpu.n);
	assay_run_free(run);
	return 0;
}

TEST(summaries_are_not_events)
{
	assay_run *run = read_z(
		"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n"
		"\"hipMalloc\",4,100,25.000000,85.15,3,49,1.5e+00\n");
	const assay_stat_table *s = &run->part.t.stat;
	CHECK(s->n == 1 && run->part.t.gpu.n == 0 && run->part.t.host.n == 0);
	CHECK(s->calls[0] == 4 && s->total[0] == 100 && s->min[0] == 3 && s->max[0] == 49);
	assay_run_free(run);
	return 0;
}

TEST(memory_of_processors_is_the_hosts)
{
	static const char agents[] =
		"\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Gfx_Target_Version\"\n"
		"0,0,\"CPU\",0\n1,1,\"GPU\",90402\n";
	static const char memory[] =
		"\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
		"\"M\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 0\",8,\"0x10\",1,10,20\n"
		"\"M\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 1\",16,\"0x20\",2,30,40\n"
		"\"M\",\"MEMORY_ALLOCATION_FREE\",\"\",0,\"0x10\",3,50,60\n";
	assay_run *run = read_z(agents);
	assay_input *in = assay_input_memory(memory, sizeof memory - 1);
	CHECK(run->part.t.device.n == 1 && assay_csv_read_as(run, in, alone, NULL));
	const assay_alloc_table *t = &run->part.t.alloc;
	CHECK(t->n == 3 && t->device[0] == -1 && t->device[1] == 1 && t->device[2] == -1);
	CHECK(t->bytes[2] == -8);
	assay_input_close(in);
	assay_run_free(run);
	return 0;
}

TEST(agents_that_are_gpus_become_devices)
{
	assay_run *run = read_z(
		"\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Wave_Front_Size\","
		"\"Cu_Count\",\"Gfx_Target_Version\",\"Domain\",\"Local_Mem_Size\",\"Gpu_Id\","
		"\"Name\",\"Vendor_Name\",\"Product_Name\"\n"
		"0,0,\"CPU\",0,0,0,0,0,0,\"EPYC\",\"CPU\",\"EPYC\"\n"
		"2,1,\"GPU\",64,304,90402,0,1024,51000,\"gfx942\",\"AMD\",\"MI300X\"\n"
		"3,2,\"GPU\",64,110,90010,0,0,51001,\"gfx90a\",\"AMD\",\"\"\n");
	const assay_device_table *d = &run->part.t.device;
	CHECK(d->n == 2 && d->id[0] == 1 && d->units[0] == 304 && d->warp[0] == 64);
	CHECK(is_text(run, d->name[0], "MI300X") && is_text(run, d->arch[0], "gfx942"));
	CHECK(d->memory[0] == 1024 && d->memory[1] == -1 && is_text(run, d->arch[1], "gfx90a"));
	CHECK(is_text(run, d->name[1], "gfx90a") && is_text(run, d->vendor[0], "amd"));
	assay_run_free(run);
	return 0;
}

TEST(samples_are_counted)
{
	assay_run *run = read_z(
		"\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n"
		"3464444413017201,18446744073709551615,1,\"s_load_dword s8, s[4:5], 0x24\",\"\",1\n"
		"3464444413017201,65535,1,\"s_endpgm\",\"a.cpp:1\",1");
	CHECK(assay_str_is(assay_meta_get(run, "pc_samples"), "2") && issues(run) == 0);
	CHECK_EQ(run->part.t.source.records[0], 2);
	assay_run_free(run);
	return 0;
}

/* Rows of all shapes, so that windows of any size break at odd places. */
static assay_run *read_mixed(csv_how how)
{
	static const char *const names[] = {"k", "void f<float>(float*, int)",
					    "with \"quotes\", inside",
					    "two\nlines\n\"KERNEL_DISPATCH\"", ""};
	assay_vec(char) text = {0};
	char row[1024];
	for (int i = -1; i < 700; i++) {
		int n = snprintf(row, sizeof row, "%s", KERNEL_HEAD);
		if (i >= 0)
			n = snprintf(
				row, sizeof row,
				"\"KERNEL_DISPATCH\",\"Agent %d\",1,%d,8,%d,%d,\"%s%.*s\",%d,%d,%d,0,0,8,0,16,64,1,1,%d%s\n",
				i % 7, i % 3, i, i % 90, names[i % 90 % 5], i % 90 * 3,
				"_____________________________________________________________"
				"_______________"
				"_____________________________________________________________"
				"_______________"
				"_____________________________________________________________"
				"___________",
				i, i * 10 + 1, i * 10 + i % 9, i * i, i % 50 == 7 ? "" : ",1,1");
		for (int k = 0; k < n; k++)
			*assay_push(&text) = row[k];
	}
	assay_run *run = read_text((assay_str){text.p, text.n}, how);
	assay_vec_free(&text);
	return run;
}

TEST(threads_windows_and_instruction_sets_read_the_same)
{
	assay_run *want = read_mixed(alone);
	CHECK_EQ(want->part.t.gpu.n, 700 - 14);
	for (unsigned threads = 1; threads <= 4; threads++)
		for (assay_isa isa = 0; isa <= assay_cpu_isa(); isa++)
			for (size_t window = 100; window < 100000; window *= 9) {
				assay_run *got = read_mixed((csv_how){threads, window, isa});
				CHECK(same_run(got, want));
				assay_run_free(got);
			}
	assay_run_free(want);
	return 0;
}

TEST(text_cut_anywhere_keeps_whole_rows)
{
	static const char text[] = API_HEAD "\"HSA_CORE_API\",\"a, \"b\"\",7,8,1,10,20\r\n"
					    "\"MARKER_CORE_API\",\"c\nd\",7,8,2,10,20\n";
	size_t head = sizeof API_HEAD - 1, row = (size_t)(strchr(text + head, '\n') - text) + 1;
	for (size_t n = 0; n < sizeof text; n++)
		for (assay_isa isa = 0; isa <= assay_cpu_isa(); isa++) {
			assay_run *run =
				read_text((assay_str){text, n}, (csv_how){1, CSV_WINDOW, isa});
			size_t rows = run->part.t.host.n;
			CHECK(rows <= 2 && (n < row || rows >= 1) &&
			      (n < sizeof text - 2 || rows == 2));
			bool part = n > head && n < row && !rows;
			CHECK(!part || issues(run) == 1);
			assay_run_free(run);
		}
	return 0;
}

/* Rows of a file of the corpus by table, or -1. */
static int64_t corpus_rows(const char *name, const char *table, uint64_t *bad)
{
	const char *root = getenv("ASSAY_CORPUS");
	char path[512];
	snprintf(path, sizeof path, "%s/rocprofv3/%s.csv", root ? root : "../shared/data", name);
	assay_run *run = assay_run_new();
	int64_t n = -1;
	*bad = 0;
	if (assay_read_path(run, path, NULL)) {
		const assay_table_info *info = assay_table_find(table);
		n = info ? (int64_t)assay_rows(&run->part.t, info) : -1;
		*bad = issues(run);
	}
	assay_run_free(run);
	return n;
}

TEST(samples_of_every_kind_are_read_whole)
{
	static const struct {
		const char *name, *table;
		int64_t rows;
	} samples[] = {
		{"counter_collection", "pmc", 4},
		{"hip_api_stats", "stat", 17},
		{"hip_compile_trace", "host", 5},
		{"hip_domain_stats", "stat", 1},
		{"hip_runtime_trace", "host", 8},
		{"hip_trace", "host", 17},
		{"hsa_api_trace", "host", 10},
		{"hsa_core_api_trace", "host", 32},
		{"kernel_names", "pmc", 4},
		{"kernel_trace", "gpu", 9},
		{"kernel_trace_truncated", "gpu", 4},
		{"marker_api_trace", "host", 5},
		{"memory_allocation_trace", "alloc", 4},
		{"memory_copy_trace", "gpu", 4},
		{"python_bindings", "host", 6},
		{"rccl_trace", "host", 21},
		{"rocdecode_api_trace", "host", 6},
		{"rocjpeg_api_trace", "host", 4},
		{"rocpd-to-csv", "host", 13},
		{"scratch_memory_trace", "alloc", 2},
		{"pc_sampling_host_trap", "meta", 2},
		{"pc_sampling_stochastic_debug", "meta", 2},
	};
	uint64_t bad;
	if (corpus_rows("kernel_trace", "gpu", &bad) < 0)
		return 77;
	for (size_t i = 0; i < ASSAY_COUNT_OF(samples); i++) {
		CHECK_EQ(corpus_rows(samples[i].name, samples[i].table, &bad), samples[i].rows);
		CHECK_EQ(bad, 0);
	}
	return 0;
}
