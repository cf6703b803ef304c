#include "model/machine.h"

#include "base/map.h"
#include "base/test.h"

/* In the recorders' own words. */
static bool names_machine(assay_str key)
{
	static const char *const keys[] = {"host_name", "hostname", "host", "node.hostname"};
	return assay_str_is_any(key, keys, ASSAY_COUNT_OF(keys));
}

assay_str assay_machine_in_fact(const assay_run *run, size_t meta)
{
	const assay_meta_table *m = &run->part.t.meta;
	if (!names_machine(assay_text(run, m->key[meta])))
		return (assay_str){"", 0};
	assay_str host = assay_text(run, m->value[meta]);
	return host.n > 1 && *host.p == '"' ? (assay_str){host.p + 1, host.n - 2} : host;
}

assay_str assay_machine_in_path(assay_str path)
{
	assay_str name = assay_str_file(path);
	ptrdiff_t end = assay_str_find(name, ".pt.trace.json");
	size_t at = 0;
	for (size_t i = 0; end > 0 && i < (size_t)end; i++)
		if (name.p[i] == '_' && i + 1 < (size_t)end && assay_is_digit(name.p[i + 1]))
			at = i;
	return (assay_str){name.p, at};
}

bool assay_machine_is_told_by_path(const assay_run *run, uint32_t group)
{
	assay_str path = assay_text(run, run->part.t.source.path[group]);
	size_t machine = assay_machine_in_path(path).n;
	const assay_track_table *t = &run->part.t.track;
	assay_str name = assay_str_file(path);
	size_t end = machine + 1;
	bool threads = false;
	int64_t pid;
	while (end < name.n && assay_is_digit(name.p[end]))
		end++;
	if (!machine || !assay_str_i64((assay_str){name.p + machine + 1, end - machine - 1}, &pid))
		return true;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->kind[i] != ASSAY_TRACK_THREAD || assay_track_group(&run->part.t, i) != group)
			continue;
		threads = true;
		if (t->pid[i] == pid)
			return true;
	}
	return !threads;
}

assay_str assay_machine_of(const assay_run *run, uint32_t group)
{
	const assay_tables *t = &run->part.t;
	for (size_t i = 0; i < t->meta.n; i++) {
		assay_str host = assay_machine_in_fact(run, i);
		if (host.n && assay_group_of(t, t->meta.source[i]) == group)
			return host;
	}
	assay_str path = assay_text(run, t->source.path[group]);
	assay_str machine = assay_machine_in_path(path);
	return assay_machine_is_told_by_path(run, group) ? machine : (assay_str){"", 0};
}

uint32_t assay_device_row(const assay_tables *t, uint32_t process, int64_t number)
{
	const assay_device_table *d = &t->device;
	uint32_t alike = ASSAY_NO_ROW;
	bool differ = false;
	for (uint32_t i = 0; i < d->n; i++) {
		if (assay_group_of(t, d->source[i]) != process)
			continue;
		if (d->id[i] == number)
			return i;
		if (alike == ASSAY_NO_ROW)
			alike = i;
		differ |= d->name[i] != d->name[alike] || d->units[i] != d->units[alike] ||
			  d->memory[i] != d->memory[alike];
	}
	return differ ? ASSAY_NO_ROW : alike;
}

/* The machine of a row of device_time that may be another process's too; nothing otherwise. */
static assay_str machine_of_lone(const assay_run *run, uint32_t row)
{
	const assay_tables *t = &run->part.t;
	uint32_t source = t->device_time.source[row];
	if (t->source.rank[source] >= 0)
		return (assay_str){"", 0};
	return assay_machine_of(run, assay_group_of(t, source));
}

bool assay_same_gpu(const assay_run *run, uint32_t a, uint32_t b)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	if (d->device[a] != d->device[b])
		return false;
	assay_str machine = machine_of_lone(run, a);
	return machine.n && assay_str_same(machine, machine_of_lone(run, b));
}

size_t assay_gpus(const assay_run *run)
{
	const assay_device_time_table *d = &run->part.t.device_time;
	assay_map seen = {0};
	size_t alone = 0;
	for (uint32_t i = 0; d->n > 1 && i < d->n; i++) {
		assay_str machine = machine_of_lone(run, i);
		if (machine.n)
			*assay_map_at(&seen,
				      assay_hash(machine.p, machine.n, (uint64_t)d->device[i])) = i;
		else
			alone++;
	}
	size_t n = d->n > 1 ? alone + seen.n : d->n;
	assay_map_free(&seen);
	return n;
}

TEST(processes_of_one_machine_share_a_gpu_unless_they_are_ranks)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t source = assay_add(t, ASSAY_T_source);
		t->source.group[source] = source;
		uint32_t d = assay_add(t, ASSAY_T_device_time);
		t->device_time.source[d] = source;
		t->device_time.device[d] = i == 2; /* the last one has the second GPU */
	}
	CHECK(!assay_same_gpu(run, 0, 1) && assay_gpus(run) == 3); /* machines not known */
	for (uint32_t i = 0; i < 3; i++) {
		run->part.source = i;
		assay_meta_add(&run->part, "hostname", ASSAY_S("vm"));
	}
	CHECK(assay_same_gpu(run, 0, 1) && !assay_same_gpu(run, 0, 2));
	CHECK_EQ(assay_gpus(run), 2);
	t->source.rank[1] = 1;
	CHECK(!assay_same_gpu(run, 0, 1) && assay_gpus(run) == 3);
	assay_run_free(run);
	return 0;
}

TEST(a_machine_is_found_in_facts_and_in_file_names)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t a = assay_add(t, ASSAY_T_source), b = assay_add(t, ASSAY_T_source);
	t->source.path[a] = assay_sid_of(run, "runs/node_7_123.456.pt.trace.json.gz");
	t->source.path[b] = assay_sid_of(run, "trace.json");
	CHECK(assay_str_is(assay_machine_of(run, a), "node_7"));
	CHECK(!assay_machine_of(run, b).n);
	run->part.source = a;
	assay_thread_track(&run->part, 4711, 1);
	CHECK(!assay_machine_of(run, a).n); /* "worker7_step_12": no process of that number */
	assay_thread_track(&run->part, 123, 1);
	CHECK(assay_str_is(assay_machine_of(run, a), "node_7"));
	CHECK(!assay_machine_in_path(ASSAY_S("rank_0.json")).n);
	CHECK(!assay_machine_in_path(ASSAY_S("a_b.pt.trace.json")).n);
	run->part.source = b;
	assay_meta_add(&run->part, "hostname", ASSAY_S("\"gpu1\""));
	CHECK(assay_str_is(assay_machine_of(run, b), "gpu1"));
	assay_run_free(run);
	return 0;
}

TEST(a_device_with_another_number_is_like_those_of_the_header)
{
	assay_run *run = assay_run_new();
	assay_tables *t = &run->part.t;
	uint32_t source = assay_add(t, ASSAY_T_source), a = assay_add(t, ASSAY_T_device);
	t->device.source[a] = source;
	t->device.id[a] = 0;
	CHECK(assay_device_row(t, source, 0) == a && assay_device_row(t, source, 2) == a);
	CHECK(assay_device_row(t, source + 1, 0) == ASSAY_NO_ROW);
	uint32_t b = assay_add(t, ASSAY_T_device);
	t->device.source[b] = source;
	t->device.id[b] = 1;
	t->device.units[b] = 8;
	CHECK(assay_device_row(t, source, 1) == b);
	CHECK(assay_device_row(t, source, 2) == ASSAY_NO_ROW);
	assay_run_free(run);
	return 0;
}
