package record

import (
	"strings"
	"testing"
)

// FuzzReadRecords: whatever a result file holds, it is records of probabilities or an
// error of one line that names the file.
func FuzzReadRecords(f *testing.F) {
	f.Add(`{"p_lower":0.5,"p_upper":1,"method":"ibp","posterior_sha256":"x","guarantee":"` + Guarantee + `","gamma":[1,2],"numerics":1,"id":"0123456789abcdef0123456789abcdef","task":0,"tasks":1,"run":"a"}` + "\n\n")
	f.Add(`{"p_lower":0.5,"p_upper":1,"statistical":{"lower":0,"upper":1}}`)
	f.Add("{}\n[]\n")
	f.Add(`{"index":` + strings.Repeat("1", 1000) + `}`)
	f.Fuzz(func(t *testing.T, text string) {
		// Checksums that match let through what a hostile hand would write.
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); strings.HasSuffix(line, "}") {
				line = string(Seal([]byte(line)))
			}
			lines = append(lines, line)
		}
		records, err := ReadRecords("file", strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file: ") || strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 2000 {
				t.Fatalf("error %q", err)
			}
			return
		}
		for _, r := range records {
			if !(r.PLower >= 0 && float64(r.PLower) <= float64(r.PUpper) && r.PUpper <= 1) {
				t.Fatalf("%s: %v and %v", r.Place(), r.PLower, r.PUpper)
			}
		}
	})
}
