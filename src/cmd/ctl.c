/* assay ctl: orders to recordings that are under way, through the socket in each run directory. */
#define _GNU_SOURCE /* O_PATH, strverscmp */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/input.h"
#include "base/json.h"
#include "base/test.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/say.h"
#include "render/control.h"

enum { ANSWER_MAX = 1 << 20 };

struct args {
	int64_t for_ns;
	const char *steps;
	bool json;
};

/* A recording that is asked. */
typedef struct asked {
	const char *run;
	int fd;
	assay_str answer; /* padded for parsing */
} asked;
typedef assay_vec(asked) all_asked;

/* ---- talking ---- */

static int dial(int dir, const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int n = snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/%s", dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && n < (int)sizeof at.sun_path &&
	    connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		return fd;
	int why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

/* The socket of a run directory, or FILE of --control itself. */
static int dial_run(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return -1;
	bool folder = S_ISDIR(st.st_mode);
	assay_str above = assay_str_folder(assay_str_of(path));
	char parent[4096];
	snprintf(parent, sizeof parent, "%.*s", above.n ? (int)above.n : 1,
		 above.n ? above.p : ".");
	int dir = open(folder ? path : parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0  ? -1
		 : folder ? dial(dir, ASSAY_RECORD_CONTROL)
			  : dial(dir, assay_file_name(path));
	int why = errno;
	if (dir >= 0)
		close(dir);
	errno = why;
	return fd;
}

static const char *why_not(int why)
{
	return why == ENOENT         ? "it is not being recorded"
	       : why == ECONNREFUSED ? "it is no longer being recorded"
				     : strerror(why);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const asked *)a)->run, ((const asked *)b)->run);
}

/* A folder of runs: those in it that are under way, rank2 before rank10. */
static bool add_inside(all_asked *out, assay_arena *a, const char *folder)
{
	size_t before = out->n;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		const char *run = assay_printf(a, "%s/%s", folder, e->d_name);
		int fd = dial_run(run);
		if (fd >= 0)
			*assay_push(out) = (asked){.run = run, .fd = fd};
	}
	if (d)
		closedir(d);
	if (out->n > before)
		qsort(out->p + before, out->n - before, sizeof *out->p, by_name);
	return out->n > before;
}

static bool add_run(all_asked *out, assay_arena *a, const char *run)
{
	int fd = dial_run(run), why = errno;
	if (fd >= 0)
		*assay_push(out) = (asked){.run = run, .fd = fd};
	else if (!add_inside(out, a, run)) {
		assay_say("assay: cannot reach %s: %s", run, why_not(why));
		return false;
	}
	return true;
}

static bool read_answer(asked *r, assay_arena *a)
{
	char *text = assay_alloc(a, ANSWER_MAX + ASSAY_PAD);
	size_t n = 0;
	ssize_t got = 1;
	while (n < ANSWER_MAX && !(n && text[n - 1] == '\n') &&
	       (got = recv(r->fd, text + n, ANSWER_MAX - n, 0)) > 0)
		n += (size_t)got;
	memset(text + n, 0, ASSAY_PAD);
	r->answer = (assay_str){text, n};
	if (!n)
		assay_say("assay: %s gave no answer: %s", r->run,
			  got < 0 ? strerror(errno) : "it ended, or you are not its user");
	return n;
}

/* ---- showing ---- */

static bool is_true(assay_json *j)
{
	assay_str raw;
	return assay_json_skip(j, &raw) && assay_str_is(raw, "true");
}

static void read_processes(assay_json *j, assay_control_state *s)
{
	assay_json_enter(j, '[');
	while (assay_json_element(j)) {
		uint64_t n = 0;
		assay_json_enter(j, '{');
		s->processes++;
		for (assay_str key; assay_json_member(j, &key);) {
			if (assay_str_is(key, "recording"))
				s->on += is_true(j);
			else if (assay_str_is(key, "obeyed"))
				s->late += !is_true(j);
			else if (assay_str_is(key, "records") && assay_json_u64(j, &n))
				s->records += n;
			else if (assay_str_is(key, "step") && assay_json_u64(j, &n))
				s->step = (int64_t)n > s->step ? (int64_t)n : s->step;
			else if (assay_str_is(key, "lost") && assay_json_u64(j, &n))
				s->lost += n;
			else
				assay_json_skip(j, NULL);
		}
	}
}

static assay_control_state read_state(assay_str text, assay_arena *a)
{
	assay_control_state s = {.step = -1};
	assay_str raw;
	assay_json j = assay_json_on(text.p, text.n);
	assay_json_enter(&j, '{');
	for (assay_str key; assay_json_member(&j, &key);) {
		if (assay_str_is(key, "ok"))
			s.ok = is_true(&j);
		else if (assay_str_is(key, "recording"))
			s.recording = is_true(&j);
		else if (assay_str_is(key, "left_ns"))
			assay_json_i64(&j, &s.left);
		else if (assay_str_is(key, "first_step"))
			assay_json_i64(&j, &s.first_step);
		else if (assay_str_is(key, "last_step"))
			assay_json_i64(&j, &s.last_step);
		else if (assay_str_is(key, "error") && assay_json_text(&j, &raw))
			s.error = assay_json_unescape(a, raw);
		else if (assay_str_is(key, "processes"))
			read_processes(&j, &s);
		else
			assay_json_skip(&j, NULL);
	}
	return s;
}

/* Whether what was asked for is done. */
static bool show(const asked *r, bool json, assay_arena *a)
{
	assay_control_state s = read_state(r->answer, a);
	if (json)
		printf("%.*s", (int)r->answer.n, r->answer.p);
	else if (s.ok)
		assay_control_text(stdout, assay_fmt_safe(a, assay_str_of(r->run)), &s);
	if (!s.ok)
		assay_say("assay: %s: %.*s", r->run, (int)s.error.n, s.error.p);
	else if (s.late)
		assay_say(
			"assay: %s: %" PRIu64 " of %" PRIu64
			" processes have not obeyed the last order yet; they will when they run again",
			r->run, s.late, s.processes);
	return s.ok && !s.late;
}

/* ---- the command ---- */

static const assay_term orders[] = {
	{"start", "Record from now on, in all processes of the run and those to come."},
	{"stop",
	 "Pause recording: CUPTI and rocprofiler-sdk are switched off, samples and stacks too. What happens until the next start counts as not recorded, not as idle time."},
	{"mark NAME", "Put a named moment into the recording of every process."},
	{"flush", "Write what was recorded so far into the run directory."},
	{"status", "Print what is being recorded."},
};

/* RUN... ORDER, or RUN... mark NAME. The words of the order; 0: there is none. */
static int order_words(char **words, int n)
{
	if (n >= 3 && !strcmp(words[n - 2], "mark"))
		return 2;
	for (size_t i = 0; n >= 2 && i < ASSAY_COUNT_OF(orders); i++)
		if (!strcmp(words[n - 1], orders[i].name))
			return 1;
	return 0;
}

static const char *request_of(assay_arena *m, const struct args *a, char **order, int words)
{
	if (words == 2)
		return assay_printf(m, "mark %s\n", order[1]);
	if (a->for_ns)
		return assay_printf(m, "%s %" PRId64 "\n", order[0], a->for_ns);
	if (a->steps)
		return assay_printf(m, "%s steps %s\n", order[0], a->steps);
	return assay_printf(m, "%s\n", order[0]);
}

static bool ask_all(const struct args *a, char **runs, int n, const char *request)
{
	assay_arena m = {0};
	all_asked all = {0};
	bool ok = true;
	for (int i = 0; i < n; i++)
		ok &= add_run(&all, &m, runs[i]);
	for (size_t i = 0; i < all.n; i++) /* all of them first, so that they switch at one time */
		send(all.p[i].fd, request, strlen(request), MSG_NOSIGNAL);
	for (size_t i = 0; i < all.n; i++) {
		ok &= read_answer(&all.p[i], &m) && show(&all.p[i], a->json, &m);
		close(all.p[i].fd);
	}
	assay_vec_free(&all);
	assay_arena_free(&m);
	return ok;
}

static int ctl_run(const void *args, char **operands, int n)
{
	const struct args *a = args;
	int words = order_words(operands, n);
	const char *bad = NULL;
	assay_arena m = {0};
	int64_t first, last;
	if (!words)
		bad = "expected RUN... and start, stop, mark NAME, flush or status";
	else if (a->for_ns && strcmp(operands[n - words], "start") != 0)
		bad = "--for is for start alone";
	else if (a->steps && strcmp(operands[n - words], "start") != 0)
		bad = "--steps is for start alone";
	else if (a->steps && a->for_ns)
		bad = "--steps and --for exclude each other";
	else if (a->steps &&
		 !assay_step_span(assay_printf(&m, "steps %s", a->steps), &first, &last))
		bad = "--steps wants N-M, the numbers of the first and the last step";
	else if (words == 2 && (!*operands[n - 1] || strchr(operands[n - 1], '\n') ||
				strlen(operands[n - 1]) > 255))
		bad = "a mark's name is one line of at most 255 bytes";
	if (bad) {
		assay_say("assay ctl: %s", bad);
		assay_say("Try 'assay ctl --help'.");
		assay_arena_free(&m);
		return ASSAY_EXIT_USAGE;
	}
	bool ok = ask_all(a, operands, n - words, request_of(&m, a, operands + n - words, words));
	assay_arena_free(&m);
	return ok ? ASSAY_EXIT_OK : ASSAY_EXIT_FAIL;
}

static const assay_opt opts[] = {
	{"for", 0, ASSAY_OPT_SPAN, "TIME", "With start: stop again after this long, such as 20s.",
	 offsetof(struct args, for_ns)},
	{"steps", 0, ASSAY_OPT_TEXT, "N-M",
	 "With start: record only these steps of each process, by the number in their range's name; where names have none, steps from now on count 1, 2, ...",
	 offsetof(struct args, steps)},
	{"json", 0, ASSAY_OPT_FLAG, NULL, "Print each answer as one line of JSON.",
	 offsetof(struct args, json)},
};

static const assay_example examples[] = {
	{"assay record -q -o $(mktemp -d) --paused -- sh -c 'assay ctl $ASSAY_RUN start --for 20s'",
	 "record the next twenty seconds"},
	{"assay record -q -o $(mktemp -d) -- sh -c 'assay ctl $ASSAY_RUN mark epoch-2; assay ctl $ASSAY_RUN stop'",
	 "name this moment, then pause"},
	{"assay record -q -o $(mktemp -d) --paused -- sh -c 'assay ctl $ASSAY_RUN start --steps 100-109'",
	 "record ten steps"},
	{"assay record -q -o $(mktemp -d) -- sh -c 'assay ctl $ASSAY_RUN status --json'",
	 "what is recorded, for programs"},
};

const assay_cmd assay_cmd_ctl = {
	.name = "ctl",
	.args = "RUN... start|stop|mark NAME|flush|status",
	.about = "Control a recording while it runs: pause it, resume it, mark moments",
	.details =
		"RUN is the directory that `assay record` writes into, a folder of such directories (the ranks of a\n"
		"node), or the FILE of its --control. Only the user who records, and root, may give orders.\n\n"
		"Inside a recorded program, $ASSAY_RUN is its RUN. The command returns once all processes have obeyed,\n"
		"or with status 1 when one has not after five seconds: a stopped process obeys when it goes on.",
	ASSAY_TERMS("orders", orders),
	ASSAY_OPTS(opts),
	ASSAY_EXAMPLES(examples),
	.args_size = sizeof(struct args),
	.min_operands = 2,
	.max_operands = -1,
	.run = ctl_run,
};

TEST(the_order_is_told_from_the_runs_before_it)
{
	char run[] = "run", start[] = "start", mark[] = "mark", nonsense[] = "begin";
	CHECK_EQ(order_words((char *[]){run, start}, 2), 1);
	CHECK_EQ(order_words((char *[]){run, run, start}, 3), 1);
	CHECK_EQ(order_words((char *[]){run, mark, start}, 3), 2);
	CHECK_EQ(order_words((char *[]){run, mark}, 2), 0);
	CHECK_EQ(order_words((char *[]){run, nonsense}, 2), 0);
	CHECK_EQ(order_words((char *[]){start}, 1), 0);
	return 0;
}
