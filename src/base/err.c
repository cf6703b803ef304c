/* Error filling; the only place that formats an assay_err. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "base/utf8.h"

bool assay_fail(assay_err *err, assay_code code, uint64_t pos, const char *fmt, ...)
{
	if (!err)
		return false;
	err->code = code;
	err->pos = pos;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	/* names of files and values of inputs are in it, and it goes to terminals */
	err->text[assay_utf8_tame(err->text, strlen(err->text))] = 0;
	return false;
}

TEST(fail_fills_the_error_and_returns_false)
{
	assay_err err = {0};
	CHECK(!assay_fail(&err, ASSAY_FORMAT, 7, "bad %s", "row"));
	CHECK(err.code == ASSAY_FORMAT && err.pos == 7);
	CHECK(!strcmp(err.text, "bad row"));
	assay_fail(&err, ASSAY_IO, 0, "cannot open %s", "x\x1b]0;title\x07");
	CHECK(!strcmp(err.text, "cannot open x?]0;title?"));
	CHECK(!assay_fail(NULL, ASSAY_IO, 0, "nobody asked"));
	return 0;
}
