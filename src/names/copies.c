#include "names/copies.h"

#include "base/test.h"

/* In the words of every recorder: without what stands between them ("HOST_TO_DEVICE",
 * "Host-to-Device", "CopyHostToDevice", "hipMemcpyHostToDevice"). */
static const struct {
	const char *word;
	assay_copy_way way;
} words[] = {
	{"HtoD", ASSAY_COPY_TO_DEVICE},
	{"H2D", ASSAY_COPY_TO_DEVICE},
	{"HostToDevice", ASSAY_COPY_TO_DEVICE},
	{"DtoH", ASSAY_COPY_TO_HOST},
	{"D2H", ASSAY_COPY_TO_HOST},
	{"DeviceToHost", ASSAY_COPY_TO_HOST},
	{"DtoD", ASSAY_COPY_ON_DEVICE},
	{"D2D", ASSAY_COPY_ON_DEVICE},
	{"DeviceToDevice", ASSAY_COPY_ON_DEVICE},
	{"HtoH", ASSAY_COPY_ON_HOST},
	{"H2H", ASSAY_COPY_ON_HOST},
	{"HostToHost", ASSAY_COPY_ON_HOST},
	{"PtoP", ASSAY_COPY_BETWEEN},
	{"P2P", ASSAY_COPY_BETWEEN},
	{"Peer", ASSAY_COPY_BETWEEN},
};

static bool is_between(char c)
{
	return c == '_' || c == '-' || c == ' ';
}

/* Does the name go on with the word? */
static bool begins_with(const char *p, const char *end, const char *word)
{
	for (; *word && p < end; p++) {
		if (is_between(*p))
			continue;
		if (assay_fold(*p) != assay_fold(*word))
			return false;
		word++;
	}
	return !*word;
}

assay_copy_way assay_copy_way_of(assay_str name)
{
	const char *end = name.p + name.n;
	for (const char *p = name.p; p < end; p++) {
		char first = assay_fold(*p);
		if (first != 'h' && first != 'd' && first != 'p')
			continue;
		for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
			if (begins_with(p, end, words[i].word))
				return words[i].way;
	}
	return ASSAY_COPY_ELSEWHERE;
}

const char *assay_copy_way_short(assay_copy_way way)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(words); i++)
		if (words[i].way == way)
			return words[i].word;
	return NULL;
}

bool assay_copy_from_host(assay_copy_way way)
{
	return way == ASSAY_COPY_TO_DEVICE || way == ASSAY_COPY_ON_HOST;
}

bool assay_copy_to_host(assay_copy_way way)
{
	return way == ASSAY_COPY_TO_HOST || way == ASSAY_COPY_ON_HOST;
}

bool assay_copy_is_migration(assay_str name)
{
	return assay_str_find_nocase(name, "unified") >= 0;
}

/* What follows one of the memories that are never paged out, or NULL. */
static const char *after_fixed_memory(const char *p, const char *end)
{
	static const char *const fixed[] = {"Pinned", "Device", "Array"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(fixed); i++) {
		size_t n = strlen(fixed[i]);
		if ((size_t)(end - p) > n && !memcmp(p, fixed[i], n))
			return p + n;
	}
	return NULL;
}

bool assay_copy_may_block(assay_str name)
{
	ptrdiff_t open = assay_str_find(name, "("), arrow = assay_str_find(name, " -> ");
	const char *end = name.p + name.n;
	if (open < 0 || arrow < open)
		return true;
	const char *from = after_fixed_memory(name.p + open + 1, end);
	const char *to = after_fixed_memory(name.p + arrow + 4, end);
	return from != name.p + arrow || !to || *to != ')';
}

TEST(names_of_copies_tell_their_ends)
{
	static const struct {
		const char *name;
		assay_copy_way way;
	} of[] = {
		{"Memcpy HtoD (Pinned -> Device)", ASSAY_COPY_TO_DEVICE},
		{"Memcpy HtoD (Host -> Device)", ASSAY_COPY_TO_DEVICE},
		{"CopyHostToDevice", ASSAY_COPY_TO_DEVICE},
		{"hipMemcpyHostToDevice", ASSAY_COPY_TO_DEVICE},
		{"[CUDA memcpy Host-to-Device]", ASSAY_COPY_TO_DEVICE},
		{"[CUDA Unified Memory memcpy HtoD]", ASSAY_COPY_TO_DEVICE},
		{"[CUDA memcpy Unified Host-to-Device]", ASSAY_COPY_TO_DEVICE},
		{"Memcpy HtoD (Unified Memory)", ASSAY_COPY_TO_DEVICE},
		{"MEMORY_COPY_DEVICE_TO_HOST", ASSAY_COPY_TO_HOST},
		{"MEMCPYDtoH", ASSAY_COPY_TO_HOST},
		{"CopyDeviceToHost", ASSAY_COPY_TO_HOST},
		{"CopyDeviceToDevice", ASSAY_COPY_ON_DEVICE},
		{"MemcpyD2D", ASSAY_COPY_ON_DEVICE},
		{"DEVICE_TO_DEVICE", ASSAY_COPY_ON_DEVICE},
		{"Memcpy HtoH (Pageable -> Pinned)", ASSAY_COPY_ON_HOST},
		{"MEMORY_COPY_HOST_TO_HOST", ASSAY_COPY_ON_HOST},
		{"Memcpy PtoP (Device -> Device)", ASSAY_COPY_BETWEEN},
		{"[CUDA memcpy Peer-to-Peer]", ASSAY_COPY_BETWEEN},
		{"Memcpy AtoA (Array -> Array)", ASSAY_COPY_ELSEWHERE},
		{"MemcpyOther", ASSAY_COPY_ELSEWHERE},
		{"Host -> Device", ASSAY_COPY_ELSEWHERE},
		{"", ASSAY_COPY_ELSEWHERE},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		CHECK_EQ(assay_copy_way_of(assay_str_of(of[i].name)), of[i].way);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of); i++)
		CHECK_EQ(assay_copy_is_migration(assay_str_of(of[i].name)),
			 strstr(of[i].name, "Unified") != NULL);
	CHECK(!strcmp(assay_copy_way_short(ASSAY_COPY_ON_DEVICE), "DtoD"));
	CHECK(!strcmp(assay_copy_way_short(ASSAY_COPY_BETWEEN), "PtoP"));
	CHECK(!assay_copy_way_short(ASSAY_COPY_ELSEWHERE));
	return 0;
}

TEST(asynchronous_copies_block_for_paged_memory_only)
{
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pinned -> Device)")));
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy DtoD (Device -> Device)")));
	CHECK(!assay_copy_may_block(ASSAY_S("Memcpy PtoP (Device -> Array)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pageable -> Device)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy DtoH (Device -> Pageable)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Host -> Device)")));
	CHECK(assay_copy_may_block(ASSAY_S("Memcpy HtoD (Pinned -> Device")));
	CHECK(assay_copy_may_block(ASSAY_S("CopyDeviceToHost")));
	return 0;
}
