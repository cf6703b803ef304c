// Tables that sort by a click on their heads and narrow down as one types.
import { plainNumber } from "./columns.js";
import { copyButton } from "./copy.js";
import { el, elided } from "./dom.js";
import { decoded, formatCount } from "./format.js";

const FIRST_ROWS = 20, LOOKED_THROUGH = 20000, LONG_TITLE = 18, NAME_HEAD = 20, NAME_TAIL = 10; // the last two: letters of a name that find room
const KINDS = ["number", "wide", "words", "name", "minor", "spare"], ON_HEADS = ["number", "minor", "spare"];

const cell = (c, row) => el(`td${KINDS.filter((k) => c[k]).map((k) => `.${k}`).join("")}`, {}, c.show(row));

function longestText(cell) {
	const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
	let longest = null;
	while (texts.nextNode())
		longest = texts.currentNode.length > (longest?.length ?? 0) ? texts.currentNode : longest;
	return longest;
}

// The longest text of each cell gives way in its middle; of several that would look the same then, what all of them begin with.
function elideNames(cells) {
	const texts = cells.map(longestText).filter(Boolean), ends = (name) => name.slice(0, NAME_HEAD) + name.slice(-NAME_TAIL);
	const alike = Map.groupBy(new Set(texts.map((t) => t.data)), ends), at = new Map([...alike].map(([key, names]) => [key, sharedWords(names)]));
	for (const text of texts) {
		const key = ends(text.data);
		text.replaceWith(elided(text.data, NAME_HEAD + NAME_TAIL, alike.get(key).length > 1 ? at.get(key) : undefined));
	}
}

// How many letters all names begin with, up to the word in which they part.
function sharedWords([first, ...others]) {
	let n = first.length;
	for (const name of others)
		while (!name.startsWith(first.slice(0, n)))
			n--;
	return first.slice(0, n).search(/[A-Za-z0-9]*$/);
}

// On a phone what a row is about stands first, since the rest of the table is out of view there.
function inOrder(columns) {
	const lead = matchMedia("(max-width: 640px)").matches ? columns.find((c) => c.wide) ?? columns.findLast((c) => c.name) : null;
	return lead ? [lead, ...columns.filter((c) => c !== lead)] : columns;
}

// Names give way where columns would be out of view.
function makeRoom(table) {
	const scroll = table.querySelector(".scroll");
	table.classList.remove("tight");
	table.classList.toggle("tight", scroll.scrollWidth > scroll.clientWidth);
}

// columns: [{ title, value(row) for sorting, show(row) text or node, number, wide: takes the room, words: sentences that wrap,
// name: one line, cut in its middle; minor: not in narrow windows; spare: not in a narrow dock;
// plain: [[head, value(row)], ...] for CSV, else the text }]; those that are empty in every row are left out.
// options: { caption, search: "what the box asks for", rows: how many at first, sort: column, rising }
// Every table of several rows can be copied, all rows that the filter leaves, in the order shown.
export function makeTable(all, rows, options = {}) {
	const text = (c, row) => {
		const shown = c.show(row);
		return typeof shown === "string" ? shown : shown?.textContent ?? "";
	};
	const columns = inOrder(rows.length > LOOKED_THROUGH ? all : all.filter((c) => !rows.length || rows.some((row) => text(c, row) !== "")));
	let { rising = false } = options, sort = columns.indexOf(all[options.sort]), limit = options.rows ?? FIRST_ROWS, needle = "";
	const body = el("tbody"), count = el("span.count", { role: "status" });
	const more = el("button.more", { type: "button", onclick: () => { limit = Infinity; fill(); } });
	const heads = columns.map((c, i) => el("th", { scope: "col", class: [...ON_HEADS.filter((k) => c[k]), c.title.length > LONG_TITLE ? "long" : ""].join(" ").trim() },
		el("button", {
			type: "button",
			onclick: () => {
				rising = sort === i ? !rising : !c.number;
				sort = i;
				fill();
				tell();
			},
		}, c.title)));
	const compare = (a, b) => {
		const [x, y] = [columns[sort].value(a), columns[sort].value(b)];
		return (x < y ? -1 : x > y ? 1 : 0) * (rising ? 1 : -1);
	};

	let ordered = rows;
	function fill() {
		const kept = needle ? rows.filter((r) => columns.some((c) => text(c, r).toLowerCase().includes(needle))) : rows;
		ordered = sort >= 0 ? [...kept].sort(compare) : kept;
		body.replaceChildren(...ordered.slice(0, limit).map((row) =>
			el("tr", {}, ...columns.map((c) => cell(c, row)))));
		columns.forEach((c, i) => c.name && elideNames([...body.rows].map((r) => r.cells[i])));
		heads.forEach((h, i) => h.setAttribute("aria-sort", i !== sort ? "none" : rising ? "ascending" : "descending"));
		more.hidden = ordered.length <= limit;
		more.textContent = `Show all ${formatCount(ordered.length)} rows`;
		count.textContent = needle ? `${formatCount(kept.length)} of ${formatCount(rows.length)}` : "";
	}

	const box = !options.search ? null : el("input", {
		type: "search", placeholder: options.search, "aria-label": options.search,
		oninput: () => { needle = box.value.toLowerCase(); fill(); tell(); },
	});
	const oneLine = (c, row) => text(c, row).replace(/\s+/g, " ").trim();
	const cells = () => [columns.map((c) => c.title), ...ordered.map((row) => columns.map((c) => oneLine(c, row)))];
	const plain = (c, row) => c.plain ? c.plain.map(([, value]) => oneLine(c, row) === "" ? "" : plainNumber(value(row))) : [oneLine(c, row)];
	const plainCells = () => [columns.flatMap((c) => c.plain?.map(([head]) => head) ?? [c.title]), ...ordered.map((row) => columns.flatMap((c) => plain(c, row)))];
	const copy = rows.length > 1 ? el("span.copy", {}, copyButton("CSV", "copy the table as CSV: plain numbers, units in the head", () => asCsv(plainCells())), copyButton("Markdown", "copy the table as Markdown", () => asMarkdown(cells()))) : null;
	fill();
	const usual = [sort, rising], made = el("div.table", {},
		box || copy ? el("p.filter", {}, box, count, copy) : null,
		el("div.scroll", { tabindex: 0, role: "region", "aria-label": options.caption ?? "table" },
			el("table", {}, options.caption ? el("caption", {}, options.caption) : null,
				el("thead", {}, el("tr", {}, ...heads)), body)),
		more);
	new ResizeObserver(() => makeRoom(made)).observe(made.querySelector(".scroll"));
	const tell = () => made.dispatchEvent(new Event("change", { bubbles: true }));
	return Object.assign(made, {
		// "COLUMN,up,FILTER" for the address, "" as it was at first
		asText: () => (sort !== usual[0] || rising !== usual[1] || needle) && [columns[sort]?.title ?? "", rising ? "up" : "down", needle].map(encodeURIComponent).join() || "",
		take: (text) => {
			const [title, way, word = ""] = text.split(",").map(decoded), column = columns.findIndex((c) => c.title === title);
			if (column >= 0)
				[sort, rising] = [column, way === "up"];
			if (box)
				[box.value, needle] = [word, word.toLowerCase()];
			fill();
		},
	});
}

// Tables of a section in the order they stand.
export function tablesOf(section) {
	return [...section.querySelectorAll(".table")].filter((t) => t.asText);
}

const asCsv = (rows) => rows.map((row) => row.map((c) => /[",\n]/.test(c) ? `"${c.replaceAll('"', '""')}"` : c).join(",")).join("\n") + "\n";

function asMarkdown(rows) {
	const line = (row) => `| ${row.map((c) => c.replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(rows[0]), line(rows[0].map(() => "---")), ...rows.slice(1).map(line)].join("\n") + "\n";
}

// Facts as pairs, those without a value left out.
export function factTable(facts) {
	return el("dl.facts", {}, ...facts.filter(([, v]) => v !== null && v !== "").map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
}

// The same as lines of text.
export const factsText = (list) => [...list.children].map((pair) => `${pair.firstChild.textContent}: ${pair.lastChild.textContent.replaceAll("\n", "\n\t")}`).join("\n");
