/* What an input may cost. Each limit is met with a sentence and what was read so far, and each
 * grows with the bytes of the input where real inputs need it: a small file cannot ask for much.
 */
#ifndef ASSAY_BASE_LIMITS_H
#define ASSAY_BASE_LIMITS_H

enum {
	/* Text of a packed input: a base, and so many times the packed bytes read. Real traces pack
	 * to a tenth to a fiftieth. */
	ASSAY_LIMIT_TEXT = 32 << 20,
	ASSAY_LIMIT_TEXT_RATIO = 128,
	/* Packets packed inside a trace, in the same way: they are dense already, and real ones
	 * pack to a fifth to a fifteenth. */
	ASSAY_LIMIT_PACKETS = 8 << 20,
	ASSAY_LIMIT_PACKETS_RATIO = 32,
	/* One record of a packed input, in the same way (and what 64 threads have open); of a pipe;
	 * of a plain file: its size. */
	ASSAY_LIMIT_RECORD = 96 << 20,
	ASSAY_LIMIT_RECORD_RATIO = 64,
	ASSAY_LIMIT_RECORD_PIPE = 1 << 30,
	/* Arguments of events, spelled out: a few bytes can ask for any number of long names. */
	ASSAY_LIMIT_ARGS = 64 << 20,
	ASSAY_LIMIT_ARGS_RATIO = 16,
	/* Files below one folder: sixteen for each of 16,384 ranks. */
	ASSAY_LIMIT_FILES = 1 << 18,
	/* Processes in one rocpd database, and bytes of the inputs that allow one more. */
	ASSAY_LIMIT_ROCPD = 96,
	ASSAY_LIMIT_ROCPD_BYTES = 64 << 10,
};

#endif
