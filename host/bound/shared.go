package bound

// (29): boxes of weights that are used in several places.

// alsoShared adds, for weight boxes with width, each form once more with (29), if layer k or
// one below shares weights.
func (p *pass) alsoShared(k int, forms []form) []form {
	return forms
}

// sharesRows says whether rows pass layer l by (29).
func (p *pass) sharesRows(l int) bool { return false }

func (p *pass) sharedProducts(f *flight, l int, a Array) Interval { panic("TODO") }

func (p *pass) sharedDifferences(d *difference) *flight { panic("TODO") }
