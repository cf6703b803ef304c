/* What the scheduler did with threads, as an nsys export tells it: when each got a processor and
 * when it lost it, with the reason where one is told. */
#include "read/nsys.h"

#include "base/num.h"

/* Codes of ENUM_SAMPLING_THREAD_STATE and ENUM_SCHEDULING_THREAD_BLOCK, the same in all exports
 * seen (3.1 to 3.25). Those of Linux tell no reason but that a thread ended. */
enum { STATE_RUNNING = 1, STATE_SLEEPS, STATE_WAITS_HARD, STATE_STOPPED, STATE_WAITING = 7 };

typedef struct reason {
	int64_t first, last; /* of threadBlock */
	assay_thread_state state;
	assay_call_kind kind;
} reason;

static const reason reasons[] = {
	{4, 4, ASSAY_THREAD_BLOCKED, ASSAY_CALL_SLEEP},    /* Nanosleep */
	{6, 9, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},     /* Mutex, CondVar, Sem, Join */
	{17, 17, ASSAY_THREAD_FAULT, ASSAY_CALL_NONE},     /* WaitPage */
	{18, 19, ASSAY_THREAD_BLOCKED, ASSAY_CALL_SOCKET}, /* NetSend, NetReply */
	{20, 21, ASSAY_THREAD_FAULT, ASSAY_CALL_NONE},     /* FreePage, PageIn */
	{23, 23, ASSAY_THREAD_BLOCKED, ASSAY_CALL_SLEEP},  /* DelayExecution */
	{31, 31, ASSAY_THREAD_FAULT, ASSAY_CALL_NONE},     /* PageOut */
	{33, 33, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},   /* KeyedEvent */
	{39, 41, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},   /* Resource, PushLock, WindowsMutex */
	{42, 45, ASSAY_THREAD_READY, ASSAY_CALL_NONE},     /* QuantumEnd to YieldExecution */
	{46, 47, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},   /* FastMutex, GuardedMutex */
	{49, 49, ASSAY_THREAD_READY, ASSAY_CALL_NONE},     /* ReadyToRun */
	{50, 50, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK},   /* AlertByThreadId */
	{51, 51, ASSAY_THREAD_READY, ASSAY_CALL_NONE},     /* DeferredPreempt */
	{52, 52, ASSAY_THREAD_FAULT, ASSAY_CALL_NONE},     /* PhysicalFault */
	{55, 58, ASSAY_THREAD_BLOCKED, ASSAY_CALL_LOCK}, /* MuonMutex, Barrier, read-write locks */
};

static reason why_off(int64_t state, int64_t block)
{
	for (size_t i = 0; i < ASSAY_COUNT_OF(reasons); i++)
		if (block >= reasons[i].first && block <= reasons[i].last)
			return reasons[i];
	bool blocked = (state >= STATE_SLEEPS && state <= STATE_STOPPED) || state == STATE_WAITING;
	return (reason){.state = state == STATE_RUNNING ? ASSAY_THREAD_READY
				 : blocked              ? ASSAY_THREAD_BLOCKED
							: ASSAY_THREAD_OFF};
}

/* What a thread's last row said. */
typedef struct turn {
	int64_t ts;
	reason why;
	bool on;
} turn;

static void add_turn(nsys *n, uint32_t track, const turn *last, int64_t until)
{
	int64_t dur = assay_wrap_sub(until, last->ts);
	uint32_t r = assay_add(&n->part->t, ASSAY_T_sample);
	assay_sample_table *s = &n->part->t.sample;
	s->ts[r] = last->ts;
	s->dur[r] = dur;
	s->track[r] = track;
	s->state[r] = (uint8_t)last->why.state;
	s->kind[r] = (uint8_t)last->why.kind;
	s->flags[r] = ASSAY_SAMPLE_TURN;
	s->cpu[r] = last->on ? dur : 0;
	if (last->why.state != ASSAY_THREAD_OFF)
		s->delay[r] = last->why.state == ASSAY_THREAD_READY ? dur : 0;
}

/* Each row begins what lasts to the thread's next one. Two of a kind in a row: one between them was
 * lost, and with it when the first ended. */
void nsys_read_sched(nsys *n)
{
	assay_map of_thread = {0};
	assay_vec(turn) turns = {0};
	for (assay_db_select(n->db, "SCHED_EVENTS",
			     ASSAY_DB_COLUMNS("start", "isSchedIn", "globalTid", "threadState",
					      "threadBlock"));
	     assay_db_next(n->db);) {
		int64_t ts, tid = assay_db_int(n->db, 2, 0);
		if (!assay_db_i64(n->db, 0, &ts) || !nsys_taken(n, tid))
			continue;
		bool on = assay_db_int(n->db, 1, 0) != 0;
		uint32_t track = nsys_thread(n, tid), *slot = assay_map_at(&of_thread, track);
		if (*slot == ASSAY_MAP_ABSENT) {
			*slot = (uint32_t)turns.n;
			*assay_push(&turns) = (turn){.on = on};
		} else if (turns.p[*slot].on != on && turns.p[*slot].ts < ts) {
			add_turn(n, track, &turns.p[*slot], ts);
		}
		turns.p[*slot] =
			(turn){ts,
			       on ? (reason){.state = ASSAY_THREAD_RUNNING}
				  : why_off(assay_db_int(n->db, 3, 0), assay_db_int(n->db, 4, -1)),
			       on};
	}
	assay_vec_free(&turns);
	assay_map_free(&of_thread);
}
