#include "record/cuda_subscription.h"

#include <pthread.h>
#include <stddef.h>

#include "record/cuda.h"

enum { OURS = 1, THEIRS = 2, DOMAINS = 8 };

_Atomic(cupti_callback_fn *) assay_subscription_other;

static struct {
	const cupti_lib *cupti;
	pthread_mutex_t joining; /* not held while anything is called back */
	int members;             /* under it */
	_Atomic(void *) handle;  /* NULL: nobody is a member */
	_Atomic(void *) their_data;
	_Atomic int they_are_in;
	_Atomic uint8_t wanted[DOMAINS][CUPTI_CBID_MAX]; /* by whom */
} sub = {.joining = PTHREAD_MUTEX_INITIALIZER};

static bool is_known(int domain, uint32_t cbid)
{
	return domain > 0 && domain < DOMAINS && cbid < CUPTI_CBID_MAX;
}

static cupti_result switch_one(int member, bool on, int domain, uint32_t cbid)
{
	_Atomic uint8_t *wanted = &sub.wanted[domain][cbid];
	void *handle = atomic_load(&sub.handle);
	if (on) {
		atomic_fetch_or(wanted, (uint8_t)member);
		return sub.cupti->enable_callback(1, handle, domain, cbid);
	}
	if (atomic_fetch_and(wanted, (uint8_t)~member) & ~member)
		return CUPTI_OK;
	cupti_result rc = sub.cupti->enable_callback(0, handle, domain, cbid);
	if (atomic_load(wanted)) /* by the other, meanwhile */
		sub.cupti->enable_callback(1, handle, domain, cbid);
	return rc;
}

/* Not with CUPTI's switch of a domain: it would have our calls unseen for a moment. */
static void switch_domain_off(int member, int domain)
{
	for (uint32_t cbid = 0; cbid < CUPTI_CBID_MAX; cbid++)
		if (atomic_load(&sub.wanted[domain][cbid]) & member)
			switch_one(member, false, domain, cbid);
}

static cupti_result join(int member)
{
	const cupti_lib *c = sub.cupti;
	void *handle = NULL;
	cupti_result rc = CUPTI_OK;
	if (!c->subscribe || !c->unsubscribe || !c->enable_callback)
		return CUPTI_INVALID_PARAMETER;
	pthread_mutex_lock(&sub.joining);
	if (!sub.members) {
		rc = c->subscribe(&handle, assay_callback, NULL);
		if (rc == CUPTI_OK)
			atomic_store(&sub.handle, handle);
	}
	if (rc == CUPTI_OK)
		sub.members |= member;
	pthread_mutex_unlock(&sub.joining);
	return rc;
}

static void leave(int member)
{
	pthread_mutex_lock(&sub.joining);
	bool was = sub.members & member;
	sub.members &= ~member;
	for (int domain = 1; was && domain < DOMAINS; domain++)
		switch_domain_off(member, domain);
	if (was && !sub.members)
		sub.cupti->unsubscribe(atomic_exchange(&sub.handle, NULL));
	pthread_mutex_unlock(&sub.joining);
}

/* ---- ours ---- */

void assay_subscription_of(const cupti_lib *c)
{
	sub.cupti = c;
}

bool assay_subscription_join(void)
{
	return join(OURS) == CUPTI_OK;
}

void assay_subscription_want(int domain, uint32_t cbid)
{
	atomic_fetch_or(&sub.wanted[domain][cbid], OURS);
}

void assay_subscription_leave(void)
{
	leave(OURS);
}

void assay_subscription_renew(void)
{
	void *handle = atomic_load(&sub.handle);
	for (int domain = 1; handle && domain < DOMAINS; domain++)
		for (uint32_t cbid = 0; cbid < CUPTI_CBID_MAX; cbid++)
			if (atomic_load(&sub.wanted[domain][cbid]))
				sub.cupti->enable_callback(1, handle, domain, cbid);
}

void assay_subscription_pass(int domain, uint32_t cbid, const void *info)
{
	cupti_callback_fn *other = atomic_load(&assay_subscription_other);
	bool theirs =
		!is_known(domain, cbid) || (atomic_load(&sub.wanted[domain][cbid]) & THEIRS) != 0;
	if (other && theirs)
		other(atomic_load(&sub.their_data), domain, cbid, info);
}

void assay_subscription_forked(void)
{
	pthread_mutex_init(&sub.joining, NULL);
}

/* ---- the other's ---- */

static bool is_theirs(const void *handle)
{
	return handle && atomic_load(&sub.they_are_in) && handle == atomic_load(&sub.handle);
}

/* One that comes second gets CUPTI's own answer. */
cupti_result assay_subscription_subscribe(void **handle, cupti_callback_fn *callback, void *data)
{
	int none = 0;
	if (!sub.cupti->subscribe)
		return CUPTI_INVALID_PARAMETER;
	if (!handle || !atomic_compare_exchange_strong(&sub.they_are_in, &none, 1))
		return sub.cupti->subscribe(handle, callback, data);
	cupti_result rc = join(THEIRS);
	if (rc != CUPTI_OK) {
		atomic_store(&sub.they_are_in, 0);
		return rc;
	}
	*handle = atomic_load(&sub.handle);
	atomic_store(&sub.their_data, data);
	atomic_store(&assay_subscription_other, callback);
	return rc;
}

void assay_subscription_end_other(void)
{
	atomic_store(&assay_subscription_other, NULL);
	leave(THEIRS);
	atomic_store(&sub.they_are_in, 0);
}

cupti_result assay_subscription_unsubscribe(void *handle)
{
	if (!is_theirs(handle))
		return sub.cupti->unsubscribe ? sub.cupti->unsubscribe(handle)
					      : CUPTI_INVALID_PARAMETER;
	assay_subscription_end_other();
	return CUPTI_OK;
}

cupti_result assay_subscription_switch(uint32_t on, void *handle, int domain, uint32_t cbid)
{
	if (!sub.cupti->enable_callback)
		return CUPTI_INVALID_PARAMETER;
	return is_theirs(handle) && is_known(domain, cbid)
		       ? switch_one(THEIRS, on, domain, cbid)
		       : sub.cupti->enable_callback(on, handle, domain, cbid);
}

static void want_domain(int domain)
{
	for (uint32_t cbid = 0; cbid < CUPTI_CBID_MAX; cbid++)
		atomic_fetch_or(&sub.wanted[domain][cbid], THEIRS);
}

cupti_result assay_subscription_switch_domain(uint32_t on, void *handle, int domain)
{
	bool known = is_theirs(handle) && is_known(domain, 0);
	if (known && !on) {
		switch_domain_off(THEIRS, domain);
		return CUPTI_OK;
	}
	if (known)
		want_domain(domain);
	return sub.cupti->enable_domain ? sub.cupti->enable_domain(on, handle, domain)
					: CUPTI_INVALID_PARAMETER;
}

cupti_result assay_subscription_switch_all(uint32_t on, void *handle)
{
	bool theirs = is_theirs(handle);
	for (int domain = 1; theirs && domain < DOMAINS; domain++)
		if (on)
			want_domain(domain);
		else
			switch_domain_off(THEIRS, domain);
	if (theirs && !on)
		return CUPTI_OK;
	return sub.cupti->enable_all_domains ? sub.cupti->enable_all_domains(on, handle)
					     : CUPTI_INVALID_PARAMETER;
}

cupti_result assay_subscription_state(uint32_t *on, void *handle, int domain, uint32_t cbid)
{
	if (is_theirs(handle) && is_known(domain, cbid) && on) {
		*on = (atomic_load(&sub.wanted[domain][cbid]) & THEIRS) != 0;
		return CUPTI_OK;
	}
	return sub.cupti->callback_state ? sub.cupti->callback_state(on, handle, domain, cbid)
					 : CUPTI_INVALID_PARAMETER;
}
