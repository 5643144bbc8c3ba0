package record

// Records, their ids and the manifests of campaigns have some words of the command line as these
// were first called, so that files of any version belong together. spellings is the one list of
// those words. A flag is empty where the word is a flag's name, else the word is a value of it.
var spellings = []struct{ flag, today, recorded string }{
	{"", "draws", "samples"},
	{"method", "finite", "samples"},
}

// Recorded is a flag, without its dashes, and its value as records have them. What is not in the
// list of spellings stays as it is.
func Recorded(flag, value string) (string, string) { return spelled(flag, value, true) }

// MethodToday is the word of today for a method of a record.
func MethodToday(recorded string) string {
	_, word := Today("method", recorded)
	return word
}

// Today is a flag and its value as command lines have them, of what Recorded makes of them or of
// what they are already.
func Today(flag, value string) (string, string) { return spelled(flag, value, false) }

// spelled puts the words of one spelling in the place of the other's.
func spelled(flag, value string, recorded bool) (string, string) {
	name := flag
	for _, s := range spellings {
		from, to := s.recorded, s.today
		if recorded {
			from, to = to, from
		}
		switch {
		case s.flag == "" && from == flag:
			name = to
		case s.flag == flag && from == value:
			value = to
		}
	}
	return name, value
}
