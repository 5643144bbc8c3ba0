package format

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
	"psafe/host/read/onnx/lower"
)

// Standard deviations of ONNX networks.

// What a record says of them (Options.SpreadWords): the decimal of SD as it is, or one of
// these and a word more.
const (
	wordRelative = "relative "
	wordFile     = "file "
)

// SpreadWords returns for records what the options say of the standard deviations of an ONNX
// network: the decimal SD, "relative" and the decimal SDRelative, or "file" and the Scale of
// SDFile. Empty if they say nothing.
func (o *Options) SpreadWords() string {
	switch {
	case o.SDRelative != "":
		return wordRelative + o.SDRelative
	case o.SDFile != "":
		return wordFile + o.Scale.String()
	}
	return o.SD
}

// SetSpread sets what SpreadWords has said; file is the place of SDFile.
func (o *Options) SetSpread(words, file string) (err error) {
	if text, relative := strings.CutPrefix(words, wordRelative); relative {
		o.SDRelative = text
	} else if word, ofFile := strings.CutPrefix(words, wordFile); ofFile {
		o.SDFile = file
		o.Scale, err = posterior.ParseScale(word)
	} else {
		o.SD = words
	}
	return err
}

// relativeFlag begins the value of --sd that is SDRelative.
const relativeFlag = "relative:"

// decimalLetters has the letters of decimals. A name of none but these is ./NAME on a command line.
const decimalLetters = "0123456789.eE+-"

// SetFlag sets what --sd says: a decimal, relative:DECIMAL, or the name of a file.
func (o *Options) SetFlag(sd string) {
	if text, relative := strings.CutPrefix(sd, relativeFlag); relative && text != "" {
		o.SDRelative = text
	} else if strings.Trim(sd, decimalLetters) == "" {
		o.SD = sd
	} else {
		o.SDFile = sd
	}
}

// Flag returns what SetFlag takes, empty if the options say nothing.
func (o *Options) Flag() string {
	switch {
	case o.SDRelative != "":
		return relativeFlag + o.SDRelative
	case o.SDFile != "" && strings.Trim(o.SDFile, decimalLetters) == "":
		return "./" + o.SDFile
	}
	return cmp.Or(o.SDFile, o.SD)
}

// spread holds what the options say of the standard deviations.
type spread struct {
	random lower.Random
	// bounds of a decimal, of which near is the nearest float64; near is 0 where every
	// standard deviation is.
	near, lo, hi float64
	relative     bool
	// stored are the spreads of a file by initialiser, and scale what they are.
	stored map[string][]float64
	scale  posterior.Scale
	notes  []string
	given  *posterior.Given
}

// readSpread reads what the options say, and the file that they name.
func readSpread(opt *Options, g *onnx.Graph) (*spread, error) {
	if opt.OneNetwork && opt.SD == "" && opt.SDRelative == "" && opt.SDFile == "" {
		opt.SD = "0"
	}
	said := 0
	for _, text := range []string{opt.SD, opt.SDRelative, opt.SDFile} {
		if text != "" {
			said++
		}
	}
	if said != 1 {
		return nil, errors.New("an ONNX file has no standard deviations: give them by --sd 0 (this one network), --sd 0.05 (every weight), --sd relative:0.01 (of the size of each weight) or --sd FILE.npz (by the names of the initialisers)")
	}
	if opt.SDFile == "" && opt.Scale != posterior.ScaleUnknown && opt.Scale != posterior.ScaleSD {
		return nil, fmt.Errorf("--scale %v is for --sd FILE: drop it", opt.Scale)
	}
	s := &spread{relative: opt.SDRelative != "", scale: opt.Scale}
	s.given = &posterior.Given{Words: opt.SpreadWords(), Path: opt.SDFile}
	if opt.SDFile != "" {
		switch err := s.readFile(opt.SDFile, g); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("--sd %.60q is no number, and there is no such file: give 0.05 (for every weight), relative:0.01 (of the size of each) or FILE.npz", opt.SDFile)
		case err != nil:
			return nil, fmt.Errorf("--sd: %w", &oneLine{opt.SDFile, err})
		case s.scale == posterior.ScaleUnknown:
			return nil, fmt.Errorf("--sd %.60q: %w", opt.SDFile, noScale())
		}
		return s, nil
	}
	text := cmp.Or(opt.SDRelative, opt.SD)
	var err error
	if s.near, s.lo, s.hi, err = posterior.Decimal(text); err != nil {
		return nil, fmt.Errorf("--sd %.40q: %w", opt.Flag(), err)
	}
	s.random.Every = s.near > 0
	return s, nil
}

// readFile reads spreads by the names of initialisers, from .npz or safetensors.
func (s *spread) readFile(path string, g *onnx.Graph) error {
	known := constants(g)
	s.stored, s.random.Names = map[string][]float64{}, map[string]bool{}
	sum, err := withFile(path, maxFile, func(file blob) error {
		arrays, err := openTensors(file)
		if err != nil {
			return err
		}
		numbers := int64(0)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			t, there := known[name]
			if !there || !t.Type.IsFloat() {
				return fmt.Errorf("array %.60q is named like no initialiser of the network, which has %s", name, list(slices.Sorted(maps.Keys(known))))
			}
			if !slices.Equal(t.Shape, arrays[name].shape) {
				return fmt.Errorf("array %.60q has shape %v, the initialiser %v", name, arrays[name].shape, t.Shape)
			}
			numbers += int64(len(t.Floats))
		}
		if err := afford(numbers, file.size); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			a, err := arrays[name].load()
			if err != nil {
				return err
			}
			s.stored[name], s.random.Names[name] = a.Data, true
		}
		return nil
	})
	s.given.SHA256 = sum
	var without []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !s.random.Names[name] && known[name].Type.IsFloat() {
			without = append(without, name)
		}
	}
	if len(without) > 0 {
		s.notes = append(s.notes, "standard deviation 0, since the file of standard deviations does not name them: "+list(without))
	}
	return err
}

// list writes names, not too many.
func list(names []string) string {
	const most = 8
	var some []string
	for _, name := range names[:min(most, len(names))] {
		some = append(some, fmt.Sprintf("%.60q", name))
	}
	if len(names) > most {
		some = append(some, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(some, ", ")
}

// posterior gives the layers their standard deviations. A network without any is a finite
// posterior of that one network, which is decided exactly.
func (s *spread) posterior(r *lower.Result, plan *graph.Plan) (*posterior.Posterior, error) {
	layers := layersOf(r, plan)
	if s.stored == nil && s.near == 0 {
		one := &posterior.Finite{Counts: []int64{1}}
		for _, l := range layers {
			one.Stack = append(one.Stack, l.Weight.Mean, l.Bias.Mean)
		}
		return posterior.FromFinite(layers, one)
	}
	for k := range layers {
		l := &lower.Layer{}
		if of := plan.Layers[k].Of; of >= 0 {
			l = &r.Layers[of]
		}
		for _, part := range []struct {
			to  *posterior.Params
			ids []int32
		}{{&layers[k].Weight, l.WeightID}, {&layers[k].Bias, l.BiasID}} {
			if err := s.fill(r, part.to, part.ids); err != nil {
				return nil, err
			}
		}
	}
	p := &posterior.Posterior{Layers: layers, Scale: posterior.ScaleSD}
	if s.relative { // of |mean|, so far
		if err := p.Widen(s.lo, s.hi); err != nil {
			return nil, err
		}
		for _, g := range p.Params() {
			for j := range g.Spread {
				g.Spread[j] = min(max(s.near*g.Spread[j], g.SdLo[j]), g.SdHi[j])
			}
		}
	}
	return p, p.Validate()
}

// fill sets the standard deviations of a list of parameters; a relative one it leaves at
// |mean|. Spread becomes the standard deviation rounded to float64, SdLo and SdHi bound the
// real number.
func (s *spread) fill(r *lower.Result, to *posterior.Params, ids []int32) error {
	n := len(to.Mean)
	to.Spread, to.SdLo, to.SdHi = make([]float64, n), make([]float64, n), make([]float64, n)
	for j, id := range ids {
		if id == 0 {
			continue
		}
		near, lo, hi := s.near, s.lo, s.hi
		if s.relative {
			near = math.Abs(to.Mean[j])
			lo, hi = near, near
		} else if s.stored != nil {
			t, e := r.Stored(id)
			stored := s.stored[t.Name][e]
			lo, hi = s.scale.SD(stored)
			if !(lo >= 0 && lo <= hi && hi <= math.MaxFloat64) {
				return fmt.Errorf("--sd: array %.60q: number %d is %v, which is no %v of a finite standard deviation", t.Name, e, stored, s.scale)
			}
			near = lo + (hi-lo)/2
		}
		to.Spread[j], to.SdLo[j], to.SdHi[j] = near, lo, hi
	}
	return nil
}
