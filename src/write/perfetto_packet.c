/* Packets of Perfetto's format, and the numbers in them. */
#include "write/perfetto.h"

#include "base/num.h"

enum { FLUSH = 1 << 16 };

void perfetto_flush(perfetto *p)
{
	if (p->w.out.n)
		fwrite(p->w.out.p, 1, p->w.out.n, p->out);
	p->w.out.n = 0;
}

void perfetto_flush_some(perfetto *p)
{
	if (p->w.out.n > FLUSH)
		perfetto_flush(p);
}

/* Each process has a packet sequence: readers know by it whose a track is that says nothing. */
uint32_t perfetto_sequence_of(const perfetto *p, uint32_t source)
{
	uint32_t group = assay_group_of(p->t, source);
	return group < p->t->source.n ? group + 1 : 1;
}

size_t perfetto_open_packet(perfetto *p, uint32_t source)
{
	p->sequence = perfetto_sequence_of(p, source);
	size_t packet = assay_protow_open(&p->w, PF_TRACE_PACKET);
	assay_protow_varint(&p->w, PF_PACKET_SEQUENCE, p->sequence);
	assay_protow_varint(&p->w, PF_PACKET_FLAGS,
			    p->writer[p->sequence] ? PF_STATE_CLEARED : PF_STATE_NEEDED);
	if (p->writer[p->sequence])
		assay_protow_varint(&p->w, PF_PACKET_PID, (uint64_t)p->writer[p->sequence]);
	p->writer[p->sequence] = 0;
	return packet;
}

void perfetto_close_packet(perfetto *p, size_t packet)
{
	if (p->interned.out.n)
		assay_protow_message(&p->w, PF_PACKET_INTERNED, &p->interned);
	assay_protow_close(&p->w, packet);
}

void perfetto_tell_interned(perfetto *p, uint32_t source)
{
	if (p->interned.out.n)
		perfetto_close_packet(p, perfetto_open_packet(p, source));
}

uint64_t perfetto_absolute(const perfetto *p, uint32_t source, int64_t ts)
{
	int64_t at = assay_wrap_add(assay_source_absolute(&p->at, source, ts), p->moved);
	return at < 0 ? 0 : (uint64_t)at;
}

uint32_t perfetto_number(perfetto *p, uint32_t field, uint64_t hash, bool *is_new)
{
	uint64_t of[3] = {p->sequence, field, hash};
	uint32_t *iid = assay_map_at(&p->named, assay_hash(of, sizeof of, 0));
	*is_new = *iid == ASSAY_MAP_ABSENT;
	if (*is_new)
		*iid = (uint32_t)p->named.n;
	return *iid;
}

uint32_t perfetto_intern(perfetto *p, uint32_t field, assay_str text)
{
	bool is_new;
	uint32_t iid = perfetto_number(p, field, assay_hash(text.p, text.n, 0), &is_new);
	if (!is_new)
		return iid;
	size_t entry = assay_protow_open(&p->interned, field);
	assay_protow_varint(&p->interned, PF_NAMED_IID, iid);
	assay_protow_string(&p->interned, PF_NAMED_TEXT, text);
	assay_protow_close(&p->interned, entry);
	return iid;
}

uint32_t perfetto_intern_lasting(perfetto *p, uint32_t field, assay_str text)
{
	uintptr_t at = (uintptr_t)text.p;
	perfetto_named *n = &p->lasting[(at >> 4 ^ at >> 13 ^ at) % PERFETTO_NAMED];
	if (n->p != text.p || n->sequence != p->sequence || n->field != field)
		*n = (perfetto_named){text.p, p->sequence, field, perfetto_intern(p, field, text)};
	return n->iid;
}

int32_t perfetto_process_number(const perfetto *p, uint32_t track)
{
	const assay_track_table *t = &p->t->track;
	int64_t pid = t->pid[track] >= 0 ? t->pid[track] : 0x7ffffff - (int64_t)t->process[track];
	int64_t step = t->source[track] < p->t->source.n ? p->at.raised[t->source[track]] : 0;
	return (int32_t)(uint32_t)(pid + step);
}

int64_t perfetto_thread_number(const perfetto *p, uint32_t track)
{
	int64_t tid = p->t->track.tid[track];
	return tid >= 0 ? tid : (int64_t)track + 0x70000000;
}
