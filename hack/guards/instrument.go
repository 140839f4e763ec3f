package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The switches are read from the environment, so that one build serves every
// guard of a package.
const (
	envOut  = "SALLYPORT_GUARD_OUT"
	envSeen = "SALLYPORT_GUARD_SEEN"
)

// switches is the file that is added to an instrumented package.
const switches = `package %s

import (
	guardatomic "sync/atomic"
	guardos "os"
	guardstrconv "strconv"
)

var guardOutNumber, guardSeenFile = func() (int, *guardos.File) {
	number, err := guardstrconv.Atoi(guardos.Getenv("` + envOut + `"))
	if err != nil {
		number = -1
	}
	var seen *guardos.File
	if path := guardos.Getenv("` + envSeen + `"); path != "" {
		if seen, err = guardos.OpenFile(path, guardos.O_APPEND|guardos.O_CREATE|guardos.O_WRONLY, 0o644); err != nil {
			panic(err)
		}
	}
	return number, seen
}()

var guardSeen [%d]guardatomic.Bool

func guardOut(number int) bool {
	if guardSeenFile != nil && !guardSeen[number].Swap(true) {
		if _, err := guardSeenFile.WriteString(guardstrconv.Itoa(number) + "\n"); err != nil {
			panic(err)
		}
	}
	return number == guardOutNumber
}
`

// overlay writes copies of the files of guards, with a switch at each, and the
// list by which the compiler reads them in place of the originals.
func overlay(a area, guards []guard, dir string) (string, error) {
	replace := map[string]string{}
	byFile := map[string][]int{}
	for i, g := range guards {
		byFile[g.file] = append(byFile[g.file], i)
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	name := ""
	for file, numbers := range byFile {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if name == "" {
			name = packageName(source)
		}
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, instrument(source, guards, numbers), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	added := filepath.Join(dir, "zz_guards.go")
	if err := os.WriteFile(added, fmt.Appendf(nil, switches, name, len(guards)), 0o644); err != nil {
		return "", err
	}
	replace[filepath.Join(root, a.dir, "zz_guards.go")] = added
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}

func packageName(source []byte) string {
	for line := range strings.Lines(string(source)) {
		if name, ok := strings.CutPrefix(line, "package "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// instrument puts a switch at each guard.
func instrument(source []byte, guards []guard, numbers []int) []byte {
	type insertion struct {
		at, width int
		opens     bool
		text      string
	}
	var all []insertion
	for _, n := range numbers {
		g := guards[n]
		// The switch is asked first: it notes that the guard was reached, and spares
		// a condition that cannot be worked out without its neighbour.
		before := fmt.Sprintf("(!guardOut(%d) && (", n)
		if g.neutral {
			before = fmt.Sprintf("(guardOut(%d) || (", n)
		}
		all = append(all, insertion{g.from, g.to - g.from, true, before}, insertion{g.to, g.to - g.from, false, "))"})
	}
	slices.SortStableFunc(all, func(x, y insertion) int {
		if d := cmp.Compare(x.at, y.at); d != 0 {
			return d
		}
		switch {
		case x.opens != y.opens && x.opens:
			return 1
		case x.opens != y.opens:
			return -1
		case x.opens:
			return cmp.Compare(y.width, x.width)
		default:
			return cmp.Compare(x.width, y.width)
		}
	})
	var out []byte
	last := 0
	for _, in := range all {
		out = append(out, source[last:in.at]...)
		out = append(out, in.text...)
		last = in.at
	}
	return append(out, source[last:]...)
}
