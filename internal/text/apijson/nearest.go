package apijson

import "strings"

// Nearest finds the name among names that was most likely meant by name: one
// that differs only in case, else the one with the fewest letters to change, if
// those are few. It gives "" where nothing comes near.
func Nearest[V any](name string, names map[string]V) string {
	best, distance := "", 1+len(name)/3
	for candidate := range names {
		d := editDistance(strings.ToLower(name), strings.ToLower(candidate), distance+1)
		if d < distance || d == distance && (best == "" || candidate < best) {
			best, distance = candidate, d
		}
	}
	return best
}

// Misspelt finds the name among names that is one slip away from name: a letter
// too many, one too few, another one, or two that are swapped. It gives "" where
// none is.
func Misspelt[V any](name string, names map[string]V) string {
	found := ""
	for candidate := range names {
		if editDistance(name, candidate, 2) == 1 && (found == "" || candidate < found) {
			found = candidate
		}
	}
	return found
}

// editDistance counts the letters to insert, remove, change or swap with the
// next one to get from a to b. It stops counting at most.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	// Rows of the usual table: the one before the last, the last and the next.
	older, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(change, last[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], older[j-2]+1)
			}
		}
		older, last, next = last, next, older
	}
	return min(last[len(b)], most)
}
