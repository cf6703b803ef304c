/* Operators with the GPU work they caused: src/work/ops.c, op_calls.c, op_telling.c and
 * op_shapes.c. */
#include <math.h>

#include "analyze/analyze.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "work/op_walk.h"
#include "work/ops.h"

static void add_mm(assay_run *run, const char *name, const char *args, int64_t ts)
{
	uint32_t h = assay_hand_host(run, ASSAY_HOST_OP, name, ts, 100);
	run->part.t.host.detail[h] = assay_add(&run->part.t, ASSAY_T_op);
	run->part.t.host.args[h] = assay_sid_of(run, args);
	for (int i = 0; i < 2; i++) { /* two kernels that overlap by half */
		uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel",
						ts + 10 + i, 1);
		assay_hand_gpu(run, "k", ts + 1000 + i * 50, 100, call);
	}
}

static void find_ops(assay_run *run)
{
	assay_order order;
	assay_rule_names rules;
	assay_op_places places;
	assay_kernels(run);
	assay_order_build(&order, run);
	assay_rule_names_init(&rules, run);
	assay_op_places_find(&places, run, &rules);
	assay_ops(run, &order, &places);
	assay_op_places_free(&places);
	assay_rule_names_free(&rules);
	assay_order_free(&order);
}

/* Of a function's gradient only the incoming one is recorded; the forward call has the shapes. */
TEST(gradients_have_the_shapes_of_their_forward_call)
{
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	add_mm(run, "_Linear",
	       "\"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Dims\": [[8, 16], [4, 16]]",
	       0);
	add_mm(run, "_LinearBackward",
	       "\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[4, 8]]", 10000);
	add_mm(run, "_LinearBackward",
	       "\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[4, 8]]", 20000);
	run->part.t.op.seq[0] = run->part.t.op.seq[1] = 7;
	run->part.t.op.seq[2] = 8; /* its forward call was before the recording */
	find_ops(run);
	CHECK(t->op_shape.n == 3 && t->op_shape.flops[0] == 1024 && t->op_shape.flops[1] == 2048);
	CHECK(t->op_shape.bytes[1] == 2 * (256 + 128 + 64) && isnan(t->op_shape.flops[2]));
	CHECK(t->op_shape.flags[1] & ASSAY_OP_ESTIMATED);
	assay_run_free(run);
	return 0;
}

/* The lookup lies between operators that say 7 and 9; the gradient has 7. */
TEST(gradients_of_table_lookups_find_a_forward_call_without_a_number)
{
	static const char tables[] =
		"\"Input type\": [\"c10::Half\", \"long\", \"long\", \"float\"], \"Input Dims\": [[160], [30], [5], [10]]";
	static const struct {
		const char *name, *args;
		int64_t seq;
	} calls[] = {
		{"aten::sum", "", 7},
		{"fbgemm::split_embedding_codegen_lookup_adagrad_function", tables, -1},
		{"aten::sum", "", 9},
		{"torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
		 "\"Input type\": [\"float\"], \"Input Dims\": [[4, 16]]", 7},
		{"torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
		 "\"Input type\": [\"float\"], \"Input Dims\": [[4, 16]]", 9},
	};
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < ASSAY_COUNT_OF(calls); i++) {
		add_mm(run, calls[i].name, calls[i].args, i * 10000);
		run->part.t.op.seq[i] = calls[i].seq;
	}
	find_ops(run);
	uint32_t lookup_shape = t->op_call.shape[1], back = t->op_call.shape[3],
		 lost = t->op_call.shape[4];
	/* ten rows of 16 halves at most, four bags of floats */
	CHECK(t->op_shape.bytes[lookup_shape] == 30 * 8 + 5 * 8 + 10 * 16 * 2 + 4 * 16 * 4);
	CHECK(t->op_shape.bytes[back] == 30 * 8 + 5 * 8 + 2 * 10 * (16 * 2 + 4) + 4 * 16 * 4);
	CHECK(isnan(t->op_shape.bytes[lost]));
	assay_run_free(run);
	return 0;
}

/* Adam with 48 parameters of 50,384,896 elements on an H200: 800 chunks in three kernels. Formats
 * that only AMD has count work-items. */
static double bytes_of_long_lists(bool in_items)
{
	static const char lists[] =
		"\"Input type\": [\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"], \"Input Dims\": [[], [], [], []]";
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	run->part.source = assay_add(t, ASSAY_T_source);
	t->source.traits[run->part.source] = in_items ? ASSAY_TRAIT_ROCTX : 0;
	for (int i = 0; i < 3; i++) /* 800 blocks, as many again, a few */
		add_mm(run, "aten::_fused_adamw_", lists, i * 10000);
	for (uint32_t i = 0; i < t->gpu.n; i++) {
		t->gpu.name[i] = assay_sid_of(
			run,
			"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>");
		t->gpu.block_x[i] = 512;
		t->gpu.grid_x[i] = (i < 4 ? 400 : 7) * (in_items ? 512 : 1);
	}
	find_ops(run);
	bool right = t->op_shape.n == 2 && t->op_shape.calls[0] == 2 &&
		     isnan(t->op_shape.bytes[1]) && t->op_shape.flags[0] & ASSAY_OP_ESTIMATED;
	double bytes = right ? t->op_shape.bytes[0] : 0;
	assay_run_free(run);
	return bytes;
}

TEST(long_lists_have_the_sizes_of_their_kernels_grids)
{
	/* parameters, gradients and two moments are read, all but the gradients written */
	const double bytes = 28.0 * 50384896;
	CHECK(fabs(bytes_of_long_lists(false) / bytes - 1) < 0.03);
	CHECK(fabs(bytes_of_long_lists(true) / bytes - 1) < 0.03);
	return 0;
}

/* Recordings without operators: two calls of one shape, one of them without its launch, and kernels
 * that tell nothing. */
TEST(kernels_without_an_operator_tell_their_work_where_they_can)
{
	static const char flash[] =
		"void flash::flash_fwd_kernel<flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false, false>(flash::Flash_fwd_params)";
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t call =
			assay_hand_host(run, ASSAY_HOST_RUNTIME, "cudaLaunchKernel", i * 1000, 1);
		uint32_t g = assay_hand_gpu(run, i < 3 ? flash : "k", i * 1000 + 10, 500,
					    i == 1 ? ASSAY_NO_ROW : call);
		t->gpu.grid_x[g] = i < 2 ? 4 : 0;
		t->gpu.grid_y[g] = 16;
		t->gpu.grid_z[g] = 12;
	}
	find_ops(run);
	CHECK(t->op_call.n == 2 && t->op_shape.n == 1 && t->op_shape.calls[0] == 2);
	CHECK(t->op_shape.flops[0] == 2.0 * 16 * 12 * (512 * 513 / 2) * 128);
	CHECK(t->op_shape.flags[0] & ASSAY_OP_ESTIMATED);
	CHECK(t->gpu_op.call[2] == ASSAY_NO_ROW && t->gpu_op.call[3] == ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}

TEST(what_is_taken_by_index_is_told_by_the_kernel)
{
	static const struct {
		const char *kernel;
		double bytes; /* of 1000 rows of 512 bf16, of which 7 blocks take some */
	} cases[] = {
		{"void at::native::vectorized_gather_kernel<16, long>(char*)", 7 * (2 * 1024 + 8)},
		{"void at::native::index_elementwise_kernel<128, 4, X>(long)", 2 * 7 * 512 * 2},
		{"void at::native::index_elementwise_kernel<a, 4, X>(long)", NAN},
		{"void something_else(long)", NAN},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		add_mm(run, "aten::index",
		       "\"Input type\": [\"c10::BFloat16\", \"\"], \"Input Dims\": [[1000, 512], []]",
		       0);
		t->gpu.dur[1] = 10;
		for (uint32_t g = 0; g < t->gpu.n; g++) {
			t->gpu.name[g] = assay_sid_of(run, cases[i].kernel);
			t->gpu.grid_x[g] = g ? 4 : 7;
		}
		find_ops(run);
		double bytes = t->op_shape.bytes[0];
		CHECK(bytes == cases[i].bytes || (isnan(bytes) && isnan(cases[i].bytes)));
		assay_run_free(run);
	}
	return 0;
}

/* A count that is read back makes no copy of a call; a tensor that is does. */
TEST(a_call_is_a_copy_over_the_bus_when_most_of_it_is)
{
	for (int i = 0; i < 2; i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		add_mm(run, "aten::copy_",
		       "\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[8], [8]]", 0);
		t->gpu.kind[1] = ASSAY_GPU_MEMCPY;
		t->gpu.name[1] = assay_sid_of(run, "Memcpy DtoH (Device -> Pinned)");
		t->gpu.dur[i ? 0 : 1] = 20;
		find_ops(run);
		CHECK_EQ(isnan(t->op_shape.bytes[0]), i);
		assay_run_free(run);
	}
	return 0;
}

TEST(calls_with_equal_arguments_are_one_shape)
{
	static const char args[] =
		"\"Record function id\": %d, \"Input type\": [\"float\", \"float\"], \"Input Dims\": [[2, 3], [3, 4]]";
	assay_run *run = assay_run_new();
	const assay_tables *t = &run->part.t;
	char text[256];
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof text, args, i); /* texts differ, arguments do not */
		add_mm(run, i < 2 ? "aten::mm" : "aten::mystery", text, i * 10000);
	}
	find_ops(run);
	assay_operators(run);
	CHECK(t->op_call.n == 3 && t->op_call.busy[0] == 150 && t->op_call.events[0] == 2);
	CHECK(t->op_shape.n == 2 && t->op_shape.calls[0] == 2 && t->op_shape.busy[0] == 300);
	CHECK(t->op_shape.flops[0] == 48 && isnan(t->op_shape.flops[1]));
	CHECK(t->operator.n == 2 && t->operator.flops[0] == 96 && t->operator.bytes[0] == 2 * 104);
	CHECK(isnan(t->operator.flops[1]) && t->operator.busy[1] == 150);
	CHECK(t->gpu_op.n == 6 && t->gpu_op.call[5] == 2);
	assay_run_free(run);
	return 0;
}

/* A call of XLA's ends where its first kernel comes again; of fills there may be several in
 * front. */
TEST(calls_of_instructions_begin_with_their_fills)
{
	static const char fill[] = "__amd_rocclr_fillBufferAligned.kd";
	static const struct {
		const char *kernel[7];
		uint32_t calls;
	} cases[] = {{{fill, fill, "a", "b", fill, fill, "a"}, 2},
		     {{"a", "b", "a", "b", "a"}, 3},
		     {{"a", "a", "a"}, 3},
		     {{"a", fill, fill, "b", "a"}, 2},
		     {{fill, "a", fill, "a", "b"}, 2}};
	for (size_t i = 0; i < ASSAY_COUNT_OF(cases); i++) {
		assay_run *run = assay_run_new();
		assay_tables *t = &run->part.t;
		uint32_t c = assay_add(t, ASSAY_T_captured);
		t->captured.instruction[c] = assay_sid_of(run, "call.1");
		t->captured.name[c] = assay_sid_of(run, "attention");
		t->captured.module[c] = 17;
		t->captured.program[c] = 1;
		for (uint32_t k = 0; k < 7 && cases[i].kernel[k]; k++) {
			uint32_t call = assay_hand_host(run, ASSAY_HOST_RUNTIME, "hipLaunchKernel",
							k * 100, 1);
			uint32_t g =
				assay_hand_gpu(run, cases[i].kernel[k], k * 100 + 10, 50, call);
			t->gpu.args[g] =
				assay_sid_of(run, "\"hlo_op\": \"call.1\", \"program_id\": 17");
		}
		find_ops(run);
		CHECK_EQ(t->op_call.n, cases[i].calls);
		assay_run_free(run);
	}
	return 0;
}
