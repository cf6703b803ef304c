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
