/* How the machine is built around its GPUs: PCI links, power caps, firmware by block, network
 * cards, processors. One table a folder of /sys; a file that is not there says nothing. */
#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/version.h"
#include "probe/probe.h"

typedef struct fact {
	const char *file, *key;
} fact;

static void take(assay_ctx *c, assay_pairs *to, const char *prefix, const char *dir,
		 const fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *v = assay_ctx_text(c, assay_printf(c->a, "%s/%s", dir, facts[i].file));
		if (v && *v && strcmp(v, "-1")) /* the kernel's word for unknown */
			assay_ctx_pair(c, to, assay_printf(c->a, "%s%s", prefix, facts[i].key), v);
	}
}

/* Name of the folder a link leads to: device/driver -> mlx5_core. */
static const char *linked(assay_ctx *c, const char *path)
{
	const char *real = assay_root_real(&c->root, c->a, path),
		   *slash = real ? strrchr(real, '/') : NULL;
	return slash && assay_root_exists(&c->root, real) ? slash + 1 : NULL;
}

/* ---- GPUs ---- */

static const fact slot_facts[] = {{"numa_node", "numa_node"},
				  {"max_link_speed", "max_link_speed"},
				  {"max_link_width", "max_link_width"},
				  {"current_link_width", "link_width"}};
static const fact slot_live[] = {{"current_link_speed", "link_speed"}};

static const fact amd_facts[] = {{"mem_info_vram_total", "vram_bytes"},
				 {"mem_info_vram_vendor", "vram_vendor"},
				 {"ras/features", "ras_features"},
				 {"revision", "revision"}};
static const fact amd_live[] = {{"ras/umc_err_count", "ras_umc"},
				{"ras/gfx_err_count", "ras_gfx"},
				{"ras/sdma_err_count", "ras_sdma"},
				{"ras/xgmi_wafl_err_count", "ras_xgmi"}};

static void firmware_blocks(assay_ctx *c, assay_gpu *g, const char *dir)
{
	const char *folder = assay_printf(c->a, "%s/fw_version", dir);
	const assay_entries *names = assay_ctx_list(c, folder, NULL);
	for (size_t i = 0; i < names->n; i++) {
		assay_str name = assay_str_of(names->p[i].name);
		char *v = assay_ctx_text(c, assay_printf(c->a, "%s/%s", folder, name.p));
		if (v && assay_str_ends(name, "_fw_version"))
			assay_ctx_pair(c, &g->more,
				       assay_printf(c->a, "firmware.%.*s",
						    (int)(name.n - strlen("_fw_version")), name.p),
				       v);
	}
}

static void power_cap(assay_ctx *c, assay_gpu *g, const char *dir)
{
	static const fact caps[] = {{"power1_cap", "power_cap_uw"},
				    {"power1_cap_max", "power_cap_max_uw"}};
	const char *folder = assay_printf(c->a, "%s/hwmon", dir);
	const assay_entries *names = assay_ctx_list(c, folder, NULL);
	for (size_t i = 0; i < names->n; i++)
		if (!strncmp(names->p[i].name, "hwmon", 5))
			take(c, &g->more, "", assay_printf(c->a, "%s/%s", folder, names->p[i].name),
			     caps, ASSAY_COUNT_OF(caps));
}

/* "0: 500Mhz\n1: 2100Mhz *": the last level is the highest. */
static void highest_clock(assay_ctx *c, assay_gpu *g, const char *dir, const fact *f)
{
	char *text = assay_ctx_text(c, assay_printf(c->a, "%s/%s", dir, f->file));
	const char *line = text ? strrchr(text, '\n') : NULL;
	const char *level = strstr(line ? line : text ? text : "", ": ");
	if (level)
		assay_ctx_pair(c, &g->more, f->key,
			       assay_dup(c->a, (assay_str){level + 2, strcspn(level + 2, "Mm* ")}));
}

static void amd_card(assay_ctx *c, assay_gpu *g, const char *dir, const char *live)
{
	static const fact clocks[] = {{"pp_dpm_sclk", "max_sclk_mhz"},
				      {"pp_dpm_mclk", "max_mclk_mhz"}};
	take(c, &g->more, "", dir, amd_facts, ASSAY_COUNT_OF(amd_facts));
	take(c, &c->env->live, live, dir, amd_live, ASSAY_COUNT_OF(amd_live));
	firmware_blocks(c, g, dir);
	power_cap(c, g, dir);
	for (size_t i = 0; i < ASSAY_COUNT_OF(clocks); i++)
		highest_clock(c, g, dir, &clocks[i]);
}

/* /sys writes four digits of domain in lower case, NVML eight in upper. */
static const char *slot_of(assay_ctx *c, const char *bus)
{
	unsigned domain, at, device, function;
	if (sscanf(bus, "%x:%x:%x.%x", &domain, &at, &device, &function) != 4)
		return NULL;
	return assay_printf(c->a, "/sys/bus/pci/devices/%04x:%02x:%02x.%x", domain, at, device,
			    function);
}

static void gpus(assay_ctx *c)
{
	for (size_t i = 0; i < c->env->gpus.n; i++) {
		assay_gpu *g = &c->env->gpus.p[i];
		const char *dir = g->bus ? slot_of(c, g->bus) : NULL;
		if (!dir)
			continue;
		const char *live = assay_printf(c->a, "%s.", g->bus);
		take(c, &g->more, "", dir, slot_facts, ASSAY_COUNT_OF(slot_facts));
		take(c, &c->env->live, live, dir, slot_live, ASSAY_COUNT_OF(slot_live));
		if (!strcmp(g->source, "kfd"))
			amd_card(c, g, dir, live);
	}
}

/* ---- network ---- */

static const fact rdma_facts[] = {{"fw_ver", "fw_ver"},
				  {"hca_type", "hca_type"},
				  {"board_id", "board_id"},
				  {"node_guid", "node_guid"},
				  {"device/numa_node", "numa_node"},
				  {"device/max_link_speed", "pcie_max_speed"},
				  {"device/max_link_width", "pcie_max_width"},
				  {"device/current_link_width", "pcie_width"}};
static const fact port_facts[] = {{"state", "state"},
				  {"phys_state", "phys_state"},
				  {"rate", "rate"},
				  {"link_layer", "link_layer"}};

static void rdma(assay_ctx *c)
{
	static const char top[] = "/sys/class/infiniband";
	const assay_entries *devices = assay_ctx_list(c, top, NULL);
	for (size_t i = 0; i < devices->n; i++) {
		const char *name = devices->p[i].name,
			   *dir = assay_printf(c->a, "%s/%s", top, name);
		const char *driver = linked(c, assay_printf(c->a, "%s/device/driver", dir));
		take(c, &c->env->nics, assay_printf(c->a, "%s.", name), dir, rdma_facts,
		     ASSAY_COUNT_OF(rdma_facts));
		if (driver)
			assay_ctx_pair(c, &c->env->nics, assay_printf(c->a, "%s.driver", name),
				       driver);
		const char *ports = assay_printf(c->a, "%s/ports", dir);
		const assay_entries *numbers = assay_ctx_list(c, ports, NULL);
		for (size_t k = 0; k < numbers->n; k++) {
			const char *port = numbers->p[k].name;
			take(c, &c->env->nics, assay_printf(c->a, "%s.port%s.", name, port),
			     assay_printf(c->a, "%s/%s", ports, port), port_facts,
			     ASSAY_COUNT_OF(port_facts));
		}
	}
}

static const fact net_facts[] = {{"mtu", "mtu"},
				 {"speed", "speed_mbit"},
				 {"operstate", "state"},
				 {"device/vendor", "pci_vendor"},
				 {"device/device", "pci_device"},
				 {"device/numa_node", "numa_node"}};

/* Of the kernel that runs, the driver itself knows its firmware. */
static void ask_driver(assay_ctx *c, const char *name)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ask = {.ifr_data = (void *)&info};
	int fd = c->root.host ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	if (fd < 0)
		return;
	snprintf(ask.ifr_name, sizeof ask.ifr_name, "%s", name);
	if (ioctl(fd, SIOCETHTOOL, &ask) == 0 && info.fw_version[0] &&
	    strcmp(info.fw_version, "N/A"))
		assay_ctx_pair(
			c, &c->env->nics, assay_printf(c->a, "%s.firmware", name),
			assay_printf(c->a, "%.*s", (int)sizeof info.fw_version, info.fw_version));
	close(fd);
}

/* Interfaces with hardware behind them; bridges and tunnels have no device. */
static void ethernet(assay_ctx *c)
{
	static const char top[] = "/sys/class/net";
	const assay_entries *names = assay_ctx_list(c, top, NULL);
	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->p[i].name, *dir = assay_printf(c->a, "%s/%s", top, name);
		const char *driver = linked(c, assay_printf(c->a, "%s/device/driver", dir));
		if (!driver)
			continue;
		take(c, &c->env->nics, assay_printf(c->a, "%s.", name), dir, net_facts,
		     ASSAY_COUNT_OF(net_facts));
		assay_ctx_pair(c, &c->env->nics, assay_printf(c->a, "%s.driver", name), driver);
		ask_driver(c, name);
	}
}

/* ---- processors and compilers ---- */

/* How many folders are named prefix and a number. */
static int numbered(assay_ctx *c, const char *dir, const char *prefix)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	size_t skip = strlen(prefix);
	int n = 0;
	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->p[i].name;
		n += !strncmp(name, prefix, skip) && name[skip] &&
		     strspn(name + skip, "0123456789") == strlen(name + skip);
	}
	return n;
}

static assay_str cpu_line(assay_str text, const char *key)
{
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n');
		if (!assay_str_starts(line, key))
			continue;
		assay_str_cut(&line, ':');
		return assay_str_trim(line);
	}
	return (assay_str){"", 0};
}

/* Processors, and the sockets they are numbered by; 0 when they are not. */
static void count_cpus(assay_str text, int *cpus, int *sockets)
{
	*cpus = *sockets = 0;
	while (text.n) {
		assay_str line = assay_str_cut(&text, '\n');
		int64_t id;
		*cpus += assay_str_starts(line, "processor\t");
		if (!assay_str_starts(line, "physical id"))
			continue;
		assay_str_cut(&line, ':');
		if (assay_str_i64(assay_str_trim(line), &id) && id >= *sockets)
			*sockets = (int)id + 1;
	}
}

static void processors(assay_ctx *c)
{
	static const fact facts[] = {{"microcode", "cpu_microcode"},
				     {"cpu cores", "cores_a_socket"}};
	assay_pairs *to = &c->env->host_more;
	assay_str text;
	char sha[65];
	int cpus, sockets;
	if (assay_root_read(&c->root, c->a, "/proc/cpuinfo", 16 << 20, &text) != ASSAY_CAUSE_NONE)
		return;
	assay_str model = cpu_line(text, "model name");
	count_cpus(text, &cpus, &sockets);
	assay_ctx_pair(c, to, "cpu_model", model.n ? assay_dup(c->a, model) : NULL);
	assay_ctx_pair(c, to, "cpus", assay_printf(c->a, "%d", cpus));
	for (size_t i = 0; i < ASSAY_COUNT_OF(facts); i++) {
		assay_str v = cpu_line(text, facts[i].file);
		if (v.n)
			assay_ctx_pair(c, to, facts[i].key, assay_dup(c->a, v));
	}
	assay_str flags = cpu_line(text, "flags");
	flags = flags.n ? flags : cpu_line(text, "Features");
	assay_sha256_hex(flags.p, flags.n, sha);
	if (flags.n)
		assay_ctx_pair(c, to, "cpu_flags_hash", assay_printf(c->a, "sha256:%.16s", sha));
	if (sockets)
		assay_ctx_pair(c, to, "cpu_sockets", assay_printf(c->a, "%d", sockets));
	int nodes = numbered(c, "/sys/devices/system/node", "node");
	if (nodes)
		assay_ctx_pair(c, to, "numa_nodes", assay_printf(c->a, "%d", nodes));
}

static void memory(assay_ctx *c)
{
	assay_str text;
	if (assay_root_read(&c->root, c->a, "/proc/meminfo", 1 << 16, &text) != ASSAY_CAUSE_NONE)
		return;
	assay_str total = cpu_line(text, "MemTotal"), huge = cpu_line(text, "HugePages_Total");
	int64_t kb;
	/* what firmware takes differs by a little between machines that are alike */
	if (assay_str_i64(assay_str_cut(&total, ' '), &kb))
		assay_ctx_pair(c, &c->env->host_more, "memory_gb",
			       assay_printf(c->a, "%lld", (long long)((kb + (1 << 19)) >> 20)));
	if (huge.n)
		assay_ctx_pair(c, &c->env->host_more, "huge_pages", assay_dup(c->a, huge));
}

/* The newest release in a folder of releases: /usr/lib/gcc/x86_64-linux-gnu/12. */
static void compiler(assay_ctx *c, const char *key, const char *dir)
{
	const assay_entries *names = assay_ctx_list(c, dir, NULL);
	const char *best = NULL;
	for (size_t i = 0; i < names->n; i++) {
		const char *n = names->p[i].name;
		if (assay_is_digit(*n) &&
		    (!best || assay_version_cmp(assay_str_of(n), assay_str_of(best)) > 0))
			best = n;
	}
	if (best)
		assay_ctx_pair(c, &c->env->host_more, key, best);
}

static void compilers(assay_ctx *c)
{
	static const char *const gcc[] = {"/usr/lib/gcc/x86_64-linux-gnu",
					  "/usr/lib/gcc/x86_64-redhat-linux",
					  "/usr/lib/gcc/aarch64-linux-gnu"};
	for (size_t i = 0; i < ASSAY_COUNT_OF(gcc); i++)
		compiler(c, "compiler.gcc", gcc[i]);
	for (size_t i = 0; i < c->env->roots.n; i++)
		if (c->env->roots.p[i].chosen)
			compiler(c, "compiler.amdclang",
				 assay_printf(c->a, "%s/llvm/lib/clang", c->env->roots.p[i].path));
}

static void run(assay_ctx *c)
{
	gpus(c);
	rdma(c);
	ethernet(c);
	processors(c);
	memory(c);
	compilers(c);
}

const assay_probe assay_probe_hardware = {.name = "hardware", .run = run};
