/* XLA runs command buffers as graphs, and says of their work only which buffer it was in. The
 * program itself is in the profile (HloProto in the plane /host:metadata): its entry computation,
 * in the order of its schedule, is what a buffer of the whole program replays. Fusions give kernels
 * their names, numbers apart, for equal ones share a kernel; GEMMs and other calls of libraries are
 * known by their place alone. Field numbers: xla/service/hlo.proto. */
#include "work/captures.h"

#include <math.h>

#include "base/jsonw.h"
#include "base/proto.h"
#include "base/test.h"
#include "model/by_hand.h"
#include "work/hlo.h"

enum {
	SPACE_PLANE = 1,
	PLANE_EVENT_METADATA = 4,
	ENTRY_VALUE = 2,
	METADATA_STATS = 5,
	STAT_BYTES = 6
};
enum { HLO_MODULE = 1, MODULE_SCHEDULE = 7 };
enum { SEQUENCES = 1, MAP_KEY = 1, MAP_VALUE = 2, SEQUENCE_IDS = 1 };

/* The first message or text of this number; empty when there is none. */
static assay_str part_of(assay_str message, uint32_t number)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == number && f.wire == ASSAY_WIRE_BYTES)
			return f.bytes;
	return (assay_str){0};
}

static uint64_t number_of(assay_str message, uint32_t number)
{
	assay_proto c = assay_proto_on(message);
	for (assay_field f; assay_proto_next(&c, &f);)
		if (f.number == number && f.wire == ASSAY_WIRE_VARINT)
			return f.value;
	return 0;
}

/* Without the number that tells equal names apart: ".12", "_12". */
static assay_str stem_of(assay_str name)
{
	size_t n = name.n - assay_digits_last(name);
	bool numbered = n && n < name.n && (name.p[n - 1] == '.' || name.p[n - 1] == '_');
	return numbered ? (assay_str){name.p, n - 1} : name;
}

uint64_t assay_capture_stem(assay_str name)
{
	assay_str s = stem_of(name);
	return assay_hash(s.p, s.n, 5) | 8;
}

/* Instructions that are no work of the device. */
static bool launches(assay_str opcode)
{
	static const char *const none[] = {"parameter",         "constant",  "tuple",
					   "get-tuple-element", "bitcast",   "after-all",
					   "partition-id",      "replica-id"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(none); i++)
		if (assay_str_is(opcode, none[i]))
			return false;
	return opcode.n > 0;
}

static assay_sid hlo_args(assay_run *run, assay_hlo *h, uint32_t i)
{
	assay_jsonw w = {.compact = true};
	assay_jsonw_str(&w, "hlo_op", h->instruction.p[i].name);
	assay_hlo_write_args(h, i, &w);
	assay_sid args = assay_intern(&run->part.strings, (assay_str){w.out.p, w.out.n});
	assay_jsonw_free(&w);
	return args;
}

static uint32_t add_row(assay_run *run, assay_hlo *h, uint32_t i)
{
	assay_captured_table *t = &run->part.t.captured;
	const assay_hlo_instruction *of = &h->instruction.p[i];
	uint32_t row = assay_add(&run->part.t, ASSAY_T_captured);
	assay_work work;
	uint8_t class = ASSAY_WORK_NONE;
	t->name[row] = assay_intern(&run->part.strings, assay_hlo_op_name(of));
	t->inferred[row] = t->program[row] = 1;
	t->module[row] = h->id;
	t->instruction[row] = assay_intern(&run->part.strings, of->name);
	t->args[row] = hlo_args(run, h, i);
	if (assay_hlo_work(h, i, &work, &class) && isfinite(work.flops) && isfinite(work.bytes)) {
		t->flops[row] = work.flops;
		t->bytes[row] = work.bytes;
		t->class[row] = class;
		t->math[row] = (uint8_t)work.math;
	}
	return row;
}

static void take_instruction(assay_captures *c, assay_run *run, assay_hlo *h, uint32_t i)
{
	const assay_hlo_instruction *of = &h->instruction.p[i];
	if (!launches(of->opcode))
		return;
	*assay_push(&c->call) = (assay_captured_call){
		.what = assay_str_is(of->opcode, "custom-call") ? 0 : assay_capture_stem(of->name),
		.op = add_row(run, h, i)};
}

/* Ids of instructions of one computation in the order they run, packed. Bodies of loops have
 * schedules, too; insides of fusions have none. */
static void take_sequence(assay_captures *c, assay_run *run, assay_hlo *h, assay_str pair)
{
	assay_str order = part_of(part_of(pair, MAP_VALUE), SEQUENCE_IDS);
	bool entry = number_of(pair, MAP_KEY) == h->entry;
	for (uint64_t id; order.n && assay_proto_varint(&order, &id);) {
		uint32_t i = assay_map_get(&h->by_id, id);
		if (i == ASSAY_MAP_ABSENT || h->instruction.p[i].scheduled)
			continue;
		h->instruction.p[i].scheduled = true;
		if (entry)
			take_instruction(c, run, h, i);
		else if (launches(h->instruction.p[i].opcode))
			add_row(run, h, i);
	}
}

static void take_module(assay_captures *c, assay_run *run, assay_str module)
{
	assay_hlo h;
	size_t first = c->call.n;
	assay_hlo_read(&h, module);
	assay_proto p = assay_proto_on(part_of(module, MODULE_SCHEDULE));
	for (assay_field f; assay_proto_next(&p, &f);)
		if (f.number == SEQUENCES && f.wire == ASSAY_WIRE_BYTES)
			take_sequence(c, run, &h, f.bytes);
	if (c->call.n > first) {
		*assay_push(&c->first) = c->call.n;
		*assay_push(&c->program) = true;
	}
	assay_hlo_free(&h);
}

static void take_metadata(assay_captures *c, assay_run *run, assay_str metadata)
{
	assay_proto p = assay_proto_on(metadata);
	for (assay_field f; assay_proto_next(&p, &f);)
		if (f.number == METADATA_STATS && f.wire == ASSAY_WIRE_BYTES)
			take_module(c, run, part_of(part_of(f.bytes, STAT_BYTES), HLO_MODULE));
}

static void take_plane(assay_captures *c, assay_run *run, assay_str plane)
{
	assay_proto p = assay_proto_on(plane);
	for (assay_field f; assay_proto_next(&p, &f);)
		if (f.number == PLANE_EVENT_METADATA && f.wire == ASSAY_WIRE_BYTES)
			take_metadata(c, run, part_of(f.bytes, ENTRY_VALUE));
}

void assay_captures_take_programs(assay_captures *c, assay_run *run)
{
	const assay_kept_table *k = &run->part.t.kept;
	if (!c->first.n)
		*assay_push(&c->first) = 0;
	for (size_t i = 0; i < k->n; i++)
		if (assay_str_is(assay_text(run, k->place[i]), "/host:metadata"))
			take_plane(c, run, part_of(assay_text(run, k->bytes[i]), SPACE_PLANE));
}

TEST(names_of_fusions_and_of_their_kernels_have_one_stem)
{
	CHECK(assay_capture_stem(ASSAY_S("loop_add_fusion.9")) ==
	      assay_capture_stem(ASSAY_S("loop_add_fusion_9")));
	CHECK(assay_capture_stem(ASSAY_S("loop_add_fusion")) ==
	      assay_capture_stem(ASSAY_S("loop_add_fusion_12")));
	CHECK(assay_capture_stem(ASSAY_S("fusion_102")) != assay_capture_stem(ASSAY_S("copy.102")));
	return 0;
}

enum { MODULE_COMPUTATION = 3, MODULE_ENTRY_ID = 6 };
enum { COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5 };
enum { NAME = 1, OPCODE = 2, METADATA = 7, INSTRUCTION_ID = 35, OP_NAME = 2 };

/* A program of two instructions that launch, listed in another order than they run in; the
 * schedule names one of them again, which counts once. */
static void hand_program(assay_run *run, const char *fusion)
{
	assay_protow i[3] = {0}, entry = {0}, ids = {0}, pair = {0}, schedule = {0}, module = {0};
	static const char *const opcodes[] = {"fusion", "custom-call", "parameter"};
	const char *const names[] = {fusion, "custom-call.1", "p"};
	for (uint64_t n = 0; n < 3; n++) {
		assay_protow meta = {0};
		assay_protow_string(&meta, OP_NAME,
				    n ? ASSAY_S("jit(f)/dot") : ASSAY_S("jit(f)/add"));
		assay_protow_string(&i[n], NAME, assay_str_of(names[n]));
		assay_protow_string(&i[n], OPCODE, assay_str_of(opcodes[n]));
		assay_protow_message(&i[n], METADATA, &meta);
		assay_protow_varint(&i[n], INSTRUCTION_ID, n + 10);
		assay_protow_message(&entry, COMPUTATION_INSTRUCTION, &i[n]);
		assay_protow_free(&meta);
		assay_protow_free(&i[n]);
	}
	assay_protow_varint(&entry, COMPUTATION_ID, 7);
	assay_protow_bytes(&ids, SEQUENCE_IDS, ASSAY_S("\014\013\012\013")); /* 12, 11, 10, 11 */
	assay_protow_varint(&pair, MAP_KEY, 7);
	assay_protow_message(&pair, MAP_VALUE, &ids);
	assay_protow_message(&schedule, SEQUENCES, &pair);
	assay_protow_message(&module, MODULE_COMPUTATION, &entry);
	assay_protow_varint(&module, MODULE_ENTRY_ID, 7);
	assay_protow_message(&module, MODULE_SCHEDULE, &schedule);
	assay_captures c = {0};
	*assay_push(&c.first) = 0;
	take_module(&c, run, assay_protow_data(&module));
	assay_captures_give(&c, run);
	assay_captures_free(&c);
	assay_protow *all[] = {&entry, &ids, &pair, &schedule, &module};
	for (size_t n = 0; n < ASSAY_COUNT_OF(all); n++)
		assay_protow_free(all[n]);
}

TEST(work_of_a_command_buffer_has_the_instructions_of_its_program_in_their_schedule)
{
	static const char *const fusions[] = {"loop_add.4", "loop_mul.4"};
	for (int other = 0; other < 2; other++) {
		assay_run *run = assay_run_new();
		uint32_t h = assay_hand_host(run, ASSAY_HOST_DRIVER, "cuGraphLaunch (CudaGraph:48)",
					     0, 1);
		assay_hand_gpu(run, "sm90_gemm", 10, 5, h);
		assay_hand_gpu(run, "loop_add_12", 20, 5, h);
		hand_program(run, fusions[other]);
		const assay_tables *t = &run->part.t;
		if (other) {
			CHECK(t->gpu_captured.op[0] == ASSAY_NO_ROW && !t->warning.n);
		} else {
			CHECK(!strcmp(assay_z(run, t->captured.name[t->gpu_captured.op[0]]),
				      "jit(f)/dot"));
			CHECK(!strcmp(assay_z(run, t->captured.name[t->gpu_captured.op[1]]),
				      "jit(f)/add"));
			CHECK(t->captured.inferred[0] == 1 && t->captured.n == 2);
		}
		assay_run_free(run);
	}
	return 0;
}
