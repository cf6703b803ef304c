// Stacks as text.
import { el } from "./dom.js";

const FEW_CALLERS = 12;

// "function · file.py:12" of one row of stack; of a library, which has no lines, "function · libx.so" or its name alone.
export function frameText(data, row) {
	const s = data.stack, c = data.code, code = s.code[row];
	if (code < 0)
		return "?";
	const file = data.texts[c.file[code]].split("/").pop(), line = s.line[row] >= 0 ? s.line[row] : c.line[code];
	const name = data.texts[c.function[code]];
	return line < 0 && !name ? file : `${name || "?"} · ${file}${line < 0 ? "" : `:${line}`}`;
}

// Lines that led to a call, innermost first; null when none were recorded.
export function stackText(data, row) {
	const lines = [];
	for (let at = row; data.stack && data.code && at >= 0 && lines.length < FEW_CALLERS; at = data.stack.caller[at])
		lines.push(frameText(data, at));
	return lines.length ? el("code", {}, lines.join("\n")) : null;
}

// The line of the program itself in a stack, with the whole stack as its title.
export function lineText(data, row) {
	if (row < 0 || !data.stack || !data.code)
		return "";
	const own = data.stack.own?.[row] ?? -1;
	return el("span", { title: stackText(data, row).textContent }, frameText(data, own >= 0 ? own : row));
}

// The program's own line in a stack as "file.py:12", "" without one.
export function ownLine(data, row) {
	if (row < 0)
		return "";
	const own = data.stack.own?.[row] ?? -1, at = own >= 0 ? own : row, code = data.stack.code[at];
	const line = data.stack.line[at] >= 0 ? data.stack.line[at] : data.code.line[code];
	return code < 0 || line < 0 ? "" : `${data.texts[data.code.file[code]].split("/").pop()}:${line}`;
}

// Of every span the row of stack that it is of, -1 for none: of GPU work that of its launch, of a gap where the launching
// thread was longest. Made when first needed.
export function stackRows(data) {
	if (data.stackRows)
		return data.stackRows;
	const rows = data.stackRows = new Int32Array(data.start.length).fill(-1), p = data.gap_part;
	if (!data.stack || !data.code)
		return rows;
	for (let i = 0; i < data.gpu.n; i++)
		rows[i] = data.gpu.stack?.[i] ?? -1;
	const longest = new Map();
	for (let i = 0; i < (p?.n ?? 0); i++) {
		const span = data.spanOfGap[p.gap[i]];
		if (p.stack[i] >= 0 && span >= 0 && p.dur[i] > (longest.get(span) ?? 0)) {
			longest.set(span, p.dur[i]);
			rows[span] = p.stack[i];
		}
	}
	return rows;
}
