/* GPU packages of the distribution, from dpkg's own text file. */
#include "probe/probe.h"

static const char *const prefixes[] = {"rocm",          "roc",
				       "hip",           "amdgpu",
				       "amdrocm",       "amdsmi",
				       "libamdhip",     "librocm",
				       "librocblas",    "librocsparse",
				       "librocrand",    "libhsa",
				       "libhip",        "miopen",
				       "rccl",          "librccl",
				       "libmiopen",     "composablekernel",
				       "cuda-",         "libcudnn",
				       "libnccl",       "libcublas",
				       "nvidia-driver", "nvidia-dkms",
				       "nvidia-kernel", "libnvidia-compute",
				       "libcupti",      "openmpi",
				       "libopenmpi",    "libibverbs"};

static bool wanted(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(prefixes); i++)
		if (assay_str_starts(name, prefixes[i]))
			return true;
	return false;
}

static void run(assay_ctx *c)
{
	assay_str text, name = {0}, version = {0};
	bool installed = false;
	assay_cause cause =
		assay_root_read(&c->root, c->a, "/var/lib/dpkg/status", 64 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE && cause != ASSAY_CAUSE_MISSING)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR,
				 "assay.system_packages: /var/lib/dpkg/status %s",
				 assay_cause_text(cause));
	while (text.n || name.n) {
		assay_str line = assay_str_cut(&text, '\n');
		if (assay_str_starts(line, "Package: ")) {
			name = (assay_str){line.p + 9, line.n - 9};
		} else if (assay_str_starts(line, "Status: ")) {
			installed = assay_str_ends(line, " installed");
		} else if (assay_str_starts(line, "Version: ")) {
			version = (assay_str){line.p + 9, line.n - 9};
		} else if (!line.n) {
			if (installed && name.n && version.n && wanted(name))
				assay_ctx_pair(c, &c->env->system_packages, assay_dup(c->a, name),
					       assay_dup(c->a, version));
			name = version = (assay_str){0};
			installed = false;
		}
	}
}

const assay_probe assay_probe_packages = {.name = "system_packages", .run = run};
