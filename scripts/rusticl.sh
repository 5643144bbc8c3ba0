#!/usr/bin/env bash
# rusticl.sh: the tests of devices, crosscheck and the tiled kernels once more on a second
# OpenCL driver, Mesa's Rusticl, on the processor (llvmpipe). It has float32 only.
set -u

icd=/etc/OpenCL/vendors/rusticl.icd
if [ ! -f "$icd" ]; then
  echo "SKIPPED Rusticl: no $icd (apt install mesa-opencl-icd)"
  exit 0
fi
export RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=$icd PSAFE_REQUIRE_OPENCL=1 CGO_ENABLED=0
go=${GO:-go}
"$go" test -vet=off -timeout 2h ./gpu -run '^(TestDevice|TestTiles|TestPropagate|TestFallbackBits)$' &&
  "$go" test -vet=off -timeout 2h ./cmd/psafe -run '^(TestCrosscheck|TestSameRecords)$'
