package paper

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/internal/infile"
)

// printed holds what the paper's table 1 says of a property.
type printed struct{ ibp, lbp, secondsIBP, secondsLBP float64 }

// table1 is the paper's, by the names of vcas_properties.json.
var table1 = map[string]printed{
	"phi_1": {0.9739, 0.9798, 136, 723},
	"phi_2": {0.9701, 0.9867, 117, 628},
	"phi_3": {0.9999, 0.9999, 26, 139},
	"phi_4": {0.9999, 0.9999, 26, 148},
}

// vcasJob is the experiment as it is being prepared.
type vcasJob struct {
	c    *Config
	e    *Experiment
	net  net
	list []entry
	// inputs holds what the file says of them.
	inputs string
	// single are the boxes of unions, each as a property of its own.
	single []entry
	// never are the properties that forbid an advisory: they fail so rarely that more
	// networks are drawn for them.
	never  []entry
	slices []*slice
}

// vcasMethods are the methods beside algorithm 1. Upper bounds do not depend on the
// method and are looked for once.
func (c *Config) vcasMethods() []named {
	sums := method(prove.NeuronSum)
	if c.Quick {
		sums.Cells = new(1)
	}
	return []named{
		{"clbp", noUpper(method(prove.CLBP))}, {"neuronsum", sums}, {"statistical", noUpper(drawn(c.count(2000, 500)))},
	}
}

func (c *Config) vcas() (*Experiment, error) {
	j := &vcasJob{c: c, e: &Experiment{Name: "vcas", Title: "Collision avoidance: table 1 and figure 4"}}
	path, err := j.sources()
	if err != nil {
		return nil, err
	}
	if err := j.read(path); err != nil {
		return nil, err
	}
	for _, m := range []prove.Method{prove.IBP, prove.LBP} {
		j.run("algorithm1-"+m.String(), noUpper(method(m)), path)
	}
	for _, m := range c.vcasMethods() {
		j.run(m.name, m.method, path)
	}
	for _, more := range []struct {
		name     string
		list     []entry
		networks int
	}{{"boxes", j.single, c.count(2000, 500)}, {"never", j.never, c.count(8000, 0)}} {
		if len(more.list) == 0 || more.networks == 0 {
			continue
		}
		file, err := c.writeProperties("vcas-"+more.name+".json", more.list)
		if err != nil {
			return nil, err
		}
		j.run(more.name+"-statistical", noUpper(drawn(more.networks)), file)
	}
	if err := j.newSlices(); err != nil {
		return nil, err
	}
	j.e.Tell = j.tell
	return j.e, nil
}

// sources names the posterior and the file of properties.
func (j *vcasJob) sources() (properties string, err error) {
	if j.c.Data != "" {
		j.net = j.c.released("VCAS_MODEL_512", "VCAS_MODEL_512.net", "the released `VCAS_MODEL_512.net`, 4-512-9 ReLU, 7,177 weights")
		return filepath.Join(j.c.Data, "uai2020", "vcas_properties.json"), nil
	}
	if j.net, err = j.c.ownNet("advisory-4-32-9", "advisory-4-32-9.npz", "`testdata/advisory-4-32-9.npz`, 4-32-9 ReLU, 457 weights, a stand-in that this project trained on a rule of its own"); err != nil {
		return "", err
	}
	return j.c.own("advisory-property.json")
}

// read reads the properties, for their names and boxes; psafe certify reads the file
// itself.
func (j *vcasJob) read(path string) error {
	content, err := infile.ReadAll(path, maxFile)
	if err == nil {
		_, err = infile.CheckJSON(content, maxDepth, maxValues)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var file struct {
		Inputs     string  `json:"inputs"`
		Properties []entry `json:"properties"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	j.list, j.inputs = file.Properties, file.Inputs
	for _, p := range j.list {
		if p.Kind == "argmax_is_never" {
			p.Gamma, p.Samples = 0, 0
			j.never = append(j.never, p)
		}
		if len(p.Boxes) < 2 {
			continue
		}
		for b, box := range p.Boxes {
			j.single = append(j.single, entry{Name: fmt.Sprintf("%s, box %d", p.Name, b+1), Kind: p.Kind, Class: p.Class, Boxes: [][][2]float64{box}})
		}
	}
	return nil
}

// run adds a run on a property file.
func (j *vcasJob) run(name string, m certify.Method, properties string) string {
	return j.e.add("vcas-"+name, j.net, certify.Tasks{File: properties}, m)
}
