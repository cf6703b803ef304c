/* Graphs, several threads, events across streams, every kind of wait: counts known beforehand, printed as
 * "expect NAME N" so that a recording can be held against them. usage: graphs [ITERATIONS] */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define OK(call)                                                                                   \
	do {                                                                                       \
		cudaError_t rc_ = (call);                                                          \
		if (rc_ != cudaSuccess) {                                                          \
			std::printf("%s: %s\n", #call, cudaGetErrorString(rc_));                   \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

__global__ void add(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] += 1;
}

__global__ void scale(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] *= 1.5f;
}

enum { N = 1 << 16, NODES = 5, THREADS = 4 };

/* Per iteration: 1 copy, 1 memset, 3 launches, 1 event recorded, 1 stream wait, 1 event wait. */
static void work(int iterations)
{
	float *x, *h;
	cudaStream_t a, b;
	cudaEvent_t e;
	OK(cudaSetDevice(0));
	OK(cudaMalloc(&x, N * sizeof *x));
	OK(cudaMallocHost(&h, N * sizeof *h));
	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	for (int i = 0; i < iterations; i++) {
		nvtxRangePushA("iteration");
		OK(cudaMemcpyAsync(x, h, N * sizeof *x, cudaMemcpyHostToDevice, a));
		OK(cudaMemsetAsync(x, 0, N * sizeof *x, a));
		add<<<N / 256, 256, 0, a>>>(x, N);
		add<<<N / 256, 256, 0, a>>>(x, N);
		OK(cudaEventRecord(e, a));
		OK(cudaStreamWaitEvent(b, e, 0));
		scale<<<N / 256, 256, 0, b>>>(x, N);
		OK(cudaEventSynchronize(e));
		nvtxRangePop();
	}
	OK(cudaStreamSynchronize(a));
	OK(cudaStreamSynchronize(b));
	OK(cudaFree(x));
}

static void graph(int launches)
{
	float *x;
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t exec;
	OK(cudaMalloc(&x, N * sizeof *x));
	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++)
		scale<<<N / 256, 256, 0, s>>>(x, N);
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < launches; i++)
		OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 100;
	std::vector<std::thread> threads;
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, n);
	for (auto &t : threads)
		t.join();
	graph(n);
	OK(cudaDeviceSynchronize());
	std::printf("expect add %d\nexpect scale %d\nexpect copies %d\nexpect memsets %d\n", 2 * n * THREADS,
		    n * THREADS + n * NODES, n * THREADS, n * THREADS);
	std::printf("expect event_records %d\nexpect stream_waits %d\nexpect event_waits %d\n", n * THREADS,
		    n * THREADS, n * THREADS);
	std::printf("expect graph_launches %d\nexpect ranges %d\n", n, n * THREADS);
	return 0;
}
