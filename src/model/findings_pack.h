/* Findings as bytes (docs/formats/shard.md), for a program that puts those of many together. */
#ifndef ASSAY_MODEL_FINDINGS_PACK_H
#define ASSAY_MODEL_FINDINGS_PACK_H

#include "base/proto.h"
#include "model/run.h"

/* The tables of model/findings.h, and the counts of issues, as a message. */
void assay_findings_pack(assay_protow *w, const assay_part *part);
/* Into an empty part. False for anything that assay_findings_pack() of this version does not write;
 * no row or word of the part leads out of it then or otherwise. */
bool assay_findings_unpack(assay_part *part, assay_str message, assay_err *err);

#endif
