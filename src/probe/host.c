/* The machine under the GPUs: kernel, C library, and the settings that change timing. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/test.h"
#include "probe/probe.h"
#include "probe/file_bytes.h"

/* "glibc 2.36" and "2.36" are both seen. */
static const char *strip_glibc(assay_arena *a, const char *text)
{
	assay_str s = assay_str_trim(assay_str_of(text));
	if (assay_str_starts(s, "glibc"))
		s = assay_str_trim((assay_str){s.p + 5, s.n - 5});
	return s.n ? assay_dup(a, s) : NULL;
}

/* The C library of a root that is not running says its version in its own banner. */
static const char *glibc_of_root(assay_ctx *c)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",     "/lib64/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6",    "/usr/lib/libc.so.6"};
	const char *version = NULL;
	for (size_t i = 0; i < ASSAY_COUNT_OF(paths) && !version; i++) {
		assay_file_bytes m;
		if (assay_file_bytes_open(&m, &c->root, paths[i]) != ASSAY_CAUSE_NONE)
			continue;
		assay_str text = m.n < (64 << 20) ? assay_file_bytes_all(&m) : (assay_str){"", 0};
		ptrdiff_t at = assay_str_find(text, "stable release version ");
		if (at >= 0) {
			assay_str rest = {text.p + at + 23, text.n - (size_t)at - 23};
			size_t n = 0;
			while (n < rest.n && n < 16 &&
			       (rest.p[n] == '.' || assay_is_digit(rest.p[n])))
				n++;
			while (n && rest.p[n - 1] == '.')
				n--;
			version = n ? assay_dup(c->a, (assay_str){rest.p, n}) : NULL;
		}
		assay_file_bytes_close(&m);
	}
	return version;
}

static void ask_kernel(assay_ctx *c)
{
	struct utsname u;
	char buf[256];
	assay_env *e = c->env;
	if (uname(&u) == 0) {
		e->host.release = assay_dup(c->a, assay_str_of(u.release));
		e->host.version = assay_dup(c->a, assay_str_of(u.version));
		e->host.machine = assay_dup(c->a, assay_str_of(u.machine));
		assay_ctx_pair(c, &e->host_more, "hostname", u.nodename);
	} else {
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "host.kernel_release: uname failed");
	}
	size_t n = confstr(_CS_GNU_LIBC_VERSION, buf, sizeof buf);
	e->host.glibc = n && n <= sizeof buf ? strip_glibc(c->a, buf) : NULL;
}

static void ask_root(assay_ctx *c)
{
	assay_env *e = c->env;
	e->host.release = assay_ctx_text(c, "/proc/sys/kernel/osrelease");
	e->host.version = assay_ctx_text(c, "/proc/sys/kernel/version");
	e->host.glibc = glibc_of_root(c);
	e->host.machine = assay_root_is_file(&c->root, "/lib64/ld-linux-x86-64.so.2")  ? "x86_64"
			  : assay_root_is_file(&c->root, "/lib/ld-linux-aarch64.so.1") ? "aarch64"
										       : NULL;
	char *name = assay_ctx_text(c, "/etc/hostname");
	if (name)
		assay_ctx_pair(c, &e->host_more, "hostname", name);
	if (!e->host.release)
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "host.kernel_release: a root that is not running has no kernel");
}

/* One-value files that explain a slow or different run. */
static const struct {
	const char *key, *path;
} settings[] = {
	{"boot_id", "/proc/sys/kernel/random/boot_id"},
	{"numa_balancing", "/proc/sys/kernel/numa_balancing"},
	{"transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
	{"cpufreq_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
	{"smt", "/sys/devices/system/cpu/smt/control"},
};

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void os_name(assay_ctx *c)
{
	assay_str text;
	if (assay_root_read(&c->root, c->a, "/etc/os-release", 64 << 10, &text) != ASSAY_CAUSE_NONE)
		return;
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n');
		if (!assay_str_starts(line, "PRETTY_NAME="))
			continue;
		line = assay_str_trim((assay_str){line.p + 12, line.n - 12});
		if (line.n >= 2 && *line.p == '"')
			line = (assay_str){line.p + 1, line.n - 2};
		assay_ctx_pair(c, &c->env->host_more, "os", assay_dup(c->a, line));
	}
}

/* "always [madvise] never": the word in brackets is the setting. */
static const char *bracketed(assay_arena *a, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	return close ? assay_dup(a, (assay_str){open + 1, (size_t)(close - open - 1)}) : text;
}

/* Boot options that matter to GPUs; the rest of the command line may hold anything and stays
 * private. */
static void boot_options(assay_ctx *c)
{
	static const char *const wanted[] = {"iommu=",
					     "amd_iommu=",
					     "intel_iommu=",
					     "pci=",
					     "hugepages=",
					     "hugepagesz=",
					     "default_hugepagesz=",
					     "numa_balancing=",
					     "isolcpus=",
					     "nohz_full=",
					     "transparent_hugepage=",
					     "mitigations=",
					     "idle=",
					     "processor.max_cstate=",
					     "intel_idle.max_cstate=",
					     "amdgpu.",
					     "nvidia.",
					     "pcie_aspm="};
	char *text = assay_ctx_text(c, "/proc/cmdline");
	assay_str rest = assay_str_of(text);
	while (text && rest.n) {
		assay_str word = assay_str_trim(assay_str_cut(&rest, ' '));
		for (size_t i = 0; i < ASSAY_COUNT_OF(wanted); i++)
			if (assay_str_starts(word, wanted[i])) {
				assay_str key = assay_str_cut(&word, '=');
				assay_ctx_pair(c, &c->env->host_more,
					       assay_printf(c->a, "boot.%.*s", (int)key.n, key.p),
					       assay_dup(c->a, word));
				break;
			}
	}
}

static void memlock(assay_ctx *c)
{
	struct rlimit lim;
	if (!c->root.host || getrlimit(RLIMIT_MEMLOCK, &lim))
		return;
	assay_ctx_pair(c, &c->env->host_more, "memlock_limit",
		       lim.rlim_cur == RLIM_INFINITY
			       ? "unlimited"
			       : assay_printf(c->a, "%llu", (unsigned long long)lim.rlim_cur));
}

static void run(assay_ctx *c)
{
	assay_env *e = c->env;
	if (c->root.host)
		ask_kernel(c);
	else
		ask_root(c);
	if (!e->host.glibc)
		assay_ctx_reason(c, ASSAY_LEVEL_EXPECTED,
				 "host.glibc_version: no GNU C library found");
	os_name(c);
	for (size_t i = 0; i < ASSAY_COUNT_OF(settings); i++) {
		char *v = assay_ctx_text(c, settings[i].path);
		if (v)
			assay_ctx_pair(c, &e->host_more, settings[i].key, bracketed(c->a, v));
	}
	boot_options(c);
	memlock(c);
}

const assay_probe assay_probe_host = {.name = "host", .run = run};

TEST(glibc_version_strips_redundant_prefix)
{
	assay_arena a = {0};
	CHECK(!strcmp(strip_glibc(&a, "glibc 2.36"), "2.36"));
	CHECK(!strip_glibc(&a, "glibc "));
	assay_arena_free(&a);
	return 0;
}

TEST(glibc_version_unprefixed_value_passes_through)
{
	assay_arena a = {0};
	CHECK(!strcmp(strip_glibc(&a, "2.39"), "2.39"));
	assay_arena_free(&a);
	return 0;
}

TEST(bracketed_settings_are_the_setting)
{
	assay_arena a = {0};
	CHECK(!strcmp(bracketed(&a, "always [madvise] never"), "madvise"));
	CHECK(!strcmp(bracketed(&a, "performance"), "performance"));
	assay_arena_free(&a);
	return 0;
}
