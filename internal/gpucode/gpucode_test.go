package main

import (
	"strings"
	"testing"

	"psafe/internal/testscale"
	"psafe/kernels"
)

// amdText holds what clang writes for a kernel with a loop, shortened.
const amdText = `	.text
twice:                                  ; @twice
; %bb.0:
	s_load_dword s0, s[4:5], 0x0
	s_cbranch_scc1 .LBB0_3
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	global_load_dword v1, v0, s[0:1]
	v_mul_f32_e32 v1, v1, v1
	v_cndmask_b32_e32 v1, v2, v1, vcc
	v_add_u32_e32 v0, 4, v0
	s_cbranch_scc1 .LBB0_1
; %bb.2:
	v_fma_f32 v1, v1, v1, v1
.LBB0_3:
	s_endpgm
	.amdhsa_kernel twice
		.amdhsa_float_denorm_mode_32 0
	.end_amdhsa_kernel
; Occupancy: 7
	.amdgpu_metadata
amdhsa.kernels:
  - .args:
      - .name:           preLo
    .group_segment_fixed_size: 64
    .name:           twice
    .private_segment_fixed_size: 8
    .sgpr_count:     9
    .sgpr_spill_count: 0
    .vgpr_count:     65
    .vgpr_spill_count: 2
`

// ptxText is the same in PTX.
const ptxText = `.entry twice(
	.param .u64 twice_param_0
)
{
	.local .align 4 .b8 	__local_depot0[8];
	.shared .align 4 .b8 twice_$_a[64];
	.reg .f32 	%f<3>;

	ld.param.u64 	%rd1, [twice_param_0];
	mov.u32 	%r1, %tid.x;
	cvt.u64.u32 	%rd2, %r1;
	add.s64 	%rd3, %rd1, %rd2;
$L__BB0_1:
	ld.global.f32 	%f1, [%rd3];
	mul.rn.f32 	%f2, %f1, %f1;
	setp.lt.f32 	%p1, %f2, %f1;
	add.s64 	%rd3, %rd3, %rd2;
	@%p1 bra 	$L__BB0_1;
	fma.rn.f32 	%f2, %f2, %f2, %f2;
	add.f32 	%f2, %f2, %f2;
	st.global.f32 	[%rd3], %f2;
	ret;
}
`

// TestRead: what is read in the two assemblies.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		read   func(string, build) ([]code, error)
		text   string
		want   code
		faults int
	}{
		{readAMD, amdText, code{registers: 65, private: 8, spills: 2, waves: 7, fused: 1, size: 9, flushes: ".amdhsa_float_denorm_mode_32"}, 4},
		{readPTX, ptxText, code{private: 8, fused: 1, size: 13, flushes: "add.f32"}, 3},
	} {
		all, err := c.read(c.text, build{target: "sm_80"})
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		got := all[0]
		flushes := strings.Contains(got.flushes, c.want.flushes)
		if got.kernel != "twice" || got.limit() != c.want.limit() || got.private != c.want.private || got.spills != c.want.spills || got.fused != c.want.fused || !flushes {
			t.Errorf("got  %+v\nwant %+v", got, c.want)
		}
		limits := map[string]limit{got.name(): got.limit()}
		if found := faults(all, limits); len(found) != c.faults {
			t.Errorf("faults %q", found)
		}
	}
}

// TestLimits: a file of limits says what was written, and each of them is held.
func TestLimits(t *testing.T) {
	c := code{kernel: "affine", build: build{"gfx90a", false}, registers: 40, waves: 8, size: 100}
	limits, err := readLimits(writeLimits([]code{c}))
	if err != nil || len(faults([]code{c}, limits)) != 0 {
		t.Errorf("%v, %v", limits, err)
	}
	for _, change := range []func(*code){
		func(c *code) { c.registers++ }, func(c *code) { c.waves-- }, func(c *code) { c.size++ },
		func(c *code) { c.kernel = "other" },
	} {
		worse := c
		change(&worse)
		if found := faults([]code{worse}, limits); len(found) != 1 {
			t.Errorf("%+v: %q", worse, found)
		}
	}
	for _, bad := range []string{"affine gfx90a/float32 1 2", "affine gfx90a/float32 1 2 three"} {
		if _, err := readLimits(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestBroken compiles kernels with mistakes, each of which must be a fault. In deep only,
// which takes clang anyway.
func TestBroken(t *testing.T) {
	if why := missing(); why != "" || !testscale.Deep(t) {
		t.Skip("PSAFE_DEEP=1 with clang compiles broken kernels: ", why)
	}
	for _, m := range []struct{ file, old, new, kernel, says string }{
		{"squarerows", "up(x * x)", "fma(x, x, x)", "squarerows", "fused"},
		{"round", "k < (most); k++) if (k < (n))", "k < (n); k++)", "affineshared", "private"},
		{"tiles", "", "", "", ""}, // no mistake
	} {
		sources := kernels.Sources()
		if !strings.Contains(sources[m.file], m.old) {
			t.Fatalf("%s.cl has no %q", m.file, m.old)
		}
		sources[m.file] = strings.ReplaceAll(sources[m.file], m.old, m.new)
		all, err := compileAll(kernels.Program(sources), targets[3:])
		if err != nil {
			t.Fatal(err)
		}
		limits := map[string]limit{}
		for _, c := range all {
			limits[c.name()] = c.limit()
		}
		found := strings.Join(faults(all, limits), "\n")
		if m.says == "" && found != "" || !strings.Contains(found, m.kernel) || !strings.Contains(found, m.says) {
			t.Errorf("%s.cl with %q: %q", m.file, m.new, found)
		}
	}
}
