/* For tests of the Perfetto reader: traces as other writers make them, packet by packet. */
#ifndef ASSAY_TESTS_PERFETTO_MAKER_H
#define ASSAY_TESTS_PERFETTO_MAKER_H

#include "base/proto.h"
#include "base/test.h"
#include "model/perfetto.h"
#include "read/reader.h"

/* A trace being made: fields go to the packet, then the packet to the trace. */
typedef struct maker {
	assay_protow trace, packet, message, inner;
} maker;

static inline void end_packet(maker *m)
{
	assay_protow_message(&m->trace, PF_TRACE_PACKET, &m->packet);
}

static inline void frame(maker *m, uint64_t sequence, uint64_t flags, uint64_t ts)
{
	assay_protow_varint(&m->packet, PF_PACKET_SEQUENCE, sequence);
	assay_protow_varint(&m->packet, PF_PACKET_FLAGS, flags);
	assay_protow_varint(&m->packet, PF_PACKET_TIMESTAMP, ts);
}

static inline void thread(maker *m, uint64_t uuid, uint64_t pid, uint64_t tid, const char *name)
{
	assay_protow_varint(&m->message, PF_TRACK_UUID, uuid);
	assay_protow_varint(&m->inner, PF_THREAD_PID, pid);
	assay_protow_varint(&m->inner, PF_THREAD_TID, tid);
	assay_protow_string(&m->inner, PF_THREAD_NAME, assay_str_of(name));
	assay_protow_message(&m->message, PF_TRACK_THREAD, &m->inner);
	assay_protow_message(&m->packet, PF_PACKET_TRACK, &m->message);
	end_packet(m);
}

static inline void track(maker *m, uint64_t uuid, const char *name)
{
	assay_protow_varint(&m->message, PF_TRACK_UUID, uuid);
	assay_protow_string(&m->message, PF_TRACK_NAME, assay_str_of(name));
	assay_protow_message(&m->packet, PF_PACKET_TRACK, &m->message);
	end_packet(m);
}

static inline void note_int(maker *m, const char *key, int64_t v)
{
	assay_protow_string(&m->inner, PF_NOTE_NAME, assay_str_of(key));
	assay_protow_varint(&m->inner, PF_NOTE_INT, (uint64_t)v);
	assay_protow_message(&m->message, PF_EVENT_ANNOTATION, &m->inner);
}

static inline void note_text(maker *m, const char *key, const char *v)
{
	assay_protow_string(&m->inner, PF_NOTE_NAME, assay_str_of(key));
	assay_protow_string(&m->inner, PF_NOTE_TEXT, assay_str_of(v));
	assay_protow_message(&m->message, PF_EVENT_ANNOTATION, &m->inner);
}

static inline void event(maker *m, uint64_t uuid, unsigned type, const char *cat, const char *name)
{
	assay_protow_varint(&m->message, PF_EVENT_TYPE, type);
	assay_protow_varint(&m->message, PF_EVENT_TRACK, uuid);
	if (cat)
		assay_protow_string(&m->message, PF_EVENT_CATEGORY, assay_str_of(cat));
	if (name)
		assay_protow_string(&m->message, PF_EVENT_NAME, assay_str_of(name));
	assay_protow_message(&m->packet, PF_PACKET_EVENT, &m->message);
	end_packet(m);
}

static inline assay_run *read_back(maker *m)
{
	assay_str s = assay_protow_data(&m->trace);
	assay_run *run = assay_reader_perfetto.sniff(s) > 0
				 ? assay_read_bytes(&assay_reader_perfetto, s.p, s.n)
				 : NULL;
	assay_protow_free(&m->trace);
	assay_protow_free(&m->packet);
	assay_protow_free(&m->message);
	assay_protow_free(&m->inner);
	return run;
}

static inline bool is(const assay_run *run, assay_sid sid, const char *want)
{
	return assay_str_is(assay_text(run, sid), want);
}

#endif
