package certify

import (
	"fmt"
	"strconv"

	"psafe/host/model/audit"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

const (
	// doubtedClasses is how many points are evaluated to see whether their classes are meant,
	// and doubtedWork how many weights that meets at most.
	doubtedClasses, doubtedWork = 256, 1 << 27
	// fewestLabels is how many labels show something.
	fewestLabels = 8
)

// doubtClasses returns what is improbable about the classes of the chosen points: labels that the
// networks do not give while other labels beside them fit, and, without labels, classes of the mean
// weights of a set of networks that most of the networks contradict.
func (p *Points) doubtClasses(post *posterior.Posterior, points *property.Points, index []int, norm *property.Norm) []Note {
	if post.Outputs() < 2 {
		return nil
	}
	work := post.Network().Work()
	networks := 1
	if s := post.Finite(); s != nil {
		networks = s.N()
	}
	index = index[:min(len(index), doubtedClasses, max(1, doubtedWork/work/networks))]
	if networks > doubtedWork/work || len(index) == 0 {
		return nil
	}
	var labels func(int) int
	label, flag, _ := p.classLabel()
	if label != "" {
		var err error
		// A number is one class for all points, whatever they are.
		if _, number := strconv.Atoi(label); number == nil || len(index) < fewestLabels {
			return nil
		}
		if labels, err = p.labels(label, points); err != nil {
			return nil
		}
	} else if networks == 1 {
		return nil
	}
	of, got := 0, make([]int, len(index))
	for at, i := range index {
		lo, hi := points.At(i)
		box, err := norm.Outer(property.Box{Lo: lo, Hi: hi})
		if err != nil {
			return nil
		}
		x := middle(box.Lo, box.Hi)
		got[at] = voted(post, x)
		if got[at] == argmax(post.LogitsApprox(x)) {
			of++
		}
	}
	if labels != nil {
		return doubtNotes(doubtLabels(flag, got, labels, index, points.N(), post.Outputs()))
	}
	if others := len(index) - of; 10*others > len(index) {
		return doubtNotes([]audit.Doubt{audit.Doubt(fmt.Sprintf("at %d of %d points, most of the %d networks give another class than the network of their mean weights, whose class is taken: of networks that were trained separately the mean is none; --label says which class is right", others, len(index), networks))})
	}
	return nil
}

// voted is the class that most of a set of networks give x, by their counts, or else that of
// the mean network.
func voted(post *posterior.Posterior, x []float64) int {
	s := post.Finite()
	if s == nil {
		return argmax(post.LogitsApprox(x))
	}
	votes := make([]float64, post.Outputs())
	for k, count := range s.Counts {
		votes[argmax(post.Network().NewPass(s.Weights(k)).Forward(x))] += float64(count)
	}
	return argmax(votes)
}

// doubtLabels doubts labels of which less than half are the classes got, if numbers that are
// larger or smaller by one, or the labels of neighbouring points, fit at nine of ten.
func doubtLabels(flag string, got []int, labels func(int) int, index []int, points, outputs int) []audit.Doubt {
	share := func(label func(int) int) (right int) {
		for at, i := range index {
			if label(i) == got[at] {
				right++
			}
		}
		return right
	}
	right := share(labels)
	if 2*right >= len(index) {
		return nil
	}
	beside := func(step int) func(int) int {
		return func(i int) int { return labels((i + step + points) % points) }
	}
	best, said := 0, ""
	for _, shifted := range []struct {
		label func(int) int
		words string
	}{
		{func(i int) int { return labels(i) - 1 }, "numbers that are smaller by one would fit at %d: classes count from 0"},
		{func(i int) int { return labels(i) + 1 }, "numbers that are larger by one would fit at %d: classes count from 0"},
		{func(i int) int { return (labels(i) + 1) % outputs }, "numbers that are larger by one, the largest 0, would fit at %d: classes count from 0"},
		{beside(1), "the label of the next point would fit at %d: the labels begin one point early"},
		{beside(-1), "the label of the point before would fit at %d: the labels begin one point late"},
	} {
		if n := share(shifted.label); n > best {
			best, said = n, "and "+fmt.Sprintf(shifted.words, n)
		}
	}
	if 10*best < 9*len(index) {
		said = ""
	}
	if said == "" && len(index) >= 2*fewestLabels && right*outputs < 2*len(index) {
		said = "hardly more than by chance: see that labels, inputs (--input-scale, --mean) and posterior belong together"
	}
	if said == "" {
		return nil
	}
	return []audit.Doubt{audit.Doubt(fmt.Sprintf("%s: %d of %d labels are the class that the network gives, %s", flag, right, len(index), said))}
}
