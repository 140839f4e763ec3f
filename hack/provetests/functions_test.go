package main

import (
	"slices"
	"testing"
)

func TestChangedFunctions(t *testing.T) {
	const before = `package p
import "testing"
var table = []int{1}
func TestA(t *testing.T) { use(t, table) }
func TestB(t *testing.T) { t.Log("b") }
func use(t *testing.T, x []int) {}
`
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", before, before, nil},
		{"a new file", "", before, []string{"TestA", "TestB"}},
		{"comments and imports only", before, "package p\nimport (\n\"os\"\n\"testing\"\n)\nvar table = []int{1}\n// TestA is a test.\nfunc TestA(t *testing.T) { use(t, table) }\nfunc TestB(t *testing.T) { t.Log(\"b\") }\nfunc use(t *testing.T, x []int) {}\n", nil},
		{"one test", before, `package p
import "testing"
var table = []int{1}
func TestA(t *testing.T) { use(t, table) }
func TestB(t *testing.T) { t.Error("b") }
func use(t *testing.T, x []int) {}
`, []string{"TestB"}},
		{"a table", before, `package p
import "testing"
var table = []int{1, 2}
func TestA(t *testing.T) { use(t, table) }
func TestB(t *testing.T) { t.Log("b") }
func use(t *testing.T, x []int) {}
`, []string{"TestA", "TestB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := changedFunctions(c.before, c.after)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, %v expected", got, c.want)
			}
		})
	}
	if _, err := changedFunctions("", "package"); err == nil {
		t.Error("what cannot be parsed is not an error")
	}
}
