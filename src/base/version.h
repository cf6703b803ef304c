/* Version texts ("5.10", "2.11.0+cu130", "6.4.1-12", "3.9rc1") in the order people mean. */
#ifndef ASSAY_BASE_VERSION_H
#define ASSAY_BASE_VERSION_H

#include "base/str.h"

/* Below, at or above zero as a is older than, equal to or newer than b. Numbers compare as numbers;
 * rc, a, b, dev, pre, alpha, beta come before the release they lead to, any other suffix after it.
 */
int assay_version_cmp(assay_str a, assay_str b);

/* Digits first, at least one dot: something assay_version_cmp() can order. */
bool assay_version_like(assay_str s);

#endif
