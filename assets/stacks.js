// Python stacks as text.
import { el } from "./dom.js";

const FEW_CALLERS = 12;

// "function · file.py:12" of one row of stack.
export function frameText(data, row) {
	const s = data.stack, c = data.code, code = s.code[row];
	return code < 0 ? "?" : `${data.texts[c.function[code]] || "?"} · ${data.texts[c.file[code]].split("/").pop()}:${s.line[row] >= 0 ? s.line[row] : c.line[code]}`;
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
