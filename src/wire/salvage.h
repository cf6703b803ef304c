/* What a recorded process left in its rings when it died. The process could write into every byte
 * of the file, and may have had fewer rights than whoever salvages: nothing in it is believed but
 * the records, which are only copied. */
#ifndef ASSAY_WIRE_SALVAGE_H
#define ASSAY_WIRE_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct assay_salvaged {
	uint64_t records; /* appended */
	uint64_t lost;    /* could not be: no space, ... */
	uint32_t failed;  /* writes that failed, the process's own and these */
} assay_salvaged;

typedef enum assay_salvage_end {
	ASSAY_SALVAGE_DONE,
	ASSAY_SALVAGE_ALIVE,   /* the process still records */
	ASSAY_SALVAGE_REFUSED, /* no ring file, or no capture of its own beside the run's */
	ASSAY_SALVAGE_ORPHAN,  /* its capture is gone: nobody wants the records */
	ASSAY_SALVAGE_KEPT,    /* records are left in it: the capture could not be written */
} assay_salvage_end;

/* Ring files are named STEM.ring, their captures STEM.asy. Append what is left in the file `name`
 * of the folder `rings` to its capture in the folder `run` (both open), and remove it. Links are
 * not followed; the capture is opened with the rights of the ring's owner. */
assay_salvage_end assay_salvage(int rings, int run, const char *name, assay_salvaged *out);

/* What the rings hold now, and the calls that threads are in, as chunks behind what `to` holds: of
 * a process that goes on recording, or died. Nothing of it is changed; taken before its capture is
 * read, every record is found in one of them. */
bool assay_salvage_peek(int rings, const char *name, int to);
/* Is the path one that `assay record` gives a folder of rings? Whoever writes a run's description
 * does not choose any folder of the machine. */
bool assay_salvage_folder(const char *path);
/* Is this a ring file whose process is gone? Takes no lock and changes nothing. */
bool assay_salvage_waits(int rings, const char *name);

/* The same as assay_salvage() for open files: false when `ring` is no ring file. The capture must
 * be open for reading and appending. May be done again after a salvage that was cut short: the
 * reader finds every record once. */
bool assay_salvage_rings(int ring, int capture, assay_salvaged *out);

#endif
