#!/usr/bin/env bash
# deps.sh        installs what the tests use beyond Go, where apt may
# deps.sh deep   and what only make deep uses
# deps.sh env    prints the settings that make a missing OpenCL a failure where it
#                is installed
set -u

# Mesa's drivers have no devices unless they are asked for (scripts/rusticl.sh).
have_opencl() { ldconfig -p 2>/dev/null | grep -q 'libOpenCL\.so\.1' && ls /etc/OpenCL/vendors/*.icd 2>/dev/null | grep -qvE '/(mesa|rusticl)\.icd$'; }

if [ "${1:-}" = env ]; then
  have_opencl && echo PSAFE_REQUIRE_OPENCL=1
  exit 0
fi

has_python() { for p in ${PSAFE_PYTHON:-} /usr/bin/python3 python3; do "$p" -c "import $1" >/dev/null 2>&1 && return 0; done; return 1; }

want=()
has_python numpy || want+=(python3-numpy)
[ "${1:-}" != deep ] || has_python torch || want+=(python3-torch)
has_venv() { for p in ${PSAFE_PYTHON:-} /usr/bin/python3 python3; do "$p" -c 'import ensurepip, numpy, venv' >/dev/null 2>&1 && return 0; done; return 1; }
[ "${1:-}" != deep ] || has_venv || want+=(python3-venv)
has_slurm() { command -v slurmctld && command -v slurmd && command -v munged; } >/dev/null 2>&1
[ "${1:-}" != deep ] || has_slurm || want+=(slurm-wlm munge)
have_opencl || want+=(pocl-opencl-icd ocl-icd-libopencl1)
command -v oclgrind >/dev/null 2>&1 || want+=(oclgrind)
command -v cc >/dev/null 2>&1 || want+=(gcc libc6-dev)
have_chromium() { for b in chromium chromium-browser google-chrome google-chrome-stable; do command -v "$b" >/dev/null 2>&1 && return 0; done; return 1; }
[ "${1:-}" != deep ] || have_chromium || want+=(chromium) # 350 MB
have_gpucode() { command -v clang-15 >/dev/null 2>&1 && [ -e /usr/lib/clc/amdgcn--amdhsa.bc ] && [ -e /usr/lib/clc/nvptx64--nvidiacl.bc ]; }
have_rusticl() { [ -e /etc/OpenCL/vendors/rusticl.icd ] && ldconfig -p 2>/dev/null | grep -q libRusticlOpenCL; }
[ "${1:-}" != deep ] || have_gpucode || want+=(clang-15 libclc-15)
[ "${1:-}" != deep ] || have_rusticl || want+=(mesa-opencl-icd)
if [ ${#want[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing ${want[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null 2>&1
  apt-get install -y -q --no-install-recommends "${want[@]}" >/dev/null 2>&1 ||
    for package in "${want[@]}"; do apt-get install -y -q --no-install-recommends "$package" >/dev/null 2>&1; done
fi
have_opencl || echo "SKIPPED OpenCL tests: no OpenCL (install pocl-opencl-icd and ocl-icd-libopencl1)"
command -v oclgrind >/dev/null 2>&1 || echo "SKIPPED Oclgrind tests: install oclgrind"
command -v cc >/dev/null 2>&1 || echo "SKIPPED tests with a fake OpenCL library and the race detector: no C compiler"
has_python numpy || echo "SKIPPED tests of python/psafe_export.py: no Python with NumPy (install python3-numpy)"
[ "${1:-}" != deep ] || has_python torch || echo "SKIPPED tests with torch: install python3-torch"
have_chromium || echo "SKIPPED tests that open the page of psafe report: no Chromium (scripts/deps.sh deep installs it)"
[ "${1:-}" != deep ] || has_slurm || echo "SKIPPED campaigns on a real Slurm: install slurm-wlm and munge"
[ "${1:-}" != deep ] || [ "$(id -u)" = 0 ] || echo "SKIPPED campaigns on a real Slurm: only root can start a cluster"
[ "${1:-}" != deep ] || have_gpucode || echo "SKIPPED code for GPUs: install clang-15 and libclc-15"
[ "${1:-}" != deep ] || have_rusticl || echo "SKIPPED Rusticl: install mesa-opencl-icd"
data=${PSAFE_SHARED:-../shared}/data
[ -d "$data" ] || echo "SKIPPED tests on released posteriors: no $data (set PSAFE_SHARED, and PSAFE_DATA to its data)"
exit 0
