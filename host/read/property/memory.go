package property

import (
	"fmt"

	"psafe/internal/infile"
)

// memory counts what the safe sets of a file take, and asks before it takes more.
type memory struct{ infile.Account }

// rows accounts for so many rows of coefficients of outputs.
func (m *memory) rows(n, outputs int) error {
	if err := m.Take(int64(n) * (int64(outputs)*16 + 200)); err != nil {
		return fmt.Errorf("safe sets in rows of %d coefficients: %w", outputs, err)
	}
	return nil
}
