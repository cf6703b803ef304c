/* Which of the 1,300 functions get a row. Most calls of a framework ask for a device, an error or a
 * pointer's kind; nobody wants them, and each costs the program time. */
#include <stdio.h>
#include <string.h>

#include "names/calls.h"
#include "record/cuda_share.h"
#include "record/cuda_subscription.h"

/* Calls that launch, copy, allocate, order or wait. Work and waits carry their device. */
static bool call_counts(const char *name)
{
	uint8_t does = assay_call_meaning_of(name, strlen(name)).does;
	return does != ASSAY_DOES_OTHER && does != ASSAY_DOES_CHOOSE_DEVICE;
}

/* cudaLaunchKernel_ptsz_v7000 -> cudaLaunchKernel_ptsz: the suffix says since when, not what. */
static void plain_name(char *to, size_t size, const char *name, int domain)
{
	snprintf(to, size, "%s", name);
	char *v = domain == CUPTI_DOMAIN_RUNTIME ? strrchr(to, '_') : NULL;
	if (v && v[1] == 'v' && strspn(v + 2, "0123456789") == strlen(v + 2) && strlen(v + 2) >= 4)
		*v = 0;
}

static void write_name(int domain, uint32_t cbid, const char *name)
{
	char plain[128];
	plain_name(plain, sizeof plain, name, domain);
	assay_rt_name_call(domain == CUPTI_DOMAIN_DRIVER ? ASSAY_WIRE_DRIVER : ASSAY_WIRE_RUNTIME,
			   cbid, plain);
}

/* By domain and callback id; written once, before anything is enabled. */
static bool chosen[3][CUPTI_CBID_MAX];

bool assay_cuda_chosen(int domain, uint32_t cbid)
{
	return cbid < CUPTI_CBID_MAX && chosen[domain][cbid];
}

/* What the runtime does by one call of the driver's, under the same number, can be seen there
 * alone: two callbacks instead of four, but with names that the program did not write. */
static bool is_left_to_driver(int domain, const char *name)
{
	const assay_rt_config *conf = assay_rt_conf();
	return domain == CUPTI_DOMAIN_RUNTIME && conf->driver_launches && !conf->no_driver &&
	       !conf->all_api && assay_callback_launches(name);
}

static void choose(const cupti_lib *c, int domain, bool all)
{
	for (uint32_t cbid = 1; cbid < CUPTI_CBID_MAX; cbid++) {
		const char *name = NULL;
		if (c->callback_name(domain, cbid, &name) != CUPTI_OK || !name || !*name)
			continue;
		if ((!all && !call_counts(name)) || is_left_to_driver(domain, name))
			continue;
		chosen[domain][cbid] = true;
		assay_callback_watch(domain, cbid, name);
		write_name(domain, cbid, name);
	}
}

void assay_cuda_choose_calls(const cupti_lib *c, const assay_rt_config *conf)
{
	if (conf->no_api)
		return;
	choose(c, CUPTI_DOMAIN_RUNTIME, conf->all_api);
	if (!conf->no_driver)
		choose(c, CUPTI_DOMAIN_DRIVER, conf->all_api);
}

/* CUPTI's records of the chosen calls of a domain; before 12.5 it knows only all or none. */
static void switch_records(const cupti_lib *c, int domain, bool on)
{
	bool runtime = domain == CUPTI_DOMAIN_RUNTIME;
	int kind = runtime ? CUPTI_RUNTIME : CUPTI_DRIVER;
	cupti_result (*one)(uint32_t, uint8_t) =
		runtime ? c->enable_runtime_api : c->enable_driver_api;
	if (!one)
		(on ? c->enable : c->disable)(kind);
	for (uint32_t cbid = 1; one && cbid < CUPTI_CBID_MAX; cbid++)
		if (chosen[domain][cbid])
			one(cbid, on);
}

void assay_cuda_switch_records(const cupti_lib *c, bool on)
{
	const assay_rt_config *conf = assay_rt_conf();
	if (!conf->no_api && !assay_share_wants(CUPTI_RUNTIME))
		switch_records(c, CUPTI_DOMAIN_RUNTIME, on);
	if (!conf->no_api && !conf->no_driver && !assay_share_wants(CUPTI_DRIVER))
		switch_records(c, CUPTI_DOMAIN_DRIVER, on);
}

void assay_cuda_disable_calls(const cupti_lib *c)
{
	assay_cuda_switch_records(c, false);
	if (c->enable_driver_api && !assay_share_wants(CUPTI_DRIVER))
		c->enable_driver_api(CUPTI_DRIVER_GET_VERSION, 0);
	assay_subscription_renew(); /* the other's */
}

void assay_cuda_enable_calls(const cupti_lib *c)
{
	if (!assay_cuda_on())
		return;
	if (assay_callback_on())
		assay_subscription_renew();
	else
		assay_cuda_switch_records(c, true);
	if (c->enable_driver_api)
		c->enable_driver_api(CUPTI_DRIVER_GET_VERSION, 1); /* cuda.c: are we still heard? */
}
