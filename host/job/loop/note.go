package loop

import "fmt"

// Planned reports which cells of the grid are certified: Dropped are those that it is not expected to help, or that are not safe.
type Planned struct{ Certified, Dropped, Boxes int }

func (n *Planned) String() string {
	return fmt.Sprintf("of %d cells %d are to be certified, with %d boxes of outputs; %d are dropped", n.Certified+n.Dropped, n.Certified, n.Boxes, n.Dropped)
}
