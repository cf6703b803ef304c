/* Native stacks, from registers and a copy of the memory above the stack pointer. */
#include <string.h>

#include "record/native.h"
#include "record/py.h"

typedef struct walk {
	const char *copy;
	size_t n;
	uintptr_t sp; /* of the copy's begin */
	const assay_native_object *last;
	assay_native_call *out;
} walk;

static bool word(const walk *w, uintptr_t at, uintptr_t *v)
{
	if (at < w->sp || w->n < sizeof *v || at - w->sp > w->n - sizeof *v)
		return false;
	memcpy(v, w->copy + (at - w->sp), sizeof *v);
	return true;
}

typedef enum step_end { STEP_ON, STEP_ENDS, STEP_NEEDS_BP, STEP_LOST } step_end;

/* Where the caller's frame begins. */
static bool frame_of(const walk *w, const assay_native_rule *rule, const assay_native_regs *r,
		     uintptr_t *frame)
{
	uintptr_t base = rule->from == ASSAY_NATIVE_SP ? r->sp : r->bp;
	*frame = base + (uintptr_t)(intptr_t)rule->frame;
	return rule->from != ASSAY_NATIVE_AT_BP || word(w, *frame, frame);
}

/* To the caller. */
static step_end step(const walk *w, const assay_native_rule *rule, assay_native_regs *r)
{
	uintptr_t frame, pc, bp = r->bp;
	bool has_bp = r->has_bp;
	if (rule->from == ASSAY_NATIVE_LAST)
		return STEP_ENDS;
	if (rule->from == ASSAY_NATIVE_LOST)
		return STEP_LOST;
	if ((rule->from != ASSAY_NATIVE_SP || rule->bp_at_bp) && !has_bp)
		return STEP_NEEDS_BP;
	if (!frame_of(w, rule, r, &frame) || frame <= r->sp ||
	    !word(w, frame + (uintptr_t)(intptr_t)rule->ret, &pc))
		return STEP_LOST;
	if (rule->bp_at_bp || rule->bp) {
		has_bp = word(w, rule->bp_at_bp ? bp : frame + (uintptr_t)(intptr_t)rule->bp, &bp);
		if (!has_bp)
			return STEP_LOST;
	}
	*r = (assay_native_regs){pc, frame, bp, has_bp};
	return pc ? STEP_ON : STEP_ENDS;
}

/* How likely it is that `ret` is where a call of the function that begins at `function` returns
 * to. */
typedef enum belief { BELIEF_NONE, BELIEF_SOME, BELIEF_SURE } belief;

static uintptr_t relative(uintptr_t end, const unsigned char *distance)
{
	int32_t v;
	memcpy(&v, distance, sizeof v);
	return end + (uintptr_t)(intptr_t)v;
}

/* Where a stub leads to, by the slot that it jumps through; an address that is none stays. */
static uintptr_t through_stub(uintptr_t at)
{
	static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	enum { STUB = 16, JUMP = 6 };
	unsigned char code[STUB];
	uintptr_t to;
	if (!assay_py_safely(0, at, code, sizeof code))
		return at;
	size_t i = !memcmp(code, landing, sizeof landing) ? sizeof landing : 0;
	i += code[i] == 0xf2; /* bnd */
	bool jumps = code[i] == 0xff && code[i + 1] == 0x25;
	return jumps && assay_py_safely(0, relative(at + i + JUMP, code + i + 2), &to, sizeof to)
		       ? to
		       : at;
}

static belief returns_from(uintptr_t ret, uintptr_t function)
{
	enum { LONGEST = 7, MODE = 0x38, CALL = 0x10 };
	unsigned char code[LONGEST], *end = code + LONGEST;
	uintptr_t to;
	if (!assay_native_object_at(ret - 1) ||
	    !assay_py_safely(0, ret - LONGEST, code, sizeof code))
		return BELIEF_NONE;
	if (end[-5] == 0xe8)
		return through_stub(relative(ret, end - 4)) == function ? BELIEF_SURE : BELIEF_NONE;
	if (end[-6] == 0xff && end[-5] == 0x15)
		return assay_py_safely(0, relative(ret, end - 4), &to, sizeof to) && to == function
			       ? BELIEF_SURE
			       : BELIEF_NONE;
	for (int i = 2; i <= LONGEST; i++) /* by a register, or memory that it points to */
		if (end[-i] == 0xff && (end[1 - i] & MODE) == CALL)
			return BELIEF_SOME;
	return BELIEF_NONE;
}

/* Code does not change: what was found once is kept. */
static belief known_return(uintptr_t ret, uintptr_t function)
{
	enum { KEPT = 2048 };
	static struct {
		uintptr_t ret, function;
		uint32_t changes;
		belief found;
	} kept[KEPT];
	size_t i = ((ret ^ function << 7) * 0x9e3779b97f4a7c15u >> 40) % KEPT;
	if (kept[i].ret != ret || kept[i].function != function ||
	    kept[i].changes != assay_native_changes()) {
		kept[i].found = returns_from(ret, function);
		kept[i].ret = ret;
		kept[i].function = function;
		kept[i].changes = assay_native_changes();
	}
	return kept[i].found;
}

/* Calls from r on, which go to out[n ...]; *ends: the stack was followed to where it ends or Python
 * tells the rest. At an unknown bp that is needed: *needs is set, r is where that is. *sure, when
 * it is asked for: how many returns are beyond doubt. */
static uint32_t follow(const walk *w, assay_native_regs *r, uint32_t n, bool *ends, bool *needs,
		       uint32_t *sure)
{
	*ends = *needs = false;
	while (n < ASSAY_NATIVE_DEPTH) {
		uintptr_t at = r->pc - (n > 0); /* a caller is at the call, not behind it */
		assay_native_object *o = assay_native_object_at(at);
		if (!o)
			break;
		assay_native_rule rule = assay_native_rule_at(o, at);
		w->out[n] = (assay_native_call){o, rule.function ? rule.function : at};
		if (o == w->last) {
			*ends = true;
			return n + 1;
		}
		step_end end = step(w, &rule, r);
		*needs = end == STEP_NEEDS_BP;
		n += !*needs; /* it is met again when bp is known */
		if (sure && end == STEP_ON)
			*sure += known_return(r->pc, rule.function) == BELIEF_SURE;
		*ends = end == STEP_ENDS;
		if (end != STEP_ON)
			break;
	}
	return n;
}

/* /proc does not tell bp. A function that needs it has its caller's saved at bp and the return
 * address behind. Old return addresses lie about on a stack too, so of the places that may be it
 * one is taken from which the rest can be followed to its end, and of these the one with most
 * returns that stand behind a call of the very function they return from. */
static uint32_t guess_bp(const walk *w, const assay_native_regs *r, uint32_t n)
{
	enum { WORD = sizeof(uintptr_t), TRIES = 1024, FOLLOWED = 64 };
	uintptr_t at = r->pc - (n > 0), first = (r->sp + WORD - 1) & ~(uintptr_t)(WORD - 1), ret;
	uintptr_t function = assay_native_rule_at(assay_native_object_at(at), at).function;
	uint32_t best = 0, bp_of_best = TRIES, followed = 0;
	bool ends, needs;
	for (uint32_t i = 0; i < TRIES && word(w, first + (i + 1) * WORD, &ret); i++) {
		if (known_return(ret, function) == BELIEF_NONE)
			continue;
		if (followed++ == FOLLOWED)
			break;
		assay_native_regs from = {r->pc, r->sp, first + i * WORD, true};
		uint32_t sure = 0, all = follow(w, &from, n, &ends, &needs, &sure);
		if (ends && all > n && (bp_of_best == TRIES || sure > best)) {
			best = sure;
			bp_of_best = i;
		}
	}
	assay_native_regs from = {r->pc, r->sp, first + bp_of_best * WORD, true};
	return bp_of_best == TRIES ? n : follow(w, &from, n, &ends, &needs, &best);
}

uint32_t assay_native_walk(const assay_native_regs *regs, const char *copy, size_t n,
			   uintptr_t stop, assay_native_call *out)
{
	walk w = {copy, n, regs->sp, stop ? assay_native_object_at(stop) : NULL, out};
	assay_native_regs r = *regs;
	bool ends, needs;
	uint32_t done = follow(&w, &r, 0, &ends, &needs, NULL);
	if (!needs)
		return done;
	uint32_t all = guess_bp(&w, &r, done);
	if (all == done) { /* at least the function itself */
		assay_native_object *o = assay_native_object_at(r.pc - (done > 0));
		uintptr_t at = assay_native_rule_at(o, r.pc - (done > 0)).function;
		out[all++] = (assay_native_call){o, at};
	}
	return all;
}

uint32_t assay_native_walk_blocked(uintptr_t pc, uintptr_t sp, uintptr_t stop,
				   assay_native_call *out)
{
	enum { PAGE = 4096 };
	static char copy[ASSAY_NATIVE_STACK];
	size_t n = 0;
	while (n < sizeof copy) { /* page by page: behind the stack's end there is nothing */
		size_t piece = PAGE - ((sp + n) & (PAGE - 1));
		piece = piece < sizeof copy - n ? piece : sizeof copy - n;
		if (!assay_py_safely(0, sp + n, copy + n, piece))
			break;
		n += piece;
	}
	assay_native_regs regs = {.pc = pc, .sp = sp};
	return assay_native_walk(&regs, copy, n, stop, out);
}
