/* What comes of a loader that keeps up with the device. */
#include "base/fmt.h"
#include "find/idle_tell.h"

bool assay_idle_weigh_data(const assay_find_ctx *c, assay_found *f)
{
	assay_data_waits own;
	double share[2];
	char time[ASSAY_FMT];
	if (f->once || !c->worth || !assay_worth_without_data_waits(c->worth, &own, share))
		return false;
	int64_t least = (int64_t)(share[0] * (double)c->whole),
		most = (int64_t)(share[1] * (double)c->whole);
	f->saved = most;
	f->replayed = true;
	if (least < most) {
		f->least = least > 0 ? least : 1;
		f->most = most;
	}
	if (own.least > 0)
		assay_found_add_fact(
			f, assay_printf(c->scratch,
					"a batch that is ready takes the thread %s, which stay",
					assay_fmt_time(time, own.least)));
	if (own.most > 0 && most > 0 && most < c->whole)
		assay_found_add_fact(
			f, assay_printf(c->scratch,
					"to keep up, the loader must be %.1f times as fast",
					(double)c->whole / (double)(c->whole - most)));
	return true;
}
