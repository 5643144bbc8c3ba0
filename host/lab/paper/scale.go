package paper

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/host/record"
)

// scaleJob is the experiment that measures time and memory on a large network.
type scaleJob struct {
	c       *Config
	e       *Experiment
	widths  []int
	weights int
	images  string
	words   string
	many    int
}

// scaleMethods are the methods that one image is certified by.
var scaleMethods = []prove.Method{prove.IBP, prove.LBP, prove.CLBP, prove.Statistical}

const (
	// scaleSpread and scaleSeed make the posterior; scaleEps is the radius.
	scaleSpread = 0.01
	scaleSeed   = 1
	scaleEps    = "0.001"
	// scaleGamma is the half-width of the one box of ibp and lbp.
	scaleGamma = 0.1
	side       = 28
	// The paper's seconds an image.
	paperFastest, paperSlowest = 40, 265
)

func (c *Config) scale() (*Experiment, error) {
	j := &scaleJob{c: c, e: &Experiment{Name: "scale", Title: "Scale"}, widths: []int{side * side, 2048, 2048, 10}, many: c.count(100, 10)}
	if c.Quick {
		j.widths = []int{side * side, 256, 256, 10}
	}
	path, err := j.posterior()
	if err != nil {
		return nil, err
	}
	if err := j.points(); err != nil {
		return nil, err
	}
	// One device shares its work among many inputs; how long one takes alone is asked too.
	for _, m := range scaleMethods {
		j.run(path, m, 1)
	}
	j.run(path, prove.CLBP, j.many)
	j.e.Tell = j.tell
	return j.e, nil
}

func (j *scaleJob) name(by prove.Method, images int) string {
	return fmt.Sprintf("scale-%s-%d", by, images)
}

func (j *scaleJob) run(path string, by prove.Method, count int) {
	m := method(by)
	switch by {
	case prove.Statistical:
		m = drawn(20)
	case prove.IBP, prove.LBP:
		m = boxes(by, 1, scaleGamma)
	}
	j.e.add(j.name(by, count), net{posterior: certify.Posterior{Path: path}}, images(j.images, count, scaleEps), noUpper(m))
}

// posterior writes the synthetic posterior.
func (j *scaleJob) posterior() (string, error) {
	for k, w := range j.widths[1:] {
		j.weights += j.widths[k]*w + w
	}
	name := "synthetic-" + j.shape() + ".npz"
	var b bytes.Buffer
	if err := format.WriteNPZ(&b, synthetic(j.widths, scaleSpread, scaleSeed)); err != nil {
		return "", err
	}
	return j.c.writeInput(name, b.Bytes())
}

// shape is the widths as networks are called.
func (j *scaleJob) shape() string {
	var widths []string
	for _, w := range j.widths {
		widths = append(widths, strconv.Itoa(w))
	}
	return strings.Join(widths, "-")
}

// points names the images: MNIST's, or this project's 8 x 8 dots enlarged to as many
// pixels.
func (j *scaleJob) points() error {
	if j.c.Data != "" {
		j.images, j.words = filepath.Join(j.c.Data, "mnist", "t10k-images-idx3-ubyte.gz"), "MNIST test images"
		return nil
	}
	path, err := j.c.own("glyphs-test-images-idx3-ubyte.gz")
	if err != nil {
		return err
	}
	points, err := property.ReadPoints(path, property.InputOptions{})
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range points.N() {
		lo, hi := points.At(i)
		for k := range side * side {
			at := (k/side)*8/side*8 + (k%side)*8/side
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.3f", (lo[at]+hi[at])/2)
		}
		b.WriteByte('\n')
	}
	j.images, j.words = "", "digits of 8 x 8 dots, enlarged to 28 x 28 pixels"
	j.images, err = j.c.writeInput("enlarged.csv", []byte(b.String()))
	return err
}

func (j *scaleJob) tell(r Results) (*Section, error) {
	s := &Section{Title: j.e.Title}
	s.say("A synthetic posterior, made for its size: %s ReLU, %d weights, mu ~ N(0, 2/in), sigma = %v sqrt(2/in), biases of mean 0, seed %d. Images: %s; eps %s; the "+
		"property is that the class stays the mean network's.", j.shape(), j.weights, scaleSpread, scaleSeed, j.words, scaleEps)
	one := newBounds()
	for _, m := range scaleMethods {
		one.take(&r[j.name(m, 1)][0])
	}
	t := &Table{Name: "scale", Columns: []column{col("method"), col("images"), col("mean p_lower", "mean_p_lower", "log10_p_lower"), shareColumn, statColumn,
		secondsColumn("time in all"), secondsColumn("time per image"), col("peak memory", "peak_bytes"), col("device")}}
	for _, m := range scaleMethods {
		t.Rows = append(t.Rows, j.row(m, r[j.name(m, 1)], one))
	}
	t.Rows = append(t.Rows, j.row(prove.CLBP, r[j.name(prove.CLBP, j.many)], nil))
	t.Caption = "Peak memory is that of the whole process, the file of the posterior included (Linux). Of so many weights one box that verifies holds little: ibp and lbp stand here for their time."
	s.table(t)
	if seconds := each(r[j.name(prove.CLBP, j.many)]); seconds != nil {
		s.say("The paper's claim is millions of parameters in minutes; it reports %d to %d seconds an image for its MNIST networks. clbp took %.2f seconds an image here, of %d weights, on this machine: "+
			"%.0f times less than the fastest of those.", paperFastest, paperSlowest, *seconds, j.weights, paperFastest / *seconds)
	}
	return s, nil
}

// row tells of a run; one is what is known of a single image, nil for many.
func (j *scaleJob) row(method prove.Method, records []record.Placed, one *bounds) []cell {
	peak := int64(0)
	for _, p := range records {
		if p.PeakBytes != nil {
			peak = max(peak, *p.PeakBytes)
		}
	}
	lower, drawn, share := downCell(record.MeanOf(records).Lower), none, shareCell(records)
	if one != nil {
		lower, drawn = lowerCell(records[0].Record), statCell(one.statistical)
	}
	if method == prove.Statistical {
		share = none // which claims no p_lower
	}
	memory := none
	if peak > 0 {
		memory = cell{fmt.Sprintf("%.2f GiB", float64(peak)/(1<<30)), []string{fmt.Sprint(peak)}}
	}
	return []cell{word(method.String()), word(fmt.Sprint(len(records))), lower, share, drawn, secondsCell(total(records)), secondsCell(each(records)), memory, word(records[0].Device)}
}
