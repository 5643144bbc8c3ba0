package arith

// Masses at the points 0, 1, 2, ... of a lattice, upper bounds all of them.

// FloorMass is added to every mass: more than all underflows together, and so large that
// no product of two masses is subnormal, which processors are slow at.
const FloorMass = 0x1p-500

// Grow gives back, by a factor, what roundings may have taken from masses, and adds FloorMass.
func Grow(p []float64, factor float64) {
	for i, m := range p {
		p[i] = float64(m*factor) + FloorMass
	}
}

// Multiples are numbers in steps of a lattice: number i is at Of[i] By + Shift - Wides[i] PerWide -
// Sizes[i] PerSize, with Mass times a mass of its own. Without Wides the last two are 0.
type Multiples struct {
	Of, Wides, Sizes                  []float64
	By, Shift, PerWide, PerSize, Mass float64
}

// Place adds the numbers, of these masses, to the masses p of points. A number between two points
// goes to both, its mean kept: the point k below a place y gets the share 1 - (y-k), the next one
// y-k, both computed with one rounding. A place is wrong by less than 2^-50 of the sum of its parts,
// which Shift has to allow for. What is below point 0 is lost, and NaN; what is above the last point
// goes there. p has two points or more.
func (t *Multiples) Place(p []float64, lost *float64, masses []float64) {
	last := float64(len(p) - 1)
	of, wides, sizes := t.Of, t.Wides, t.Sizes
	by, shift, perWide, perSize, mass := t.By, t.Shift, t.PerWide, t.PerSize, t.Mass
	// Neighbours often have one place: what they add is kept until the place changes.
	at, here, next := 0, 0.0, 0.0
	for i, m := range masses {
		y := float64(of[i]*by) + shift
		if wides != nil {
			y -= float64(wides[i]*perWide) + float64(sizes[i]*perSize)
		}
		m *= mass
		if !(y >= 0 && y < last) {
			if y >= last {
				p[len(p)-1] += m
			} else { // NaN as well
				*lost += m
			}
			continue
		}
		k := int(y)
		if k != at {
			p[at] += here
			p[at+1] += next
			at, here, next = k, 0, 0
		}
		share := y - float64(k)
		here += float64(m * (1 - share))
		next += float64(m * share)
	}
	p[at] += here
	p[at+1] += next
}

// Convolved are the masses of the sum of two independent numbers, each of them a sum of at most
// min(len(a), len(b)) + 3 products; a must not be longer than b. They are of no use once ended.
func Convolved(a, b []float64, ended func() bool) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	// Four masses of a at a time; both are padded with zeros to make that even.
	const block = 4
	n := len(b)
	four := append(a[:len(a):len(a)], make([]float64, block-1)...)
	b = append(append(make([]float64, block-1), b...), make([]float64, block-1)...)
	for i := 0; i < len(a); i += block {
		if i%(1<<8) == 0 && ended() {
			break
		}
		addFour(out[i:min(i+n+block-1, len(out))], [block]float64(four[i:i+block]), b)
	}
	return out
}

// addFour adds sum_k a[k] b[j+3-k] to out[j] for all j.
func addFour(out []float64, a [4]float64, b []float64) {
	b3, b2, b1, b0 := b[:len(out)], b[1:len(out)+1], b[2:len(out)+2], b[3:len(out)+3]
	for j := range out {
		out[j] += (float64(a[0]*b0[j]) + float64(a[1]*b1[j])) + (float64(a[2]*b2[j]) + float64(a[3]*b3[j]))
	}
}
