package plot

import (
	"errors"
	"fmt"
	"strings"

	"psafe/host/record"
)

// Steps hold how bounds of one weight box and T go through a network of one input, one hidden layer
// of ReLU and one output. What has Approx in its name is of drawn networks; all else is a bound.
type Steps struct {
	T [2]float64
	// Gamma is the half-width of the weight box in standard deviations, as typed.
	Gamma string
	// XApprox are inputs of T that rise, where Networks networks of the weight box
	// were evaluated.
	XApprox  []float64
	Networks int
	Hidden   []StepsNeuron
	Output   StepsOutput
}

// StepsNeuron is a hidden neuron.
type StepsNeuron struct {
	// Formula is the pre-activation, for a title.
	Formula string
	// PreApprox is the pre-activation of each drawn network.
	PreApprox [][]float64
	// Pre holds the pre-activation and Z the activation, for all of T and the box.
	Pre, Z [2]float64
	// Lower and Upper are lines over Pre with the activation between them; both
	// slopes of each are equal.
	Lower, Upper StepsLine
}

// StepsOutput is the output.
type StepsOutput struct {
	Formula string
	YApprox [][]float64
	// IBP and LBP hold y.
	IBP, LBP [2]float64
	// Lower bounds y and Negated bounds -y from below, at every x of T.
	Lower, Negated StepsLine
}

// StepsLine is Slope t + Constant for the slope of an interval that makes it least.
type StepsLine struct{ SlopeLo, SlopeHi, Constant float64 }

// least is the line at t.
func (l StepsLine) least(t []float64) []float64 {
	var y []float64
	for _, v := range t {
		y = append(y, min(l.SlopeLo*v, l.SlopeHi*v)+l.Constant)
	}
	return y
}

// check returns what cannot be drawn.
func (s *Steps) check() error {
	switch {
	case len(s.Hidden) < 1 || len(s.Hidden) > mostNeurons:
		return fmt.Errorf("%d hidden neurons: a figure of steps holds 1 to %d", len(s.Hidden), mostNeurons)
	case len(s.XApprox) < 2 || !allFinite(s.XApprox) || !rising(s.XApprox) || s.Networks < 1:
		return errors.New("the inputs of drawn networks are no two or more finite numbers that rise, or there is no network")
	}
	ranges, o := [][2]float64{s.T, s.Output.IBP, s.Output.LBP}, s.Output
	lines := []StepsLine{o.Lower, o.Negated}
	curves := [][][]float64{o.YApprox}
	for _, n := range s.Hidden {
		ranges, lines, curves = append(ranges, n.Pre, n.Z), append(lines, n.Lower, n.Upper), append(curves, n.PreApprox)
	}
	for _, r := range ranges {
		if !(r[0] <= r[1]) || !allFinite([]float64{r[0], r[1], r[1] - r[0]}) {
			return fmt.Errorf("[%v, %v] is no finite interval", r[0], r[1])
		}
	}
	for _, l := range lines {
		if !allFinite([]float64{l.SlopeLo, l.SlopeHi, l.Constant}) {
			return fmt.Errorf("a line has the slopes %v and %v and the constant %v: give finite ones", l.SlopeLo, l.SlopeHi, l.Constant)
		}
	}
	return s.checkCurves(curves)
}

func (s *Steps) checkCurves(neurons [][][]float64) error {
	for _, curves := range neurons {
		if len(curves) != s.Networks {
			return fmt.Errorf("%d curves of %d networks", len(curves), s.Networks)
		}
		for _, y := range curves {
			if len(y) != len(s.XApprox) || !allFinite(y) {
				return fmt.Errorf("a curve of %d values at %d inputs, or one that is not finite", len(y), len(s.XApprox))
			}
		}
	}
	return nil
}

// outward writes an interval with two decimals, rounded outward.
func outward(of [2]float64) string {
	lo, negative := strings.CutPrefix(record.FormatUp(-of[0], 2), "-")
	if !negative && strings.Trim(lo, "0.") != "" {
		lo = "-" + lo
	}
	return "[" + lo + ", " + record.FormatUp(of[1], 2) + "]"
}
