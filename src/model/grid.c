#include "model/grid.h"

#include "base/map.h"
#include "base/test.h"

static uint64_t key_of(const assay_run *run, uint32_t source, int64_t device)
{
	return (uint64_t)assay_group_of(&run->part.t, source) << 32 | (uint32_t)device;
}

/* Makers of devices, where they are known. The caller frees. */
static assay_map find_vendors(const assay_run *run)
{
	const assay_device_table *d = &run->part.t.device;
	assay_map found = {0};
	for (size_t i = 0; i < d->n; i++) {
		assay_vendor vendor = assay_device_vendor(run, i);
		if (!vendor)
			continue;
		uint32_t *slot = assay_map_at(&found, key_of(run, d->source[i], d->id[i]));
		if (*slot == ASSAY_MAP_ABSENT)
			*slot = vendor;
	}
	return found;
}

/* Of a device of a source. */
static bool counts_items(const assay_run *run, const assay_map *vendors, uint32_t source,
			 int64_t device)
{
	if (assay_has_trait(run, source, ASSAY_TRAIT_BLOCKS))
		return false;
	uint32_t vendor = assay_map_get(vendors, key_of(run, source, device));
	return vendor != ASSAY_MAP_ABSENT
		       ? vendor == ASSAY_VENDOR_AMD
		       : assay_has_trait(run, source, ASSAY_TRAIT_ROCTX); /* only AMD's have it */
}

assay_grids assay_grids_of(const assay_run *run, assay_arena *arena)
{
	const assay_track_table *t = &run->part.t.track;
	uint8_t *items = assay_alloc(arena, t->n + 1);
	assay_map vendors = find_vendors(run);
	for (uint32_t i = 0; i < t->n; i++)
		items[i] = t->kind[i] == ASSAY_TRACK_STREAM &&
			   counts_items(run, &vendors, t->source[i], t->pid[i]);
	assay_map_free(&vendors);
	return (assay_grids){&run->part.t.gpu, items};
}

static void get(const assay_gpu_table *t, uint32_t g, uint32_t grid[3], uint32_t block[3])
{
	grid[0] = t->grid_x[g], grid[1] = t->grid_y[g], grid[2] = t->grid_z[g];
	block[0] = t->block_x[g], block[1] = t->block_y[g], block[2] = t->block_z[g];
}

void assay_grid_blocks(const assay_grids *g, uint32_t row, uint32_t out[3])
{
	uint32_t block[3];
	get(g->gpu, row, out, block);
	for (int i = 0; g->items[g->gpu->track[row]] && i < 3; i++)
		if (block[i])
			out[i] = (uint32_t)(((uint64_t)out[i] + block[i] - 1) / block[i]);
}

void assay_grid_items(const assay_grids *g, uint32_t row, uint32_t out[3])
{
	uint32_t block[3];
	get(g->gpu, row, out, block);
	for (int i = 0; !g->items[g->gpu->track[row]] && i < 3; i++) {
		uint64_t v = (uint64_t)out[i] * (block[i] ? block[i] : 1);
		out[i] = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	}
}

int32_t assay_device_units(const assay_run *run, int32_t device)
{
	const assay_device_table *d = &run->part.t.device;
	for (size_t i = 0; i < d->n; i++)
		if (d->id[i] == device && d->units[i] > 0)
			return d->units[i];
	return 0;
}

/* A block takes one multiprocessor or less. */
double assay_grid_fill(const assay_grids *g, uint32_t row, int32_t units)
{
	uint32_t grid[3];
	double blocks = 1;
	assay_grid_blocks(g, row, grid);
	for (int i = 0; i < 3; i++)
		blocks *= i && !grid[i] ? 1 : grid[i];
	return units > 0 && blocks > 0 && blocks < units ? blocks / units : 1;
}

TEST(grids_are_given_in_either_unit_whatever_the_input_counts)
{
	assay_run *run = assay_run_new();
	assay_arena arena = {0};
	assay_tables *t = &run->part.t;
	uint32_t out[3];
	for (int amd = 0; amd < 2; amd++) {
		run->part.source = assay_add(t, ASSAY_T_source);
		t->source.group[run->part.source] = run->part.source;
		uint32_t d = assay_add(t, ASSAY_T_device), g = assay_add(t, ASSAY_T_gpu);
		t->device.source[d] = run->part.source;
		t->device.id[d] = 0;
		t->device.vendor[d] = assay_sid_of(
			run, assay_vendor_name[amd ? ASSAY_VENDOR_AMD : ASSAY_VENDOR_NVIDIA]);
		t->gpu.track[g] = assay_stream_track(&run->part, 0, 7);
		t->gpu.grid_x[g] = 130;
		t->gpu.block_x[g] = 64;
	}
	assay_grids grids = assay_grids_of(run, &arena);
	assay_grid_blocks(&grids, 0, out);
	CHECK_EQ(out[0], 130);
	assay_grid_items(&grids, 0, out);
	CHECK_EQ(out[0], 130 * 64);
	assay_grid_blocks(&grids, 1, out);
	CHECK_EQ(out[0], 3);
	assay_grid_items(&grids, 1, out);
	CHECK_EQ(out[0], 130);
	assay_arena_free(&arena);
	assay_run_free(run);
	return 0;
}
