/* GPU packages of the distribution: dpkg's text file, RPM's database, pacman's folders. */
#include "probe/packages.h"

#include <dirent.h>

#include "base/test.h"

#define DPKG_STATUS "/var/lib/dpkg/status"
#define PACMAN      "/var/lib/pacman/local"

static const char *const prefixes[] = {"rocm",
				       "roc",
				       "hip",
				       "hsa-rocr",
				       "amdgpu",
				       "amdrocm",
				       "amdsmi",
				       "libamdhip",
				       "libamd-comgr",
				       "libroc",
				       "libhsa",
				       "libhip",
				       "miopen",
				       "libmiopen",
				       "rccl",
				       "librccl",
				       "composable",
				       "cuda-",
				       "cudnn",
				       "libcudnn",
				       "nccl",
				       "libnccl",
				       "libcublas",
				       "libcudart",
				       "libcufft",
				       "libcurand",
				       "libcusolver",
				       "libcusparse",
				       "libnvjitlink",
				       "libnvrtc",
				       "libcupti",
				       "nvidia-",
				       "kmod-nvidia",
				       "akmod-nvidia",
				       "xorg-x11-drv-nvidia",
				       "libnvidia-ml",
				       "libnvidia-compute",
				       "openmpi",
				       "libopenmpi",
				       "libibverbs",
				       "rdma-core",
				       "libfabric",
				       "ucx",
				       "aws-ofi-nccl"};

bool assay_is_gpu_package(assay_str name)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(prefixes); i++)
		if (assay_str_starts(name, prefixes[i]))
			return true;
	return assay_str_is(name, "cuda");
}

const char *assay_upstream_version(assay_arena *a, const char *version)
{
	const char *colon = strchr(version, ':');
	version = colon ? colon + 1 : version;
	return assay_dup(a, (assay_str){version, strcspn(version, "+-~")});
}

const assay_installed *assay_ctx_installed(const assay_ctx *c, const char *name)
{
	for (size_t i = 0; i < c->installed.n; i++)
		if (!strcmp(c->installed.p[i].name, name))
			return &c->installed.p[i];
	return NULL;
}

/* What a removed package leaves behind keeps its stanza, with another status. */
static void dpkg(assay_ctx *c)
{
	assay_str text, name = {0}, version = {0};
	bool installed = false;
	assay_cause cause = assay_root_read(&c->root, c->a, DPKG_STATUS, 64 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE && cause != ASSAY_CAUSE_MISSING)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.system_packages: " DPKG_STATUS " %s",
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
			if (installed && name.n && version.n)
				*assay_push(&c->installed) = (assay_installed){
					"dpkg", assay_dup(c->a, name), assay_dup(c->a, version)};
			name = version = (assay_str){0};
			installed = false;
		}
	}
}

/* A folder a package: NAME-VERSION-RELEASE. */
static void pacman(assay_ctx *c)
{
	const assay_entries *names = assay_ctx_list(c, PACMAN, NULL);
	for (size_t i = 0; i < names->n; i++) {
		char *name = assay_dup(c->a, assay_str_of(names->p[i].name));
		char *cut = names->p[i].type == DT_DIR ? strrchr(name, '-') : NULL;
		while (cut && cut > name && *--cut != '-')
			;
		if (!cut || cut == name)
			continue;
		*cut = 0;
		*assay_push(&c->installed) = (assay_installed){"pacman", name, cut + 1};
	}
}

static void run(assay_ctx *c)
{
	dpkg(c);
	pacman(c);
	assay_rpm_list(c);
	for (size_t i = 0; i < c->installed.n; i++)
		if (assay_is_gpu_package(assay_str_of(c->installed.p[i].name)))
			assay_ctx_pair(c, &c->env->system_packages, c->installed.p[i].name,
				       c->installed.p[i].version);
}

const assay_probe assay_probe_packages = {.name = "system_packages", .run = run};

TEST(versions_of_packages_lose_epoch_and_packaging)
{
	assay_arena a = {0};
	CHECK(!strcmp(assay_upstream_version(&a, "1:5.5.1+dfsg-2"), "5.5.1"));
	CHECK(!strcmp(assay_upstream_version(&a, "6.4.3-1.fc42"), "6.4.3"));
	assay_arena_free(&a);
	return 0;
}
