#include "write/sdk_names.h"

const char *assay_sdk_domain(const assay_run *run, uint32_t host)
{
	static const struct {
		const char *start, *domain;
	} domains[] = {
		{"__hip", "HIP_COMPILER_API_EXT"},
		{"hip", "HIP_RUNTIME_API_EXT"},
		{"hsa_amd", "HSA_AMD_EXT_API"},
		{"hsa", "HSA_CORE_API"},
		{"nccl", "RCCL_API"},
	};
	const assay_host_table *t = &run->part.t.host;
	for (size_t i = 0; i < ASSAY_COUNT_OF(domains); i++)
		if (assay_str_starts(assay_text(run, t->name[host]), domains[i].start))
			return domains[i].domain;
	return t->kind[host] == ASSAY_HOST_DRIVER ? "CUDA_DRIVER_API" : "CUDA_RUNTIME_API";
}
