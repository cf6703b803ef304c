/* The rows of words.def, in order. */
#include "names/words.h"

#include <ctype.h>

#include "base/test.h"
#include "names/plain.h"

enum { WHOLE, START, ANY, APART, PLAIN, IN_FILE, FUNCTION, METHOD, LIBRARY, PACKAGE };

static const struct row {
	const char *text;
	uint8_t meaning, where;
} rows[] = {
#define FILE                       IN_FILE
#define WORD(meaning, where, text) {text, ASSAY_WORD_##meaning, where},
#include "names/words.def"
#undef WORD
#undef FILE
};

static bool stands_apart(assay_str name, const char *word)
{
	ptrdiff_t at = assay_str_find_nocase(name, word);
	if (at < 0)
		return false;
	size_t end = (size_t)at + strlen(word);
	return (!at || !isalnum((unsigned char)name.p[at - 1])) &&
	       (end == name.n || !isalnum((unsigned char)name.p[end]));
}

static bool matches(const struct row *row, assay_str name, assay_str plain)
{
	switch (row->where) {
	case WHOLE:
		return assay_str_is(name, row->text);
	case START:
		return assay_str_starts(name, row->text);
	case ANY:
		return assay_str_find_nocase(name, row->text) >= 0;
	case APART:
		return stands_apart(name, row->text);
	case PLAIN:
		return assay_str_is(plain, row->text);
	default:
		return false;
	}
}

assay_word assay_word_of(assay_str name)
{
	char buf[ASSAY_PLAIN_MAX];
	assay_str plain = {buf, assay_plain_name(name.p, name.n, buf)};
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (matches(&rows[i], name, plain))
			return (assay_word)rows[i].meaning;
	return ASSAY_WORD_NOTHING;
}

bool assay_is_library_file(assay_str file)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if ((rows[i].where == LIBRARY && assay_str_find(file, rows[i].text) >= 0) ||
		    (rows[i].where == PACKAGE && assay_str_starts(file, rows[i].text)))
			return true;
	return false;
}

bool assay_is_no_file(assay_str file)
{
	return assay_str_starts(file, "<");
}

assay_word assay_word_of_frame(assay_str frame)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if ((rows[i].where == IN_FILE && assay_str_find(frame, rows[i].text) >= 0) ||
		    (rows[i].where == FUNCTION && assay_str_ends(frame, rows[i].text)))
			return (assay_word)rows[i].meaning;
	return ASSAY_WORD_NOTHING;
}

assay_word assay_word_of_function(assay_str function)
{
	static const char step[] = ".step";
	if (!assay_str_ends(function, step))
		return ASSAY_WORD_NOTHING;
	assay_str owner = {function.p, function.n - strlen(step)};
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++)
		if (rows[i].where == METHOD && assay_str_find_nocase(owner, rows[i].text) >= 0)
			return (assay_word)rows[i].meaning;
	return ASSAY_WORD_NOTHING;
}

bool assay_is_no_name(assay_str call)
{
	static const char *const words[] = {"", "INVALID", "unknown", "Unknown", "<unknown>"};
	return assay_str_is_any(call, words, ASSAY_COUNT_OF(words));
}

int64_t assay_number_in(assay_str name)
{
	size_t end = name.n;
	while (end && !isdigit((unsigned char)name.p[end - 1]))
		end--;
	size_t at = end;
	while (at && isdigit((unsigned char)name.p[at - 1]))
		at--;
	int64_t n;
	return assay_str_i64((assay_str){name.p + at, end - at}, &n) ? n : -1;
}

static assay_word word(const char *name)
{
	return assay_word_of(assay_str_of(name));
}

TEST(steps_carry_their_number)
{
	CHECK_EQ(assay_number_in(ASSAY_S("ProfilerStep#17")), 17);
	CHECK_EQ(assay_number_in(ASSAY_S("ProfilerStep*")), -1);
	CHECK_EQ(assay_number_in(ASSAY_S("ProfilerStep#")), -1);
	CHECK_EQ(assay_number_in(ASSAY_S("epoch 2 step 31 (warm)")), 31);
	return 0;
}

TEST(step_like_names_are_whole_names)
{
	CHECK(word("step 12") == ASSAY_WORD_STEP && word("Train_Step#3") == ASSAY_WORD_STEP);
	CHECK(word("iteration: 7") == ASSAY_WORD_STEP && word("step") == ASSAY_WORD_STEP);
	CHECK(word("execute_model") == ASSAY_WORD_STEP && word("train_batch") == ASSAY_WORD_STEP);
	CHECK(word("epoch 1 step 3") == ASSAY_WORD_STEP && word("engine_step") == ASSAY_WORD_STEP);
	CHECK_EQ(word("[pl][profile]run_training_batch"), ASSAY_WORD_STEP);
	CHECK_EQ(word("denoise_step_7"), ASSAY_WORD_STEP);
	CHECK_EQ(word("[pl][module]torch.nn.Linear: step_norm"), ASSAY_WORD_NOTHING);
	CHECK(word("ProfilerStep#3") == ASSAY_WORD_STEP_MARKER);
	CHECK(word("Optimizer.step#AdamW.step") == ASSAY_WORD_NOTHING);
	CHECK(word("stepper") == ASSAY_WORD_NOTHING && word("forward") == ASSAY_WORD_NOTHING);
	CHECK(word("") == ASSAY_WORD_NOTHING);
	return 0;
}

TEST(optimizers_are_known_by_file_and_by_method)
{
	CHECK_EQ(assay_word_of_frame(ASSAY_S("/x/site-packages/torch/optim/adam.py")),
		 ASSAY_WORD_OPTIMIZER);
	CHECK_EQ(assay_word_of_frame(ASSAY_S("/x/torch/nn/modules/linear.py")), ASSAY_WORD_MODEL);
	CHECK_EQ(assay_word_of_function(ASSAY_S("MyAdam.step")), ASSAY_WORD_OPTIMIZER);
	CHECK_EQ(assay_word_of_function(ASSAY_S("Trainer.step")), ASSAY_WORD_NOTHING);
	CHECK_EQ(assay_word_of_function(ASSAY_S("MyAdam.update")), ASSAY_WORD_NOTHING);
	return 0;
}

TEST(input_data_has_many_names)
{
	static const char *const data[] = {
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		"get_batch",
		"batch-generator",
		"next(data_iter)",
		"DALI pipeline",
		"IteratorGetNext",
		"prefetch",
		"default_collate",
		"load",
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(data); i++)
		CHECK_EQ(word(data[i]), ASSAY_WORD_DATA);
	CHECK(word("FSDP::pre_forward_prefetch") == ASSAY_WORD_NOTHING);
	CHECK(word("medalist") == ASSAY_WORD_NOTHING && word("workload") == ASSAY_WORD_NOTHING);
	CHECK(assay_word_of_frame(ASSAY_S("torch/utils/data/dataloader.py(700): __next__")) ==
	      ASSAY_WORD_DATA);
	CHECK_EQ(word("[pl][profile][_TrainingEpochLoop].train_dataloader_next"), ASSAY_WORD_DATA);
	CHECK_EQ(assay_word_of_frame(ASSAY_S("/x/site-packages/webdataset/pipeline.py")),
		 ASSAY_WORD_DATA);
	CHECK(assay_word_of_frame(ASSAY_S("train.py(10): load")) == ASSAY_WORD_NOTHING);
	return 0;
}
