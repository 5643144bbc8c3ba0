package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// preface is said before all experiments.
const preface = "p_lower and p_upper are certified bounds of P_safe, the probability over the posterior that the network maps all of T into S: proved, rounding " +
	"included, p_lower printed rounded down and p_upper up. A statistical interval comes from drawn networks, each decided by proof or by a counter-example; it holds with " +
	"its confidence and is no certificate. p_lower 0 says that nothing was proved, not that the network is unsafe. In every row with an interval p_lower is at " +
	"most its upper limit: the program stops if bounds of one input contradict each other. \"1 - 3.1e-7\" is a p_lower that four digits cannot show; \"10^-56.2\" one too small for them."

// released are the files of the released data that each experiment reads.
var released = map[string][]string{
	"regression": {"uai2020/VIMODEL_128_relu.net.npz"},
	"vcas":       {"uai2020/VCAS_MODEL_512.net", "uai2020/vcas_properties.json"},
	"mnist": {"uai2020/VIMODEL_MNIST_1_64_relu.net.npz", "uai2020/VIMODEL_MNIST_1_128_relu.net.npz", "uai2020/VIMODEL_MNIST_2_64_relu.net.npz",
		"uai2020/VIMODEL_MNIST_2_128_relu.net.npz", "mnist/t10k-images-idx3-ubyte.gz"},
	"scale": {"mnist/t10k-images-idx3-ubyte.gz"},
}

// releasedFiles returns what the folder of released data has to hold for experiments.
func releasedFiles(names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, released[name]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// checkData returns which file of the released data is missing in a folder.
func checkData(folder string, names []string) error {
	for _, name := range names {
		for _, file := range released[name] {
			if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(file))); err != nil {
				return fmt.Errorf("--data %s: %s is not there, which psafe paper %s reads: give the folder of the released files, or leave --data out", folder, file, name)
			}
		}
	}
	return nil
}

// report holds all results against each other and tells of them. A *Contradiction says
// that two bounds cannot both hold; other errors are about figures.
func (e *Experiment) report(r Results) (*Section, error) {
	if err := r.checkAll(); err != nil {
		return nil, err
	}
	return e.Tell(r)
}
