package certify

import (
	"fmt"
	"strings"
	"testing"

	"psafe/host/model/posterior"
)

// doubtsOf are the notes of a run with these words in them.
func doubtsOf(t *testing.T, post *posterior.Posterior, p Points, with string) []string {
	t.Helper()
	p.Property = "keeps_class"
	list, err := (&Tasks{Points: p}).load(post)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, n := range list.notes {
		if strings.Contains(n.String(), with) {
			said = append(said, n.String())
		}
	}
	return said
}

// Labels that are shifted, by number or by point, are doubted with the shift; others are not,
// nor is one class for all points.
func TestDoubtLabels(t *testing.T) {
	post, err := digits().Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		label func(i int) int // testdata has the digits in turn
		want  string
	}{
		"right":      {func(i int) int { return i % 10 }, ""},
		"half right": {func(i int) int { return i % 10 * (i / 50) }, ""},
		"smaller":    {func(i int) int { return max(0, i%10-1) }, "larger by one would fit"},
		"larger":     {func(i int) int { return min(9, i%10+1) }, "smaller by one would fit"},
		"cyclic":     {func(i int) int { return (i + 9) % 10 }, "larger by one, the largest 0"},
		"constant":   {func(int) int { return 7 }, "hardly more than by chance"},
	} {
		idx := []byte{0, 0, 8, 1, 0, 0, 0, 100}
		for i := range 100 {
			idx = append(idx, byte(test.label(i)))
		}
		points := digits().Tasks.Points
		points.Label, points.Index = file(t, "labels.idx", string(idx)), new("0:100")
		said := doubtsOf(t, post, points, "--label")
		if test.want == "" && len(said) > 0 || test.want != "" && (len(said) != 1 || !strings.Contains(said[0], test.want)) {
			t.Errorf("%s: %q, want %q", name, said, test.want)
		}
	}
	points := digits().Tasks.Points
	points.Label, points.Index = "3", new("0:100")
	if said := doubtsOf(t, post, points, "--label"); len(said) > 0 {
		t.Errorf("one class for all points: %q", said)
	}
	// Two points of each class: neighbours and numbers are told apart.
	index, got := make([]int, 40), make([]int, 40)
	for i := range index {
		index[i], got[i] = i, i/2*7%5
	}
	for step, want := range map[int]string{1: "the label of the point before", -1: "the label of the next point"} {
		label := func(i int) int { return (i + step + 40) % 40 / 2 * 7 % 5 }
		if list := doubtLabels("l", got, label, index, 40, 5); len(list) > 0 && !strings.Contains(list[0].String(), want) {
			t.Errorf("%d: %q, want %q", step, list, want)
		}
	}
}

// The mean of the weights of networks that were trained separately is none of them.
func TestDoubtMeanOfNetworks(t *testing.T) {
	post, err := (&Posterior{Path: testFile("samples-2-8-3.npz")}).Read()
	if err != nil {
		t.Fatal(err)
	}
	grid := ""
	for i := range 49 {
		grid += fmt.Sprintf("%d,%d\n", i/7-3, i%7-3)
	}
	points := Points{Inputs: file(t, "x.csv", grid), Eps: "0.01"}
	const words = "than the network of their mean weights"
	if said := doubtsOf(t, post, points, words); len(said) > 0 {
		t.Errorf("networks alike: %q", said)
	}
	// The same function by other neurons: the hidden layer of every network but the first in
	// another order.
	s := post.Finite()
	for i := range s.Counts {
		s.Counts[i] = 1
		reorder(post, s.Weights(i), i)
	}
	if post, err = posterior.FromFinite(post.Layers, s); err != nil {
		t.Fatal(err)
	}
	if said := doubtsOf(t, post, points, words); len(said) != 1 || !strings.Contains(said[0], "--label") {
		t.Errorf("networks with their neurons in other orders: %q", said)
	}
	points.Label = "0"
	if said := doubtsOf(t, post, points, words); len(said) > 0 {
		t.Errorf("with labels: %q", said)
	}
}

// reorder turns the hidden neurons of a network of two layers by so many places.
func reorder(post *posterior.Posterior, w [][]float64, by int) {
	in, hidden, out := post.Inputs(), post.Layers[0].Outputs(), post.Outputs()
	old := make([][]float64, len(w))
	for a := range w {
		old[a] = append([]float64(nil), w[a]...)
	}
	for n := range hidden {
		m := (n + by) % hidden
		for j := range in {
			w[0][j*hidden+m] = old[0][j*hidden+n]
		}
		w[1][m] = old[1][n]
		copy(w[2][m*out:(m+1)*out], old[2][n*out:(n+1)*out])
	}
}
