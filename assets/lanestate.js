// Lanes as the reader arranged them, as text for the address: "off.host,pin.4.gpu,move.7.host<4.host", and back.

const MARKS_OF_LANES = [["pin", "pinned"], ["hide", "hidden"], ["flat", "flat"]];

const foldsOf = (t) => [...new Set(t.groups.map((g) => g.fold).filter(Boolean))];

// "" as long as nothing was changed.
export function lanesText(t) {
	return [
		...[...t.off].filter((kind) => !t.offAtFirst.has(kind)).map((kind) => `off.${kind}`),
		...[...t.offAtFirst].filter((kind) => !t.off.has(kind)).map((kind) => `on.${kind}`),
		...MARKS_OF_LANES.flatMap(([word, key]) => t.groups.filter((g) => g[key]).map((g) => `${word}.${g.id}`)),
		...foldsOf(t).filter((fold) => fold.open).map((fold) => `open.${fold.id}`),
		...[...t.closed].map((rank) => `close.${rank}`),
		...t.moves.map(([id, before]) => `move.${id}<${before}`),
	].join(",");
}

// What is of no lane of the page is passed over.
export function arrangeLanes(t, text) {
	const group = (id) => t.groups.find((g) => g.id === id);
	for (const [, word, id] of text.matchAll(/(\w+)\.([^,]+)/g)) {
		const mark = MARKS_OF_LANES.find(([name]) => name === word), fold = word === "open" && foldsOf(t).find((f) => f.id === id);
		if (mark && group(id))
			group(id)[mark[1]] = true;
		else if (fold)
			fold.open = true;
		else if (word === "off")
			t.off.add(id);
		else if (word === "on")
			t.off.delete(id);
		else if (word === "close" && t.groups.some((g) => g.rank === id))
			t.closed.add(id);
		else if (word === "move")
			moveLane(t, ...id.split("<").map(group));
	}
	t.place();
}

// Groups that a group may change places with: of the same rank, and as pinned and as folded as it is.
export const besideLane = (t, g) => t.shown.filter((o) => o.rank === g.rank && o.fold === g.fold && o.pinned === g.pinned);

// Puts a group before another one, without one at the end.
export function moveLane(t, g, before) {
	if (!g || g === before)
		return;
	t.groups.splice(t.groups.indexOf(g), 1);
	t.groups.splice(before ? t.groups.indexOf(before) : t.groups.length, 0, g);
	t.moves = [...t.moves.filter(([id]) => id !== g.id), [g.id, before?.id ?? ""]];
}
