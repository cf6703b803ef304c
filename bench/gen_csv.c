/* A rocprofv3 kernel_trace.csv of any size, with kernel names as long as real ones (a few hundred
 * characters, some thousands). usage: gen_csv ROWS > kernel_trace.csv */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 300, NAME_MAX_BYTES = 6000 };

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int below(int n)
{
	return (int)(random64() % (uint64_t)n);
}

/* A templated or Tensile-like name, most of them near 400 characters. */
static void make_name(char *out, int i)
{
	static const char *const piece[] = {
		"at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, float, ",
		"std::array<char*, 3ul>, TrivialOffsetCalculator<2, unsigned int>, ",
		"ck::tensor_operation::device::GemmSpecialization, ck::Sequence<8, 32, 1>, ",
		"_MT128x128x64_MI32x32x8x1_SN_1LDSB1_AFC0_AFEM1_AFEM1_ASEM1_CLR1_CADS0_", ""};
	size_t n = (size_t)snprintf(out, NAME_MAX_BYTES, "void kernel_%d<", i);
	int pieces = i % 29 == 0 ? 40 : 3 + below(7);
	for (int k = 0; k < pieces; k++)
		n += (size_t)snprintf(out + n, NAME_MAX_BYTES - n, "%s", piece[below(5)]);
	snprintf(out + n, NAME_MAX_BYTES - n, "%d>(int, float*)", i);
}

int main(int argc, char **argv)
{
	long rows = argc > 1 ? atol(argv[1]) : 0;
	static char name[NAMES][NAME_MAX_BYTES], buffer[1 << 20];
	if (rows <= 0)
		return 2;
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	for (int i = 0; i < NAMES; i++)
		make_name(name[i], i);
	puts("\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","
	     "\"Kernel_Id\","
	     "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_"
	     "Size\","
	     "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_"
	     "X\","
	     "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_"
	     "Size_Z\"");
	uint64_t t = 3743411222487063u;
	for (long i = 0; i < rows; i++) {
		int k = below(NAMES), other = below(NAMES), dur = 1200 + below(90000);
		k = other < k ? other : k; /* some kernels run far more often than others */
		t += 300 + (uint64_t)below(4000);
		printf("\"KERNEL_DISPATCH\",\"Agent %d\",%d,%d,%d,%ld,%d,\"%s\",%ld,%" PRIu64
		       ",%" PRIu64 ",%d,0,%d,0,%d,256,1,1,%d,%d,1\n",
		       4 + below(8), 1 + below(4), below(4), 542 + below(16), i + 1, k + 17,
		       name[k], i * 3 + 11, t, t + (uint64_t)dur, 16384 * below(3),
		       4 * (1 + below(64)), 16 * (1 + below(7)), 256 * (1 + below(4096)),
		       1 + below(16));
		t += (uint64_t)dur;
	}
	return 0;
}
