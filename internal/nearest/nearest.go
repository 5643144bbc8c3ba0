// Package nearest guesses the known word behind a mistyped one.
package nearest

import (
	"fmt"
	"strings"
)

// Hint returns what an error says behind a word that is none of those known: `; did you mean
// "certify"?`, or nothing where none of them is near.
func Hint(word string, known []string) string {
	if guess := Word(word, known); guess != "" {
		return fmt.Sprintf("; did you mean %q?", guess)
	}
	return ""
}

// Word is the known word that is nearest to a word, the first of several, or "" if none is
// near: at most a third of its letters may be wrong, missing or too many, and swapped
// neighbours count once. A word that one known word alone begins with is near it. Letters of
// either case and - and _ count as the same.
func Word(word string, known []string) string {
	// What is far longer than any word is none, and would take long.
	if len(word) > 100 || word == "" {
		return ""
	}
	word = plain(word)
	best, least := "", len(word)
	var begin []string
	for _, k := range known {
		p := plain(k)
		if d := distance(word, p); d < least && d <= max(len(word), len(p))/3 {
			best, least = k, d
		}
		if len(word) > 1 && strings.HasPrefix(p, word) {
			begin = append(begin, k)
		}
	}
	if best == "" && len(begin) == 1 {
		return begin[0]
	}
	return best
}

func plain(word string) string { return strings.ReplaceAll(strings.ToLower(word), "_", "-") }

// distance counts the letters to replace, insert, remove or swap with their neighbour
// between two words (Damerau and Levenshtein, each letter used once).
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j]+wrong, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
