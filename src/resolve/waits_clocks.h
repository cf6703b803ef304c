/* How far clocks of devices may be off the host's. Work begins after the call that launched it, so
 * the shortest time between the two is the most that a device's clock can be ahead there; less than
 * none says how far it is behind, at least. */
#ifndef ASSAY_RESOLVE_WAITS_CLOCKS_H
#define ASSAY_RESOLVE_WAITS_CLOCKS_H

#include <stdint.h>

typedef struct waits waits;

/* ns: clocks agree to about a microsecond, as a rule; traces in whole microseconds less. */
enum { WAITS_CLOCKS = 10000 };

/* Of a source: its time in stretches of this width. */
typedef struct waits_stretches {
	int64_t first, width;
	uint32_t n;
	int64_t *most, *least; /* of any of its devices */
} waits_stretches;

typedef struct waits_clocks {
	waits_stretches *of_source;
	uint32_t *of_track; /* stream -> its device, row of late */
	int64_t **late;     /* by device and stretch: from call to start, at least */
	int64_t behind;     /* of any device, at any time */
} waits_clocks;

/* Needs the records of launches. */
void waits_find_clocks(waits *w);

/* Of the device of that stream, about that time of the host's clock: ns, WAITS_CLOCKS and more. */
int64_t waits_ahead(const waits *w, uint32_t track, int64_t at);
/* None and more. */
int64_t waits_behind(const waits *w, uint32_t track, int64_t at);
/* The most of any device of the source. */
int64_t waits_ahead_any(const waits *w, uint32_t source, int64_t at);
int64_t waits_behind_any(const waits *w, uint32_t source, int64_t at);

#endif
