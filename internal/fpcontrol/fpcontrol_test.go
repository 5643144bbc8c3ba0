package fpcontrol

import "testing"

// TestDefault: a process begins with Default, on every processor.
func TestDefault(t *testing.T) {
	Check()
	if err := Err(); Get() != Default || err != nil {
		t.Errorf("%v: %v", Get(), err)
	}
}
