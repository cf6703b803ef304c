/* A program that starts and ends an interpreter three times, with a launch from each. With an
 * argument what the interpreter gives back is not used again: up to 3.10 the next one lies
 * elsewhere. */
#include <Python.h>
#include <dlfcn.h>

static void keep(void *unused, void *p)
{
	(void)unused, (void)p;
}

int main(int n, char **unused)
{
	(void)unused;
	static const char *const names[] = {"first", "second", "third"};
	char text[512];
	PyMemAllocatorEx raw;
	PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
	if (n > 1)
		raw.free = keep;
	PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &raw);
	for (int i = 0; i < 3; i++) {
		Py_Initialize();
		snprintf(text, sizeof text,
			 "import ctypes\nlib = ctypes.CDLL('libcuda.so.1')\nlib.cuInit(0)\n"
			 "def %s():\n    for _ in range(4): lib.fake_launch(13, b'k')\n%s()\n",
			 names[i], names[i]);
		if (PyRun_SimpleString(text))
			return 1;
		Py_Finalize();
	}
	return 0;
}
