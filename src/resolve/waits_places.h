/* Where calls work: the device a thread has chosen, and the stream that a handle means. */
#ifndef ASSAY_RESOLVE_WAITS_PLACES_H
#define ASSAY_RESOLVE_WAITS_PLACES_H

#include "resolve/waits.h"

/* From all launches and choices of a device. Needs the indices of calls and work. */
void waits_find_places(waits *w);

/* What the recorder's table of streams says goes first; i: its row. */
void waits_learn_handle(waits *w, uint32_t source, uint32_t i, uint32_t track);
/* After the last of them. */
void waits_end_at_address(waits *w);
void waits_learn_legacy(waits *w, uint32_t source, uint32_t track);

/* The last key before those of calls that began then or later; UINT64_MAX where there are none. Of
 * times when recording went on, or a stream was made or given back. */
uint64_t waits_key_by(const waits *w, uint32_t source, int64_t ts);

typedef struct waits_device {
	int32_t device; /* -1 unknown */
	bool guessed;   /* by what the thread launched last, or by time */
} waits_device;

/* The device a thread works on at a call. */
waits_device waits_device_of(const waits *w, uint32_t source, uint32_t thread, uint64_t key);
/* The device that a wait for a device waits for. r: key, thread and times are known. */
waits_device waits_device_awaited(const waits *w, uint32_t source, const assay_sweep_rec *r);
/* A stream that work is in, a row of track. */
void waits_meet_stream(waits *w, uint32_t track);
/* Is the track that of a stream, or only of its device? */
bool waits_has_number(const waits *w, uint32_t track);
/* The number that profilers give default streams. */
bool waits_is_default_number(const waits *w, uint32_t source, int64_t stream);
/* The default stream of a device, a row of track; ASSAY_NO_ROW. */
uint32_t waits_legacy_track(const waits *w, uint32_t source, int32_t device);
/* Where that is not known: the stream that it may be. After all streams were met. */
void waits_guess_legacy(waits *w);
bool waits_may_be_legacy(const waits *w, uint32_t track);
/* The stream a handle means at a call, a row of track; ASSAY_NO_ROW. */
uint32_t waits_track_of(const waits *w, uint32_t source, uint64_t handle, uint64_t key, int64_t ts);
/* A thread's own default stream on a device, by the handle the functions here know it by. */
uint64_t waits_own_handle(uint32_t thread, int32_t device);

/* A sync row says that stream `id` was waited for, not on which of several devices: the one whose
 * work before the record ended last before the waiting went on. A guess. */
uint32_t waits_track_awaited(const waits *w, uint32_t sync, uint64_t record_key, uint64_t wait_key);

#endif
