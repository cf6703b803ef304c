/* A running process, seen from outside: its program, and the GPU libraries it really has mapped. */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/test.h"
#include "probe/probe.h"

static const char *const of_interest[] = {"libhip",      "librocblas", "libMIOpen", "librccl",
					  "libamdhip64", "libhsa-",    "libcu",     "libnccl",
					  "libnv",       "libtorch",   "libc10",    "libaotriton",
					  "librocm",     "libroc",     "libtriton", "libxla"};

static bool interesting(const char *path)
{
	const char *name = assay_file_name(path);
	for (size_t i = 0; i < ASSAY_COUNT_OF(of_interest); i++)
		if (!strncmp(name, of_interest[i], strlen(of_interest[i])))
			return true;
	return false;
}

/* "7f12-7f34 r-xp 00000000 08:01 1234   /path (deleted)" */
static assay_str mapped_path(assay_str line, assay_str *device, uint64_t *inode)
{
	assay_str field[5];
	for (int i = 0; i < 5; i++) {
		field[i] = assay_str_cut(&line, ' ');
		while (line.n && *line.p == ' ')
			line.p++, line.n--;
	}
	*device = field[3];
	if (!assay_str_u64(field[4], inode))
		*inode = 0;
	return line.n && *line.p == '/' ? line : (assay_str){"", 0};
}

/* Whether the name still leads to the mapped file. Devices are compared first: an overlay shows
 * another one here than there, and then nothing can be said. */
static bool was_replaced(assay_ctx *c, const char *path, assay_str device, uint64_t inode)
{
	struct stat st;
	char here[32];
	if (!assay_root_stat(&c->root, path, &st))
		return true;
	snprintf(here, sizeof here, "%02x:%02x", major(st.st_dev), minor(st.st_dev));
	return assay_str_is(device, here) && inode && inode != st.st_ino;
}

static void add_map(assay_ctx *c, assay_str path, assay_str device, uint64_t inode)
{
	assay_env *e = c->env;
	ptrdiff_t torch = assay_str_find(path, "/torch/lib/libtorch");
	if (torch > 0)
		e->process.site = assay_dup(c->a, (assay_str){path.p, (size_t)torch});
	for (size_t i = e->process.maps.n; i-- > 0;)
		if (assay_str_is(path, e->process.maps.p[i]))
			return;
	const char *z = assay_dup(c->a, path);
	*assay_push(&e->process.maps) = z;
	if (!assay_str_ends(path, " (deleted)") && !was_replaced(c, z, device, inode))
		return;
	*assay_push(&e->process.replaced) = z;
	assay_ctx_finding(c, "library-replaced",
			  "process %ld runs %.*s, which is no longer that file",
			  (long)e->process.pid, (int)path.n, path.p);
}

/* The program as it was called: a venv's python is a link, which /proc/N/exe no longer shows.
 * Nothing but the first word of the command line is looked at. */
static const char *called_as(assay_ctx *c)
{
	assay_str text;
	const char *top = assay_printf(c->a, "/proc/%ld", (long)c->env->process.pid);
	if (assay_root_read(c->proc, c->a, assay_printf(c->a, "%s/cmdline", top), 16 << 20,
			    &text) != ASSAY_CAUSE_NONE ||
	    !text.n || !strchr(text.p, '/'))
		return NULL;
	if (*text.p == '/')
		return text.p;
	const char *cwd = assay_root_link(c->proc, c->a, assay_printf(c->a, "%s/cwd", top));
	return cwd ? assay_printf(c->a, "%s/%s", cwd, text.p) : NULL;
}

static void run(assay_ctx *c)
{
	assay_env *e = c->env;
	assay_str text;
	if (!c->opts->pid)
		return;
	e->process.pid = c->opts->pid;
	e->process.exe = assay_root_link(c->proc, c->a,
					 assay_printf(c->a, "/proc/%ld/exe", (long)e->process.pid));
	e->process.called = called_as(c);
	const char *path = assay_printf(c->a, "/proc/%ld/maps", (long)e->process.pid);
	assay_cause cause = assay_root_read(c->proc, c->a, path, 256 << 20, &text);
	if (cause != ASSAY_CAUSE_NONE)
		assay_ctx_reason(c, ASSAY_LEVEL_ERROR, "assay.process: %s %s", path,
				 assay_cause_text(cause));
	while (text.n) {
		assay_str device;
		uint64_t inode;
		assay_str map = mapped_path(assay_str_cut(&text, '\n'), &device, &inode);
		const char *z = map.n ? assay_dup(c->a, map) : "";
		if (map.n && interesting(z))
			add_map(c, map, device, inode);
	}
}

const assay_probe assay_probe_process = {.name = "process", .run = run};

TEST(mapped_paths_are_the_last_field)
{
	assay_str device;
	uint64_t inode;
	CHECK(assay_str_is(
		mapped_path(
			ASSAY_S("7f00-7f10 r-xp 00000000 08:01 99   /a b/libcudart.so.13 (deleted)"),
			&device, &inode),
		"/a b/libcudart.so.13 (deleted)"));
	CHECK(!mapped_path(ASSAY_S("7f00-7f10 rw-p 00000000 00:00 0 [heap]"), &device, &inode).n);
	CHECK(!mapped_path(ASSAY_S("7f00-7f10 rw-p 00000000 00:00 0"), &device, &inode).n &&
	      !mapped_path(ASSAY_S(""), &device, &inode).n);
	CHECK(interesting("/x/librocblas.so.4") && !interesting("/x/libm.so.6"));
	return 0;
}
