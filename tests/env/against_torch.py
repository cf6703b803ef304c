#!/usr/bin/env python3
"""Every fact `assay env` and PyTorch both know, side by side, as a table. Run it with the interpreter to be
compared; it skips itself where torch cannot be imported."""
import json
import os
import re
import subprocess
import sys
import time

ASSAY = os.environ.get("ASSAY", "build/release/assay")
try:
    import torch
except ImportError:
    print("skip - env: against_torch: torch is not installed for", sys.executable)
    sys.exit(0)

ROWS = []


def row(fact, ours, theirs, same=None):
    ROWS.append((fact, ours, theirs, ours == theirs if same is None else same))


def collect():
    out = subprocess.run([sys.executable, "-m", "torch.utils.collect_env"], capture_output=True, text=True).stdout
    facts = {}
    for line in out.splitlines():
        k, _, v = line.partition(":")
        facts.setdefault(k.strip(), v.strip())
        m = re.match(r"\[pip3\] (\S+)==(\S+)", line)
        if m:
            facts["pip " + m[1].lower().replace("_", "-")] = m[2]
    return facts


def mapped():
    """Libraries the process really has after using the GPU."""
    if torch.cuda.is_available():
        x = torch.randn(64, 64, device="cuda")
        (x @ x).sum().item()
        torch.nn.functional.conv2d(torch.randn(1, 3, 8, 8, device="cuda"), torch.randn(3, 3, 3, 3, device="cuda"))
    with open("/proc/self/maps") as f:
        return {line.split(None, 5)[5].strip() for line in f if ".so" in line}


def against_smi(gpu):
    """What nvidia-smi says of the first GPU, by the names of --query-gpu; a driver that does not know one is left out."""
    fields = {"max_sm_clock_mhz": "clocks.max.sm", "max_memory_clock_mhz": "clocks.max.mem", "pcie_max_generation": "pcie.link.gen.max",
              "pcie_max_width": "pcie.link.width.max", "ecc_uncorrected_total": "ecc.errors.uncorrected.aggregate.total",
              "application_sm_clock_mhz": "clocks.applications.graphics", "default_power_limit_mw": "power.default_limit", "vbios_version": "vbios_version",
              "remapped_rows_correctable": "remapped_rows.correctable", "remapped_rows_uncorrectable": "remapped_rows.uncorrectable",
              "row_remap_failed": "remapped_rows.failure", "gsp_version": "gsp_firmware_version"}
    for ours, theirs in fields.items():
        p = subprocess.run(["nvidia-smi", "--query-gpu=" + theirs, "--format=csv,noheader,nounits", "-i", "0"], capture_output=True, text=True)
        said = p.stdout.strip()
        if p.returncode or said.startswith("["):
            continue
        if ours == "default_power_limit_mw":
            said = str(int(float(said) * 1000))
        row("nvidia-smi " + theirs, gpu.get(ours), {"No": "0", "Yes": "1"}.get(said, said))
    text = subprocess.run(["nvidia-smi", "-q", "-i", "0"], capture_output=True, text=True).stdout
    gsp = re.search(r"GSP Firmware Version\s*: (\S+)", text)
    if gsp:
        row("nvidia-smi -q GSP firmware", gpu.get("gsp_version"), gsp[1])
    links = subprocess.run(["nvidia-smi", "nvlink", "-s", "-i", "0"], capture_output=True, text=True).stdout
    row("nvidia-smi nvlink, active", int(gpu.get("nvlinks_active", 0)), len(re.findall(r"Link \d+: [\d.]+ GB/s", links)))


def main():
    d = json.loads(subprocess.run([ASSAY, "env", "--json", "--python", sys.executable], capture_output=True).stdout)
    a, c = d["assay"], collect()
    row("pytorch_version", d["pytorch_version"], torch.__version__)
    row("pytorch_build.git_commit", d["pytorch_build"]["git_commit"], torch.version.git_version)
    row("pytorch_build.cuda_version", d["pytorch_build"]["cuda_version"], torch.version.cuda)
    row("pytorch_build.hip_version", d["pytorch_build"]["hip_version"], torch.version.hip)
    row("pytorch_build.debug", d["pytorch_build"]["debug"], torch.version.debug)
    row("python_version", d["python_version"], sys.version.split()[0])
    row("host.glibc_version", "glibc-" + d["host"]["glibc_version"], c.get("Libc version"))
    row("host.kernel_release", d["host"]["kernel_release"], os.uname().release)
    row("assay.host.os", a["host"].get("os"), c.get("OS"), (a["host"].get("os") or "?") in c.get("OS", ""))
    row("gpu_arch_list", a["pytorch_build"]["flags"]["gpu_arch_list"], torch._C._cuda_getArchFlags().split())
    show = torch.__config__.show()
    flags = re.search(r"CXX_FLAGS=(.*?), [A-Z_]+=", show)
    row("CXX_FLAGS of __config__.show()", len(d["assay"]["pytorch_build"]["flags"]["cxx_flags_raw"] or ""), len(flags[1]) if flags else 0,
        flags and flags[1] == a["pytorch_build"]["flags"]["cxx_flags_raw"])
    settings = a["pytorch_build"]["flags"]["build_settings"]
    wrong = [k for k, v in settings.items() if k != "CXX_FLAGS" and f"{k}={v}" not in show]
    row("build settings of __config__.show()", f"{len(settings)} keys", f"{len(wrong)} differ {wrong[:3]}", not wrong)
    for flag in ("USE_FBGEMM", "USE_FBGEMM_GENAI"):
        ours = d["fbgemm"]["pytorch_" + flag.lower()]
        row(flag, ours, re.search(rf"-D{flag}(?![A-Za-z0-9_])", show) is not None)
    for name, version in a["python"]["packages"].items():
        if "pip " + name in c:
            row("package " + name, version, c["pip " + name], version.split("+")[0] == c["pip " + name].split("+")[0])
    if torch.cuda.is_available():
        gpus = [g for g in a["gpus"] if g.get("source") in ("nvml", "kfd")]
        row("GPUs", len(gpus), torch.cuda.device_count())
        p = torch.cuda.get_device_properties(0)
        row("GPU name", gpus[0].get("name"), torch.cuda.get_device_name(0))
        row("compute capability", gpus[0].get("compute_capability"), f"{p.major}.{p.minor}")
        row("GPU uuid", gpus[0].get("uuid"), "GPU-" + str(p.uuid))
        row("GPU memory MiB", gpus[0].get("memory_mb"), p.total_memory >> 20, abs(gpus[0].get("memory_mb", 0) - (p.total_memory >> 20)) < 2048)
        row("driver", a["nvidia"].get("driver_version"), c.get("Nvidia driver version"))
        v = torch.backends.cudnn.version()
        ours = a["libraries"]["cudnn"]["effective"]["version"]
        row("cuDNN", ours, f"{v // 10000}.{v // 100 % 100}.{v % 100}", ours.startswith(f"{v // 10000}.{v // 100 % 100}.{v % 100}"))
        n = torch.cuda.nccl.version()
        row("NCCL", a["libraries"]["nccl"]["effective"]["version"], ".".join(map(str, n[:3])))
        against_smi(gpus[0])
    real = {os.path.realpath(m) for m in mapped()}
    for name, lib in a["libraries"].items():
        if lib["effective"]:
            hit = [m for m in real if re.match(re.escape(f"lib{name}.so"), os.path.basename(m))]
            row("loads " + name, lib["effective"]["path"], ", ".join(hit) or "not loaded", lib["effective"]["path"] in real)
    child = subprocess.Popen([sys.executable, "-c", "import torch,time;torch.zeros(1);print(1,flush=True);time.sleep(60)"], stdout=subprocess.PIPE)
    child.stdout.readline()
    live = json.loads(subprocess.run([ASSAY, "env", "--json", "--no-hash", "--pid", str(child.pid)], capture_output=True).stdout)
    with open(f"/proc/{child.pid}/maps") as f:
        truth = {l.split(None, 5)[5].strip() for l in f if "libcudart.so" in l}
    child.kill()
    child.wait()
    row("--pid: libcudart mapped", [m for m in live["assay"]["process"]["mapped"] if "libcudart.so" in m], sorted(truth))
    row("--pid: pytorch_version", live["pytorch_version"], torch.__version__)
    print("| fact | assay env | PyTorch | same |\n|---|---|---|---|")
    for fact, ours, theirs, same in ROWS:
        print(f"| {fact} | {str(ours)[:90]} | {str(theirs)[:90]} | {'yes' if same else '**no**'} |")
    bad = [r[0] for r in ROWS if not r[3]]
    print("\nmarker:", "partial" if d["partial"] else "[OK]", d["partial_reasons"])
    print("findings:", json.dumps(a["findings"], indent=1))
    print(f"not ok - env: against_torch: {bad}" if bad else f"ok - env: against_torch ({len(ROWS)} facts)")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
