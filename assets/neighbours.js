// Other events like the selected one.

// Select the next span of the same name, lane by lane.
export function sameName(t, step) {
	const { name, kind } = t.data, n = name.length;
	if (t.selected < 0)
		return;
	let i = t.selected;
	do
		i = (i + step + n) % n;
	while (name[i] !== name[t.selected] || kind[i] !== kind[t.selected]);
	t.select(i, true);
}
