#!/usr/bin/env bash
# rusticl.sh: the tests of devices, crosscheck and the tiled kernels once more on a second
# OpenCL driver, Mesa's Rusticl, on the processor (llvmpipe). It has float32 only.
set -u

icd=/etc/OpenCL/vendors/rusticl.icd
if [ ! -f "$icd" ] || ! ldconfig -p | grep -q libRusticlOpenCL; then # a package removed leaves the file
  echo "SKIPPED Rusticl: no $icd with its library (apt install mesa-opencl-icd)"
  exit 0
fi
export RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=$icd PSAFE_REQUIRE_OPENCL=1 CGO_ENABLED=0
go=${GO:-go}
"$go" test -vet=off -timeout 2h ./gpu -run '^(TestDevice|TestTiles|TestPropagate|TestFallbackBits)$' || exit 1
for posterior in testdata/{glyphs-conv-8-10,glyphs-64-32-10,glyphs-64-24-24-10,cubic-128,advisory-4-32-9,tiny-2-3-2-tanh}.npz; do
  "$go" run ./cmd/psafe crosscheck --posterior "$posterior" --precision float32 || exit 1
done
