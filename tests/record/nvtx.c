/* Through the vendor's own NVTX headers. */
#include <nvtx3/nvToolsExt.h>

int main(void)
{
	nvtxRangePushA("plain");
	nvtxRangePop();
	nvtxMarkW(L"m\u00e4rk");
	nvtxDomainHandle_t d = nvtxDomainCreateA("dom");
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
				   .message.registered =
					   nvtxDomainRegisterStringA(d, "registered")};
	nvtxDomainRangePushEx(d, &a);
	nvtxDomainRangePop(d);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "span";
	nvtxDomainRangeEnd(d, nvtxDomainRangeStartEx(d, &a));
	return 0;
}
