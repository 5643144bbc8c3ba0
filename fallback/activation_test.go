package fallback

import (
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestHalfAddedActivation: with an entry of the table missing the program does not start.
func TestHalfAddedActivation(t *testing.T) {
	checkActivations(activations[float32]())
	for k := range network.Kind(network.Kinds) {
		for _, without := range []func(a *activation[float32]){
			func(a *activation[float32]) { a.activate = nil }, func(a *activation[float32]) { a.relax = nil },
		} {
			table := activations[float32]()
			without(&table[k])
			func() {
				defer func() {
					if said, _ := recover().(string); !strings.Contains(said, k.String()) {
						t.Errorf("without an entry of %v: %q", k, said)
					}
				}()
				checkActivations(table)
			}()
		}
	}
}
