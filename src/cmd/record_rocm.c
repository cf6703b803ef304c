/* How a HIP program comes to load the AMD recorder: rocprofiler-register, which every ROCm runtime
 * calls, loads rocprofiler-sdk when ROCP_TOOL_LIBRARIES names a tool. It aborts the program when
 * there is no SDK to load, and SDKs before 1.0 do when there is no driver, so the variable is set
 * only where both were found, and the SDK's path with it. */
#define _GNU_SOURCE /* realpath */
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folders.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "vendor/rocprof.h"

/* First file of a pattern, its links resolved in nothing but existence; NULL when there is none. */
static const char *first_match(recording *r, const char *pattern)
{
	glob_t g = {0};
	const char *found = NULL;
	if (glob(pattern, 0, NULL, &g) == 0 && g.gl_pathc)
		found = assay_printf(&r->arena, "%s", g.gl_pathv[g.gl_pathc - 1]);
	globfree(&g);
	return found;
}

static const char *sdk_in(recording *r, const char *dir)
{
	const char *name = assay_printf(&r->arena, "%s/librocprofiler-sdk.so", dir);
	const char *plain = first_match(r, name);
	return plain ? plain : first_match(r, assay_printf(&r->arena, "%s.[0-9]", name));
}

/* Directories of a list with colons, such as LD_LIBRARY_PATH. */
static const char *sdk_in_list(recording *r, const char *list)
{
	const char *found = NULL;
	for (const char *p = list; p && *p && !found;) {
		size_t n = strcspn(p, ":");
		if (n)
			found = sdk_in(r, assay_printf(&r->arena, "%.*s", (int)n, p));
		p += n + (p[n] == ':');
	}
	return found;
}

/* The file a command's name stands for, links resolved no further than the folder: a virtual
 * environment's python is a link out of it. */
static const char *folder_of_command(recording *r, const char *command)
{
	if (strchr(command, '/'))
		return assay_folder_of(&r->arena, command);
	for (const char *p = getenv("PATH"); p && *p;) {
		size_t n = strcspn(p, ":");
		const char *dir = assay_printf(&r->arena, "%.*s", (int)n, p);
		if (n && access(assay_printf(&r->arena, "%s/%s", dir, command), X_OK) == 0)
			return dir;
		p += n + (p[n] == ':');
	}
	return NULL;
}

/* Wheels bring a ROCm of their own. */
static const char *sdk_of_python(recording *r)
{
	static const char *const wheels[] = {"torch/lib", "_rocm_sdk_core*/lib"};
	const char *dir = folder_of_command(r, r->command[0]), *found = NULL;
	for (size_t i = 0; dir && !found && i < ASSAY_COUNT_OF(wheels); i++)
		found = sdk_in(r, assay_printf(&r->arena, "%s/../lib/python3*/site-packages/%s",
					       dir, wheels[i]));
	return found;
}

static const char *sdk_of_system(recording *r)
{
	static const char *const dirs[] = {"/opt/rocm/lib", "/opt/rocm-*/lib",
					   "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
					   "/usr/local/lib"};
	const char *root = getenv("ROCM_PATH"), *found = NULL;
	if (root && *root)
		found = sdk_in(r, assay_printf(&r->arena, "%s/lib", root));
	for (size_t i = 0; !found && i < ASSAY_COUNT_OF(dirs); i++)
		found = sdk_in(r, dirs[i]);
	return found;
}

static const char *find_sdk(recording *r)
{
	const char *given = getenv("ROCPROFILER_REGISTER_LIBRARY");
	if (given && *given)
		return given;
	const char *found = sdk_of_python(r);
	found = found ? found : sdk_in_list(r, getenv("LD_LIBRARY_PATH"));
	return found ? found : sdk_of_system(r);
}

/* Once: inside another `assay record` it is there already. */
static const char *joined(recording *r, const char *first, const char *rest)
{
	if (rest && strstr(rest, first))
		return rest;
	return rest && *rest ? assay_printf(&r->arena, "%s:%s", first, rest) : first;
}

/* The SDK leaves out what comes after the last colon of a list, and others may put theirs in front
 * of ours. */
static const char *tools_with(recording *r, const char *library, const char *rest)
{
	const char *list = joined(r, library, rest);
	bool ends = list[strlen(list) - 1] == ':';
	return ends ? list : assay_printf(&r->arena, "%s:", list);
}

/* Programs linked with roctracer's roctx are seen only when the SDK's own, of the same names, comes
 * first. It does nothing before its first call. */
static const char *roctx_beside(recording *r, const char *sdk)
{
	char path[PATH_MAX];
	if (!strchr(sdk, '/'))
		return NULL;
	const char *name = assay_printf(&r->arena, "%s/librocprofiler-sdk-roctx.so",
					assay_folder_of(&r->arena, sdk));
	const char *found = first_match(r, name);
	found = found ? found : first_match(r, assay_printf(&r->arena, "%s.[0-9]", name));
	return found && realpath(found, path) ? assay_printf(&r->arena, "%s", path) : NULL;
}

static const char *sdk_here(recording *r)
{
	char path[PATH_MAX];
	if (access(ROCPROF_TOPOLOGY, F_OK) != 0)
		return NULL;
	const char *sdk = find_sdk(r);
	if (!sdk && access("/dev/kfd", F_OK) == 0)
		r->end.note =
			"an AMD GPU is here, but no librocprofiler-sdk.so: install rocprofiler-sdk, or set ROCM_PATH";
	return sdk && realpath(sdk, path) ? assay_printf(&r->arena, "%s", path) : sdk;
}

static void enter_rocm(recording *r, const char *library, record_variables *v)
{
	const char *sdk = sdk_here(r);
	if (!sdk)
		return;
	assay_variables_put(v, "ROCP_TOOL_LIBRARIES",
			    tools_with(r, library, getenv("ROCP_TOOL_LIBRARIES")));
	assay_variables_put(v, "ROCPROFILER_REGISTER_LIBRARY", sdk);
	const char *roctx = roctx_beside(r, sdk);
	if (roctx)
		assay_variables_put(v, "LD_PRELOAD", joined(r, roctx, getenv("LD_PRELOAD")));
}

const record_recorder assay_recorder_rocm = {
	.name = "rocm",
	.library = "libassay_rocm.so",
	.enter = enter_rocm,
};
