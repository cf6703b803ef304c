/* Private to inputs: what input.c (one thread fetches what it needs) and input_spread.c (many
 * threads unpack ahead) share. */
#ifndef ASSAY_BASE_INPUT_INSIDE_H
#define ASSAY_BASE_INPUT_INSIDE_H

#include "base/input.h"

#include <pthread.h>
#include <sys/stat.h>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/owner.h"

struct ring {
	char *p; /* 2 * size bytes of address space */
	size_t size;
};
enum { RINGS_MAX = 48 }; /* each is twice as large as the one before */

typedef enum { PLAIN, GZIP, ZSTD, ZIP } packing;

/* The file of a zip archive. */
struct zip_file {
	uint64_t at;                 /* of its first packed byte */
	uint32_t packed, bytes, sum; /* sizes modulo 2^32 */
	bool deflated;
};

struct assay_input {
	char *path;
	packing packing;
	int fd;           /* -1: text in memory */
	bool regular;     /* a file with a size: read up to that, whatever is written meanwhile */
	struct stat then; /* the file when it was opened */
	/* file side: a buffer refilled from fd, or the memory itself */
	unsigned char *file;
	size_t file_n, file_pos;
	uint64_t file_done; /* bytes of earlier buffers */
	bool file_end;
	/* text side, under lock unless it is in memory */
	bool memory;
	pthread_mutex_t lock;
	pthread_cond_t change; /* of what threads that unpack ahead have done or may do */
	struct ring
		*ring; /* the newest; replaced ones stay mapped: views into them may be in use */
	struct ring rings[RINGS_MAX];
	size_t ring_count;
	uint64_t have, low; /* of all bytes; the text begins behind a byte order mark */
	size_t mark;
	bool end;
	struct inflate_state *gz;
	bool gz_between; /* at a member boundary: more members may follow */
	struct zip_file zip;
	uint64_t zip_packed; /* bytes taken of it */
	uint32_t zip_sum;    /* of the text so far */
	ZSTD_DStream *zst;
	size_t zst_hint;
	struct spread *spread; /* while many threads unpack; NULL before and after */
	bool spread_tried;
	bool no_memory; /* of a thread that unpacks: there is no more text, and no end */
	assay_undo undo;
	char damage[160];
	assay_arena arena;
};

/* Under lock. */
void input_damage(assay_input *in, const char *fmt, ...) ASSAY_PRINTF(2, 3);
/* A larger ring with all that is in the old one. */
bool input_ring_grow(assay_input *in, size_t size);
/* Room for what follows the text that is there; false, with the damage said, when it may not be. */
bool input_make_room(assay_input *in, uint64_t to);
/* Whether so much text may come of so many packed bytes. */
bool input_text_fits(const assay_input *in, uint64_t text, uint64_t packed);
/* Packed bytes from a place on; fewer at the end of the file and where it became shorter. */
size_t input_packed_at(const assay_input *in, uint64_t at, void *to, size_t n);
uint64_t input_packed_size(const assay_input *in);

/* The file of an archive that holds one; false for other archives. */
bool zip_find(const assay_input *in, struct zip_file *out);

/* Under lock: more text, or the end; may give the lock up meanwhile. */
void spread_wait(assay_input *in);
void spread_dropped(assay_input *in); /* there may be room */
void spread_close(assay_input *in);

#endif
