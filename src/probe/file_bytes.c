#include "probe/file_bytes.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test.h"

enum { CHUNK = 64 << 10 };

static void *zero_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void close_bytes(void *w)
{
	assay_file_bytes_close(w);
}

assay_cause assay_file_bytes_open(assay_file_bytes *w, const assay_root *root, const char *path)
{
	assay_cause cause;
	*w = (assay_file_bytes){.fd = -1};
	w->fd = assay_root_fd(root, path, &w->st, &cause);
	if (w->fd < 0)
		return cause;
	cause = w->st.st_size > 0 ? ASSAY_CAUSE_IO : ASSAY_CAUSE_EMPTY;
	w->n = (size_t)w->st.st_size;
	w->loaded_bytes = w->n / CHUNK / 8 + 1;
	if (w->n && (w->p = zero_pages(w->n)) && (w->loaded = zero_pages(w->loaded_bytes))) {
		assay_undo_add(&w->undo, close_bytes, w);
		return ASSAY_CAUSE_NONE;
	}
	struct stat st = w->st;
	assay_file_bytes_close(w);
	w->st = st;
	return cause;
}

static void load_chunk(assay_file_bytes *w, size_t chunk)
{
	size_t at = chunk * CHUNK, end = w->n - at < CHUNK ? w->n : at + CHUNK;
	ssize_t got = 1;
	while (at < end && got) {
		got = pread(w->fd, w->p + at, end - at, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		at += (size_t)got;
	}
	w->shrunk |= at < end;
	w->loaded[chunk / 8] |= (unsigned char)(1 << chunk % 8);
}

void assay_file_bytes_need(assay_file_bytes *w, uint64_t at, uint64_t n)
{
	if (at >= w->n || !n)
		return;
	uint64_t last = n > w->n - at ? w->n - 1 : at + n - 1;
	for (size_t chunk = (size_t)(at / CHUNK); chunk <= last / CHUNK; chunk++)
		if (!(w->loaded[chunk / 8] >> chunk % 8 & 1))
			load_chunk(w, chunk);
}

assay_str assay_file_bytes_all(assay_file_bytes *w)
{
	assay_file_bytes_need(w, 0, w->n);
	return (assay_str){(const char *)w->p, w->n};
}

void assay_file_bytes_close(assay_file_bytes *w)
{
	assay_undo_drop(&w->undo);
	if (w->p)
		munmap(w->p, w->n);
	if (w->loaded)
		munmap(w->loaded, w->loaded_bytes);
	if (w->fd >= 0)
		close(w->fd);
	*w = (assay_file_bytes){.fd = -1};
}

TEST(a_file_that_shrinks_reads_as_zeros_and_says_so)
{
	const char *path = assay_test_path("file");
	char block[CHUNK];
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	memset(block, 'x', sizeof block);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(write(fd, block, sizeof block), (ssize_t)sizeof block);
	assay_root root;
	assay_file_bytes w;
	CHECK(assay_root_open(&root, "/", NULL));
	CHECK_EQ(assay_file_bytes_open(&w, &root, path), ASSAY_CAUSE_NONE);
	assay_file_bytes_need(&w, 10, 1);
	CHECK(w.p[10] == 'x' && !w.shrunk);
	CHECK_EQ(ftruncate(fd, CHUNK + 1), 0);
	assay_file_bytes_need(&w, CHUNK, 2 * CHUNK);
	CHECK(w.p[CHUNK] == 'x' && !w.p[CHUNK + 1] && !w.p[2 * CHUNK] && w.shrunk);
	assay_file_bytes_need(&w, UINT64_MAX, 5);
	assay_file_bytes_need(&w, 3 * CHUNK, UINT64_MAX);
	assay_file_bytes_close(&w);
	assay_root_close(&root);
	close(fd);
	return 0;
}
