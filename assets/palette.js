// Colours by meaning. They are CSS variables (report.css) so that light, dark and print share the names; hues
// follow Okabe and Ito, which stay apart for colour-blind readers, and no picture relies on hue alone.
import { el } from "./dom.js";

export const CLASS_COLOURS = { compute: "--compute", exposed_comm: "--comm", exposed_copy: "--copy", idle: "--idle" };

// Index in this list is the colour number of a span; causes of idle time follow (nameCauses). Kernel families first.
export const COLOURS = [
	"--other", "--gemm", "--attention", "--conv", "--norm", "--elementwise", "--reduction", "--embedding",
	"--optimizer", "--comm", "--copy",
	"--memset", "--host-op", "--host-runtime", "--host-driver", "--host-python",
	"--host-other", "--mark", "--mark-1", "--mark-2", "--mark-3", "--inferred", "--wait",
];
const number = Object.fromEntries(COLOURS.map((c, i) => [c, i]));

// Colours of causes come with the data: they stand in the list of causes (src/model/cause.def).
export function nameCauses({ cause, cause_colour: colours }) {
	cause.forEach((name, i) => {
		const colour = `--cause-${name.replaceAll("_", "-")}`;
		document.documentElement.style.setProperty(colour, `light-dark(${colours[2 * i]}, ${colours[2 * i + 1]})`);
		number[colour] ??= COLOURS.push(colour) - 1;
	});
}

// A kernel family has the colour of its name, but for these.
const BY_FAMILY = { convolution: "--conv", collective: "--comm" };

export function familyColour(name) {
	const colour = BY_FAMILY[name] ?? `--${name}`;
	return colour in number ? colour : "--other";
}

const BY_KIND = {
	cpu_op: "--host-op", user_annotation: "--mark", marker: "--mark",
	process_range: "--mark",
	runtime: "--host-runtime", driver: "--host-driver", python_function: "--host-python",
	memcpy: "--copy", memset: "--memset", "device annotation": "--mark", "inferred scope": "--inferred", wait: "--wait",
	Steps: "--mark", "XLA Modules": "--mark", "XLA Ops": "--mark", "Framework Name Scope": "--mark",
	"Framework Ops": "--mark", "Command Buffers": "--mark",
};

const MARKS = 4;

// Which of the colours of ranges a name has: the same on every page, and for names that only count up.
function markShades(data) {
	return Uint8Array.from(data.texts, (text) => {
		let sum = 0;
		for (const c of text.replace(/\d+/g, ""))
			sum = (sum * 31 + c.codePointAt(0)) % 65521;
		return sum % MARKS;
	});
}

// Colour number of every span, made once.
export const colourSpans = (data) => data.colours ??= makeColours(data);

function makeColours(data) {
	const kinds = data.enums["span.kind"].map((k) => number[BY_KIND[k] ?? "--host-other"]);
	const kernelKind = data.enums["span.kind"].indexOf("kernel");
	const families = data.enums.family.map((name) => number[familyColour(name)]);
	const family = new Uint8Array(data.texts.length);
	for (let i = 0; i < (data.kernel?.n ?? 0); i++)
		if (data.enums["kernel.kind"][data.kernel.kind[i]] === "kernel")
			family[data.kernel.name[i]] = families[data.kernel.family[i]];
	const out = new Uint8Array(data.kind.length), mark = number["--mark"];
	const shade = markShades(data);
	for (let i = 0; i < out.length; i++)
		out[i] = data.kind[i] === kernelKind ? family[data.name[i]] : kinds[data.kind[i]] === mark ? mark + shade[data.name[i]] : kinds[data.kind[i]];
	// calls in which a thread waited; the others make a stream wait
	for (let i = 0; i < (data.wait?.n ?? 0); i++)
		if (data.wait.host[i] >= 0 && data.wait.consumer[i] < 0 && data.wait.blocked[i] > 0)
			out[data.wait.host[i]] = number["--wait"];
	const causes = data.enums.cause.map((name) => number[causeColour(name)]);
	for (let i = data.first_gap; data.gap && i < out.length; i++)
		out[i] = causes[data.gap.cause[data.gapOfSpan[i - data.first_gap]]];
	return out;
}

// By the name of the cause; one without a colour looks unexplained.
export function causeColour(name) {
	const colour = `--cause-${name.replaceAll("_", "-")}`;
	return colour in number ? colour : "--cause-unlinked";
}

export const INFERRED = number["--inferred"];

// [r, g, b] of a CSS variable as it is now.
export function resolve(name) {
	const probe = el("span", { style: { color: `var(${name})` } });
	document.body.append(probe);
	const rgb = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
	probe.remove();
	return rgb;
}

// Relative luminance as the guidelines for contrast define it (WCAG 2, from sRGB), 0 to 1.
function luminance(rgb) {
	const [r, g, b] = rgb.map((v) => v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export const SHADES = 16;

// Pixels for each colour at each coverage, little-endian RGBA; plain first, then dimmed for a search.
export function pixelTable() {
	const ground = resolve("--ground");
	const out = new Uint32Array(COLOURS.length * SHADES * 2);
	const dark = []; // by colour: does its text have to be white
	COLOURS.forEach((name, c) => {
		const rgb = resolve(name);
		dark[c] = luminance(rgb) < 0.179; // there black and white are as far from it
		for (let dim = 0; dim < 2; dim++)
			for (let s = 0; s < SHADES; s++) {
				const a = (0.35 + 0.65 * s / (SHADES - 1)) * (dim ? 0.18 : 1);
				const mix = rgb.map((v, k) => Math.round(v * a + ground[k] * (1 - a)));
				out[(dim * COLOURS.length + c) * SHADES + s] =
					(255 << 24 | mix[2] << 16 | mix[1] << 8 | mix[0]) >>> 0;
			}
	});
	return { pixels: out, dark };
}
