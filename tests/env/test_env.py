#!/usr/bin/env python3
"""assay env and env diff on fake roots. Case names are those of the schema's reference tests where one
exists. Prints `ok - name`, `not ok - name: why`, `skip - name: why`. usage: test_env.py [PART-OF-A-NAME]"""
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases_blocks  # noqa: E402,F401 importing registers the cases
import cases_contract  # noqa: E402,F401
import cases_diff  # noqa: E402,F401
import cases_effective  # noqa: E402,F401
import cases_owners  # noqa: E402,F401
import cases_real  # noqa: E402,F401
import cases_roots  # noqa: E402,F401
import cases_truth  # noqa: E402,F401
from fixture import Root  # noqa: E402
from harness import CASES  # noqa: E402

SKIPPED = {
    "TestPathConstants": "no table of path constants: every path is under --root",
    "TestEnvSnapshot.dataclass_is_frozen": "a Python object's property",
    "TestCliIsThinWrapper.cli_does_no_probing_imports": "a Python module's property",
    "TestSafeImportTorch": "torch is never imported",
    "TestNoGpuCompute.torch_cuda_never_called": "torch is never imported",
    "TestCliIsThinWrapper.cli_calls_collect_env": "a Python module's property",
    "TestCliIsThinWrapper.total_file_size_is_bounded": "a Python module's property",
    "TestRdhcWrapper.rdhc_handles_tempfile_oserror": "needs a full /tmp",
    "TestHostBlock.uname_failure_records_reason": "uname does not fail on demand",
    "TestPythonPackageVersionHelper.suppress_missing_still_reports_other_failures": "packages are never imported",
    "TestRdhcWrapper.rdhc_present_but_sudo_n_fails_returns_none": "sudo is never used",
    "TestCKPytorchBundledProbe.nm_missing_records_reason": "symbols are counted without nm",
    "TestGitRevParseHead.git_missing_returns_none": "git is never run",
}


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = 0
    for name, f, wants_root in CASES:
        if only and only not in name:
            continue
        r = Root() if wants_root else None
        try:
            why = f(r) if wants_root else f()
            print(f"skip - env: {name}: {why}" if isinstance(why, str) else f"ok - env: {name}")
        except Exception as e:  # noqa: BLE001 a failing case must not stop the others
            failed += 1
            print(f"not ok - env: {name}: {type(e).__name__}: {str(e)[:600]}")
            if only:
                traceback.print_exc()
        finally:
            if r:
                r.drop()
        sys.stdout.flush()
    for name, why in SKIPPED.items():
        if not only:
            print(f"skip - env: {name}: {why}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
