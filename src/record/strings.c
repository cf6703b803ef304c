/* A hash set of texts. Two 64-bit hashes stand for a text: the text itself is in the capture, and
 * that two different ones share both is less likely than a broken disk. */
#include "record/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "wire/wire.h"

struct strings_slot {
	uint64_t hash, check;
	uint32_t id, reserved;
};

static uint64_t second_hash(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u ^ n;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		h = (h << 27 | h >> 37) ^ w;
		h *= 0x9fb21c651e98df25u;
	}
	while (n--)
		h = (h ^ (unsigned char)*p++) * 0x100000001b3u;
	return h ^ h >> 29;
}

static struct strings_slot *find(struct strings_slot *slot, size_t slots, uint64_t hash,
				 uint64_t check)
{
	size_t i = hash & (slots - 1);
	ASSAY_ASSERT_CHECKED(slots && !(slots & (slots - 1)));
	while (slot[i].id && (slot[i].hash != hash || slot[i].check != check))
		i = (i + 1) & (slots - 1);
	return &slot[i];
}

static bool grow(assay_strings *s)
{
	size_t slots = s->slots ? s->slots * 2 : 1024;
	struct strings_slot *slot = calloc(slots, sizeof *slot);
	if (!slot)
		return s->n + 1 < s->slots;
	for (size_t i = 0; i < s->slots; i++)
		if (s->slot[i].id)
			*find(slot, slots, s->slot[i].hash, s->slot[i].check) = s->slot[i];
	free(s->slot);
	s->slot = slot;
	s->slots = slots;
	return true;
}

uint32_t assay_strings_id(assay_strings *s, const char *p, size_t n, bool *fresh)
{
	uint64_t hash = assay_wire_sum(p, n), check = second_hash(p, n);
	*fresh = true;
	if (s->n * 2 >= s->slots && !grow(s))
		return ++s->last;
	ASSAY_ASSERT_CHECKED(s->n < s->slots); /* a free slot ends the search */
	struct strings_slot *e = find(s->slot, s->slots, hash, check);
	*fresh = !e->id;
	if (!e->id) {
		*e = (struct strings_slot){hash, check, ++s->last, 0};
		s->n++;
	}
	return e->id;
}

void assay_strings_forget(assay_strings *s)
{
	if (s->slot)
		memset(s->slot, 0, s->slots * sizeof *s->slot);
	s->n = 0;
}
