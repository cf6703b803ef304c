/* The one variable through which `assay record` configures recorders. */
#ifndef ASSAY_RECORD_CONF_H
#define ASSAY_RECORD_CONF_H

#include "record/rt.h"

#define ASSAY_RECORD_VERSION "0.1.0"

/* "1;dir=...;flush=100;..." into conf, defaults for what is not said. False: no recording. */
bool assay_conf_parse(const char *text, assay_rt_config *conf);

#endif
