/* A program whose own profiler uses CUPTI's callbacks in every way there is, and prints what it is
 * told: without a recorder and beside one it must be the same. */
#include <stdio.h>
#include <unistd.h>

#include "fake.h"
#include "vendor/cupti.h"

int cuInit(unsigned flags);
int fake_launch(unsigned stream, const char *name);
int fake_record(unsigned event, unsigned stream);
int fake_get_device(void);
cupti_result cuptiSubscribe(void **subscriber, cupti_callback_fn *callback, void *data);
cupti_result cuptiUnsubscribe(void *subscriber);
cupti_result cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid);
cupti_result cuptiEnableDomain(uint32_t on, void *subscriber, int domain);
cupti_result cuptiEnableAllDomains(uint32_t on, void *subscriber);
cupti_result cuptiGetCallbackState(uint32_t *on, void *subscriber, int domain, uint32_t cbid);

enum { LAUNCH = FAKE_cudaLaunchKernel, RUNTIME = CUPTI_DOMAIN_RUNTIME };

typedef struct count {
	unsigned enter, leave;
} count;

static void on_call(void *data, int domain, uint32_t cbid, const void *info)
{
	count *n = data;
	(void)domain, (void)cbid;
	if (((const cupti_call *)info)->callbackSite == CUPTI_ENTER)
		n->enter++;
	else
		n->leave++;
}

static unsigned pause_us; /* calls of the recorder's own fall between ours */

static void work_and_print(const char *what, void *subscriber, count *n)
{
	uint32_t launches = 9;
	cupti_result rc = cuptiGetCallbackState(&launches, subscriber, RUNTIME, LAUNCH);
	*n = (count){0, 0};
	for (int i = 0; i < 5; i++) {
		fake_get_device();
		fake_launch(7, "kernel");
		fake_record(1, 7);
		usleep(pause_us);
	}
	printf("%s: %d %u, %u and %u\n", what, rc, launches, n->enter, n->leave);
}

int main(void)
{
	count n = {0, 0};
	void *mine = NULL, *second = NULL;
	cuInit(0);
	usleep(50000);
	printf("subscribe %d", cuptiSubscribe(&mine, on_call, &n));
	printf(", again %d\n", cuptiSubscribe(&second, on_call, &n));
	work_and_print("nothing on", mine, &n);
	cuptiEnableCallback(1, mine, RUNTIME, LAUNCH);
	usleep(300000); /* the recording may begin or end meanwhile */
	work_and_print("launches", mine, &n);
	cuptiEnableCallback(0, mine, RUNTIME, LAUNCH);
	work_and_print("off again", mine, &n);
	cuptiEnableDomain(1, mine, RUNTIME);
	work_and_print("all calls", mine, &n);
	cuptiEnableCallback(0, mine, RUNTIME, LAUNCH);
	work_and_print("without launches", mine, &n);
	cuptiEnableDomain(0, mine, RUNTIME);
	work_and_print("none", mine, &n);
	cuptiEnableAllDomains(1, mine);
	pause_us = 20000;
	work_and_print("all domains", mine, &n);
	pause_us = 0;
	cuptiEnableAllDomains(0, mine);
	work_and_print("no domain", mine, &n);
	cuptiEnableCallback(1, mine, RUNTIME, LAUNCH);
	printf("unsubscribe %d\n", cuptiUnsubscribe(mine));
	n = (count){0, 0};
	fake_launch(7, "kernel");
	printf("told after that: %u\n", n.enter);
	printf("subscribe %d\n", cuptiSubscribe(&mine, on_call, &n));
	work_and_print("anew", mine, &n);
	return 0;
}
