package mixture

import (
	"math"
	"slices"
)

// mixtureFit looks for the mixture of the rows of one clause that fails least at the points that
// were looked at: its mean over its standard deviation at the worst of them is to be large.
type mixtureFit struct {
	// rows is how many rows the clause has, kept which of them are tried.
	rows int
	kept []int
	// moments are, by box of T and point, those of the rows that are kept.
	moments [][]moments
	// alone is the best of any single row on all points of a box, by box.
	alone []float64
}

// moments are about the means and the covariances of rows at a point.
type moments struct {
	mean []float64
	cov  [][]float64
}

const (
	// mostMixed is how many rows of a clause are tried.
	mostMixed = 8
	// mixtureStep is the least step of a factor: sums of them are exact, and rows of whole
	// numbers stay numbers of few digits.
	mixtureStep = 1.0 / 32
)

func newMixtureFit(rows []int, points [][]point) *mixtureFit {
	f := &mixtureFit{rows: len(rows)}
	for a := range rows {
		f.kept = append(f.kept, a)
	}
	f.measure(rows, points)
	if len(f.kept) > mostMixed {
		score := make([]float64, len(rows))
		for a := range score {
			score[a] = f.failing(f.vertex(a))
		}
		slices.SortStableFunc(f.kept, func(a, b int) int {
			switch {
			case score[a] < score[b]:
				return -1
			case score[a] > score[b]:
				return 1
			}
			return 0
		})
		f.kept = f.kept[:mostMixed]
		f.measure(rows, points)
	}
	for b := range f.moments {
		best := math.Inf(-1)
		for a := range f.kept {
			best = max(best, f.worst(b, f.vertex(a)))
		}
		f.alone = append(f.alone, best)
	}
	return f
}

// measure sets moments for the rows that are kept.
func (f *mixtureFit) measure(rows []int, points [][]point) {
	f.moments = make([][]moments, len(points))
	for b := range points {
		for _, p := range points[b] {
			f.moments[b] = append(f.moments[b], momentsOf(p.values, rows, f.kept))
		}
	}
}

func momentsOf(values [][]float64, rows, kept []int) moments {
	n := float64(len(values))
	m := moments{mean: make([]float64, len(kept))}
	for a, k := range kept {
		for _, v := range values {
			m.mean[a] += v[rows[k]] / n
		}
	}
	for a, k := range kept {
		m.cov = append(m.cov, make([]float64, len(kept)))
		for b, l := range kept[:a+1] {
			for _, v := range values {
				m.cov[a][b] += (v[rows[k]] - m.mean[a]) * (v[rows[l]] - m.mean[b]) / n
			}
			m.cov[b][a] = m.cov[a][b]
		}
	}
	return m
}

// vertex is the mixture of one row.
func (f *mixtureFit) vertex(a int) []float64 {
	theta := make([]float64, len(f.kept))
	theta[a] = 1
	return theta
}

// worst is the least over the points of a box of the mixture's mean over its deviation.
func (f *mixtureFit) worst(box int, theta []float64) float64 {
	least := math.Inf(1)
	for _, m := range f.moments[box] {
		mean, variance, size := 0.0, 0.0, 0.0
		for a, t := range theta {
			if t == 0 {
				continue
			}
			mean += t * m.mean[a]
			size += t * math.Abs(m.mean[a])
			for b, u := range theta {
				variance += t * u * m.cov[a][b]
			}
		}
		// Of rows without any deviation the mean counts.
		sd := math.Sqrt(max(variance, 0)) + 1e-6*size
		if sd == 0 {
			sd = 1e-300
		}
		z := mean / sd
		if math.IsNaN(z) {
			z = math.Inf(-1)
		}
		least = min(least, z)
	}
	return least
}

// failing grows with about the logarithm of the chance that the mixture fails in some box of T.
// Where there are several boxes each may do with a single row instead.
func (f *mixtureFit) failing(theta []float64) float64 {
	var logs []float64
	most := math.Inf(-1)
	for b := range f.moments {
		z := f.worst(b, theta)
		if len(f.moments) > 1 && f.alone != nil {
			z = max(z, f.alone[b])
		}
		log := -z
		if z > 0 {
			log = -z * z / 2
		}
		logs, most = append(logs, log), max(most, log)
	}
	if math.IsInf(most, 0) {
		return most
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}

// best is the best mixture found, with a factor for each row of the clause: from every single
// row and from all alike, weight is moved from one row to another as long as that helps. A
// single row is the answer unless a mixture is better than all.
func (f *mixtureFit) best() []float64 {
	starts := [][]float64{}
	for a := range f.kept {
		starts = append(starts, f.vertex(a))
	}
	even := make([]float64, len(f.kept))
	for left := 1.0; left > 0; {
		for a := 0; a < len(even) && left > 0; a++ {
			even[a] += mixtureStep
			left -= mixtureStep
		}
	}
	starts = append(starts, even)
	var best []float64
	least := math.Inf(1)
	for _, theta := range starts {
		if at := f.failing(theta); best == nil || at < least {
			best, least = slices.Clone(theta), at
		}
	}
	for _, theta := range starts {
		if at := f.descend(theta); at < least {
			best, least = theta, at
		}
	}
	all := make([]float64, f.rows)
	for a, k := range f.kept {
		all[k] = best[a]
	}
	return all
}

// descend moves weight from one row to another as long as that helps, in steps that get smaller.
func (f *mixtureFit) descend(theta []float64) float64 {
	at := f.failing(theta)
	for step := 8 * mixtureStep; step >= mixtureStep; step /= 2 {
		for moved := true; moved; {
			moved = false
			for a := range theta {
				for b := range theta {
					if a == b || theta[a] < step {
						continue
					}
					theta[a], theta[b] = theta[a]-step, theta[b]+step
					if next := f.failing(theta); next < at {
						at, moved = next, true
					} else {
						theta[a], theta[b] = theta[a]+step, theta[b]-step
					}
				}
			}
		}
	}
	return at
}
