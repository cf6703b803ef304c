// What ran and on what: run.json and env.json of run directories, and the headers of the inputs.
import { el, section } from "./dom.js";
import { formatTime } from "./format.js";
import { makeTable } from "./tables.js";

function parse(note) {
	try {
		return JSON.parse(note.json);
	} catch {
		return null; // cut or no JSON: shown nowhere, the file is there to look at
	}
}

function notesOf(data, kind) {
	return data.notes.filter((n) => n.kind === kind).map((n) => ({ path: n.path, value: parse(n) })).filter((n) => n.value);
}

const isObject = (value) => value !== null && typeof value === "object";

// Nested members as [dotted path, text], null ones left out; of lists those that hold objects.
function flatten(value, path, out) {
	if (Array.isArray(value) ? value.some(isObject) : isObject(value))
		for (const [key, inner] of Object.entries(value))
			flatten(inner, path ? `${path}.${key}` : key, out);
	else if (value !== null && value !== undefined)
		out.push([path, typeof value === "string" ? value : JSON.stringify(value)]);
	return out;
}

// [label, paths to try, path that makes it irrelevant] of the one line. Distributions bring ROCm's libraries along on machines
// that have nothing to do with it.
const LINE = [
	["PyTorch", ["pytorch_version"]], ["Python", ["python_version"]], ["ROCm", ["rocm.version"], "pytorch_build.cuda_version"],
	["CUDA", ["pytorch_build.cuda_version"]], ["driver", ["assay.nvidia.driver_version", "rocm.kmd_version"]],
	["NCCL", ["rccl.version"]], ["kernel", ["host.kernel_release"]],
];

function oneLine(facts) {
	return LINE.map(([label, paths, unless]) => {
		const found = !facts.get(unless) && paths.map((p) => facts.get(p)).find(Boolean);
		return found ? `${label} ${found}` : null;
	}).filter(Boolean);
}

// When the recorded program was started; null when that is not known, or of several.
export function startOf(data) {
	const [run, ...others] = notesOf(data, "run");
	return run?.value.start?.utc && !others.length ? run.value.start.utc.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC") : null;
}

// What ran: the recorded commands.
export function commands(data) {
	return notesOf(data, "run").map(({ value }) => el("p", {},
		el("code", {}, (value.command ?? []).join(" ")),
		el("span.muted", {}, [
			value.host ? ` on ${value.host}` : "",
			value.stop ? `, ${formatTime(value.stop.unix_ns - value.start.unix_ns)}` : "",
			value.status ? `, exit status ${value.status}` : "",
		].join(""))));
}

// Fields in which the snapshots of several run directories differ.
const NEVER = /^(captured_at|assay\.host|assay\.process)|\.copies$/; // when, where, and lists of paths

export function environmentDifferences(...runs) {
	const snapshots = runs.flatMap((run) => notesOf(run, "env"));
	if (snapshots.length < 2)
		return null;
	const all = snapshots.map((s) => new Map(flatten(s.value, "", [])));
	const keys = [...new Set(all.flatMap((m) => [...m.keys()]))].filter((k) => !NEVER.test(k));
	const rows = keys.filter((k) => new Set(all.map((m) => m.get(k) ?? "")).size > 1);
	return section("environments", "Environments", makeTable([
		{ title: "field", value: (k) => k, show: (k) => k },
		...snapshots.map((s, i) => ({ title: s.path, words: true, value: (k) => all[i].get(k) ?? "", show: (k) => el("code", {}, all[i].get(k) ?? "not known") })),
	], rows, { caption: "Fields in which the environments of the run directories differ", search: "Filter fields" }));
}

// What a fact is about, by its name; groups in the order of what people look for.
const GROUPS = [
	["GPU and driver", /^(assay\.(gpus|gpu_arch|nvidia|amdgpu_driver)|gpu_arch|rocm\.kmd_version)\b/], ["framework", /^(pytorch|assay\.pytorch|triton|python_version|fbgemm|aiter|aotriton|composable_kernel)/],
	["libraries in use", /^assay\.effective\b/], ["variables", /^(assay\.)?env_vars\b/], ["libraries", /^(assay\.(librar|kernel_databases|rocm|therock|version_sources)|rocm|hip|rocblas|tensile|miopen|rccl)/],
	["machine", /^(assay\.(host|nics|container|kubernetes)|host|docker|runtime_context|system_health)/], ["Python packages", /^assay\.python\.packages\b/], ["Python", /^assay\.python\b/],
	["system packages", /^assay\.system_packages\b/], ["not known, and why", /^(assay\.(absent|reasons)|partial)/], ["the snapshot", /^(assay|schema_version|captured_at)/],
];
const HEADER = GROUPS.length;

const groupOf = (key) => { const i = GROUPS.findIndex(([, names]) => names.test(key)); return i < 0 ? HEADER : i; };
const groupName = (i) => GROUPS[i]?.[0] ?? "header of the input";

// What the snapshot itself found wrong stands above the facts.
function environmentFindings(snapshots) {
	const texts = [...new Set(snapshots.flatMap((s) => s.value.assay?.findings ?? []).map((f) => f.text).filter(Boolean))];
	return !texts.length ? null : el("ul.wrong", {}, ...texts.map((text) => el("li", {}, text)));
}

export function environment(data, versions) {
	const snapshots = notesOf(data, "env");
	const line = snapshots.length ? oneLine(new Map(flatten(snapshots[0].value, "", []))) : versions;
	const facts = [
		...snapshots.flatMap((s) => flatten(s.value, "", []).filter(([key]) => !key.startsWith("assay.findings.")).map(([key, value]) => ({ key, value, from: s.path, group: groupOf(key) }))),
		...data.meta.map((m) => ({ key: m.key, value: m.value, from: data.sources[m.source]?.path ?? "", group: HEADER })),
	].sort((a, b) => a.group - b.group);
	const several = new Set(facts.map((f) => f.from)).size > 1;
	return !facts.length ? null : section("environment", "Environment", el("p", {}, line.join(" · ")), environmentFindings(snapshots),
		makeTable([
			{ title: "about", value: (r) => r.group, show: (r) => groupName(r.group) },
			{ title: "fact", value: (r) => r.key, show: (r) => r.key },
			{ title: "value", wide: true, value: (r) => r.value, show: (r) => el("code", {}, r.value) },
			...several ? [{ title: "from", value: (r) => r.from, show: (r) => r.from }] : [],
		], facts, {
			caption: (snapshots.length ? "The environment snapshot, and facts from the inputs' headers" : "Facts from the inputs' headers (no env.json beside them)") + (several ? "" : `: ${facts[0].from}`),
			search: "Filter facts: variables, torch, ...",
		}));
}
