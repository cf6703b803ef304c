/* A program that starts and ends an interpreter three times, with a launch from each. */
#include <Python.h>
#include <dlfcn.h>

int main(void)
{
	static const char *const names[] = {"first", "second", "third"};
	char text[512];
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
