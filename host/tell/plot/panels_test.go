package plot_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"psafe/host/tell/plot"
	"psafe/internal/testscale"
)

// band is a band and n panels; p is the first box's p_lower.
func band(n int, p float64) (plot.Band, []plot.BandPanel) {
	b := plot.Band{Networks: 500}
	for i := range 33 {
		x := float64(i-16) / 4
		b.X, b.MeanApprox, b.SDApprox = append(b.X, x), append(b.MeanApprox, x*x*x), append(b.SDApprox, 1+x*x/8)
	}
	var panels []plot.BandPanel
	for range n {
		boxes := []plot.BandBox{{-2, -1, -6, 0, p, 1}, {-0.5, 0.5, -2, 2, 0, 1}, {1, 2, 0, 8, 0, 0.25}}
		panels = append(panels, plot.BandPanel{Eps: "0.5", Delta: "2<&>\x07", Boxes: boxes})
	}
	return b, panels
}

// oneNeuron is steps of a network of n equal hidden neurons; lo is the lower end of LBP.
func oneNeuron(n int, lo float64) *plot.Steps {
	s := &plot.Steps{T: [2]float64{-1, 1}, Gamma: "2", XApprox: []float64{-1, 0, 1}, Networks: 1, Output: plot.StepsOutput{
		Formula: "(1 ± 0.1) z1", YApprox: [][]float64{{0, 0, 1}}, IBP: [2]float64{-1, 2}, LBP: [2]float64{lo, 1.5},
		Lower: plot.StepsLine{SlopeLo: 0.9, SlopeHi: 1.1, Constant: -0.1}, Negated: plot.StepsLine{SlopeLo: -0.6, SlopeHi: -0.5, Constant: -0.6},
	}}
	for range n {
		s.Hidden = append(s.Hidden, plot.StepsNeuron{
			Formula: "(1 ± 0.1) x", PreApprox: [][]float64{{-1, 0, 1}}, Pre: [2]float64{-1.1, 1.1}, Z: [2]float64{0, 1.1},
			Lower: plot.StepsLine{SlopeLo: 1, SlopeHi: 1}, Upper: plot.StepsLine{SlopeLo: 0.5, SlopeHi: 0.5, Constant: 0.55},
		})
	}
	return s
}

// panelFigures draws figures of several panels.
func panelFigures(t *testing.T, p float64) map[string]*plot.Figure {
	t.Helper()
	out := map[string]*plot.Figure{}
	var err error
	for n, name := range []string{"band 1", "band 2", "band 3", "band 4", "band 5", "band 6"} {
		if out[name], err = plot.DrawBand(band(n+1, p)); err != nil {
			t.Fatal(err)
		}
	}
	for n, name := range []string{"steps 1", "steps 2", "steps 3"} {
		if out[name], err = plot.DrawSteps(oneNeuron(n+1, -p)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestPanelBytes: the same data give the same bytes, others give others, both formats
// are what they claim to be, and nothing is cut off.
func TestPanelBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing is slow under the race detector, and nothing of it runs at the same time: not with -short")
	}
	again, other := panelFigures(t, 0.5), panelFigures(t, 0.75)
	figures := panelFigures(t, 0.5)
	for _, kind := range testscale.Few(t, []string{"band 6", "band 1", "band 3", "band 2", "steps 3", "band 4", "band 5", "steps 1", "steps 2"}, 2) {
		f := figures[kind]
		checkBytes(t, kind, f, again[kind], other[kind])
		img := decode(t, f)
		all := img.Bounds()
		inner := all.Inset(8)
		if inked(img, all) != inked(img, inner) {
			t.Errorf("%s: pixels at the edge: something is cut off", kind)
		}
		if n := inked(img, all); n < 3000 || all.Max.X > 1600 || all.Max.Y > 1500 {
			t.Errorf("%s: %v, %d pixels are not white", kind, all.Max, n)
		}
	}
}

// TestPanelTexts: figures say what is an estimate and what is certified; states that
// do not occur have no key.
func TestPanelTexts(t *testing.T) {
	svg := string(write(t, panelFigures(t, 0.5)["band 4"], "svg"))
	for _, text := range []string{"p_lower (certified)", "input x (unit of the data)", "output y (unit of the data)", "eps 0.5, delta 2&lt;&amp;&gt;\\a",
		"line: mean of y over 500 drawn networks: an estimate, not certified", "hatched: unknown, nothing proved (p_lower 0 and p_upper 1)"} {
		if !strings.Contains(svg, ">"+text+"<") {
			t.Errorf("no text %q", text)
		}
	}
	b, panels := band(1, 0.5)
	b.Networks, panels[0].Boxes = 1, panels[0].Boxes[:1]
	f, err := plot.DrawBand(b, panels)
	if err != nil {
		t.Fatal(err)
	}
	if svg := string(write(t, f, "svg")); strings.Contains(svg, "hatched") || !strings.Contains(svg, "over 1 drawn network:") {
		t.Error("texts of one network and no unknown box")
	}
	if svg := string(write(t, panelFigures(t, 0.5)["steps 1"], "svg")); !strings.Contains(svg, ">filled: the interval of y by its linear bounds (LBP): y lies in [-0.50, 1.50]<") {
		t.Error("no interval of y")
	}
}

// TestPanelScales: data of any size have ticks with short texts.
func TestPanelScales(t *testing.T) {
	for factor, texts := range map[string][]string{"1e-300": {"0", "2e-299", "-4e-299"}, "0.001": {"-0.02", "0.00", "0.06"}, "1": {"-60", "0", "20"}, "1e300": {"-2e+301", "0", "6e+301"}} {
		k, err := strconv.ParseFloat(factor, 64)
		if err != nil {
			t.Fatal(err)
		}
		b, panels := band(1, 0.5)
		panels[0].Boxes = nil
		for i := range b.X {
			b.MeanApprox[i], b.SDApprox[i] = k*b.MeanApprox[i], k*b.SDApprox[i]
		}
		f, err := plot.DrawBand(b, panels)
		if err != nil {
			t.Fatal(err)
		}
		svg := string(write(t, f, "svg"))
		for _, text := range texts {
			if !strings.Contains(svg, ">"+text+"<") {
				t.Errorf("factor %s: no tick %q", factor, text)
			}
		}
	}
}

// TestBandRefuses: what cannot be drawn is an error of one line.
func TestBandRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*plot.Band, *[]plot.BandPanel){
		"0 panels":                         func(_ *plot.Band, p *[]plot.BandPanel) { *p = nil },
		"7 panels":                         func(_ *plot.Band, p *[]plot.BandPanel) { _, *p = band(7, 0.5) },
		"a band of 0 inputs":               func(b *plot.Band, _ *[]plot.BandPanel) { *b = plot.Band{Networks: 1} },
		"32 means":                         func(b *plot.Band, _ *[]plot.BandPanel) { b.MeanApprox = b.MeanApprox[1:] },
		"not finite":                       func(b *plot.Band, _ *[]plot.BandPanel) { b.MeanApprox[3] = math.NaN() },
		"do not rise":                      func(b *plot.Band, _ *[]plot.BandPanel) { b.X[3] = b.X[2] },
		"below 0":                          func(b *plot.Band, _ *[]plot.BandPanel) { b.SDApprox[3] = -1 },
		"of 0 networks":                    func(b *plot.Band, _ *[]plot.BandPanel) { b.Networks = 0 },
		"reach further":                    func(b *plot.Band, _ *[]plot.BandPanel) { b.SDApprox[3] = 1e308 },
		"box 1: an end is not finite":      func(_ *plot.Band, p *[]plot.BandPanel) { (*p)[0].Boxes[1].YHi = math.Inf(1) },
		"delta 2<&>\\a: box 2: [3, 2]":     func(_ *plot.Band, p *[]plot.BandPanel) { (*p)[0].Boxes[2].XLo = 3 },
		"p_lower NaN and p_upper":          func(_ *plot.Band, p *[]plot.BandPanel) { (*p)[0].Boxes[0].PLower = math.NaN() },
		"p_lower 0.5 and p_upper 0.25 are": func(_ *plot.Band, p *[]plot.BandPanel) { (*p)[0].Boxes[0].PUpper = 0.25 },
	} {
		b, panels := band(1, 0.5)
		spoil(&b, &panels)
		if _, err := plot.DrawBand(b, panels); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestStepsRefuses: what cannot be drawn is an error of one line.
func TestStepsRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*plot.Steps){
		"0 hidden neurons":     func(s *plot.Steps) { s.Hidden = nil },
		"4 hidden neurons":     func(s *plot.Steps) { s.Hidden = oneNeuron(4, 0).Hidden },
		"finite numbers that":  func(s *plot.Steps) { s.XApprox = nil },
		"or there is no":       func(s *plot.Steps) { s.Networks = 0 },
		"[-1, +Inf] is no":     func(s *plot.Steps) { s.Output.IBP[1] = math.Inf(1) },
		"[1, 0] is no":         func(s *plot.Steps) { s.Hidden[0].Pre = [2]float64{1, 0} },
		"the constant NaN":     func(s *plot.Steps) { s.Output.Negated.Constant = math.NaN() },
		"0 curves of 1":        func(s *plot.Steps) { s.Output.YApprox = nil },
		"a curve of 2 values":  func(s *plot.Steps) { s.Hidden[0].PreApprox[0] = []float64{1, 2} },
		"one that is not fini": func(s *plot.Steps) { s.Output.YApprox[0][1] = math.Inf(-1) },
	} {
		s := oneNeuron(1, -0.5)
		spoil(s)
		if _, err := plot.DrawSteps(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
