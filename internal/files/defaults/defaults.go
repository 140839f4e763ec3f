// Package defaults says what the API server makes of an object that someone wrote:
// fields that it does not know go, null counts as absent, and what was left
// out is filled in.
//
// What is filled in stands in a table that is made from the API server itself, see
// lab/defaults. What follows from other fields, and so fits into no table, is
// computed here. What admission plugins add is left out.
package defaults

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

//go:embed table.json
var embedded []byte

// table is the form of table.json.
type table struct {
	Oldest string   `json:"oldest"`
	Newest string   `json:"newest"`
	Kinds  []string `json:"kinds"`
	Rows   []row    `json:"rows"`
}

// row says that a field of a struct that is empty gets a value.
type row struct {
	// Type as the generator names it, such as core/v1.Container.
	Type  string          `json:"type"`
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	When  []condition     `json:"when"`
	// Only lists the places it holds for, "GROUP/VERSION KIND PATH"; empty for all.
	Only  []string `json:"only"`
	Since string   `json:"since"`
	Until string   `json:"until"`
}

// condition asks for a field beside the one that is filled in, as it was written;
// "../" leads to the struct around.
type condition struct {
	Field string   `json:"field"`
	In    []string `json:"in"`
	Not   []string `json:"not"`
}

var read = sync.OnceValue(func() *table {
	t := &table{}
	if err := json.Unmarshal(embedded, t); err != nil {
		// The table is a part of the program, which a test reads.
		panic(err)
	}
	return t
})

// Table is what one version of Kubernetes fills in. It is safe for concurrent use.
type Table struct {
	minor int
	kinds map[string]bool
	rows  map[string][]row

	types sync.Map // reflect.Type to *plan
}

// Newest is the table of the newest version that is known.
func Newest() *Table { return newestTable() }

var newestTable = sync.OnceValue(func() *Table {
	t, err := For("")
	if err != nil {
		panic(err)
	}
	return t
})

// Versions are the oldest and the newest version that are known.
func Versions() (oldest, newest string) { return read().Oldest, read().Newest }

// For gives the table of a version such as 1.35 or v1.35.2; of the newest one for
// none.
func For(version string) (*Table, error) {
	all := read()
	if version == "" {
		version = all.Newest
	}
	minor, err := minorOf(version)
	if err != nil {
		return nil, err
	}
	if minor < mustMinor(all.Oldest) || minor > mustMinor(all.Newest) {
		return nil, fmt.Errorf("%q is not known; versions %s to %s are", version, all.Oldest, all.Newest)
	}
	t := &Table{minor: minor, kinds: map[string]bool{}, rows: map[string][]row{}}
	for _, kind := range all.Kinds {
		t.kinds[kind] = true
	}
	for _, r := range all.Rows {
		if (r.Since == "" || mustMinor(r.Since) <= minor) && (r.Until == "" || minor <= mustMinor(r.Until)) {
			t.rows[r.Type] = append(t.rows[r.Type], r)
		}
	}
	return t, nil
}

func minorOf(version string) (int, error) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) == 2 || len(parts) == 3 {
		if minor, err := strconv.Atoi(parts[1]); err == nil && parts[0] == "1" && minor >= 0 {
			return minor, nil
		}
	}
	return 0, fmt.Errorf("%q is not a version; one such as %s is expected", version, read().Newest)
}

func mustMinor(version string) int {
	minor, err := minorOf(version)
	if err != nil {
		panic(err)
	}
	return minor
}

// Knows reports whether objects of a kind are filled in: built-in kinds are, and
// none of those that someone brings. An API server keeps nulls in the latter, but
// where a schema of its own gives the field a default.
func (t *Table) Knows(gvk schema.GroupVersionKind) bool { return t.kinds[kindText(gvk)] }

func kindText(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}

// Fill gives an object as the API server hands it to admission, except for what its
// plugins and its storage add. namespace is that of the request, for an object that
// names none; empty for a kind without. The places of what was written stay the
// same. Fields that are not known stay as well: a newer API server may know them,
// and what an older one drops is for its clients to refuse.
//
// An object of a kind that is not known gets its namespace only. An error is one of
// reading, and says which field the API server cannot read.
func (t *Table) Fill(gvk schema.GroupVersionKind, raw []byte, namespace string) ([]byte, error) {
	if !t.Knows(gvk) {
		return withNamespace(raw, namespace)
	}
	object, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	unknown := apijson.UnmarshalStrict(raw, object) != nil
	if unknown {
		object, err = scheme.Scheme.New(gvk)
		if err != nil {
			return nil, err
		}
		if err := apijson.Unmarshal(raw, object); err != nil {
			return nil, err
		}
	}
	t.FillTyped(gvk, object)
	object.GetObjectKind().SetGroupVersionKind(gvk)
	if meta, ok := object.(metav1.Object); ok && meta.GetNamespace() == "" {
		meta.SetNamespace(namespace)
	}
	full, err := apijson.Marshal(object)
	if err != nil || !unknown {
		return full, err
	}
	return withUnknown(full, raw, reflect.TypeOf(object))
}

// FillTyped is Fill for an object that was read already. object points to the
// type that k8s.io/api has for the kind.
func (t *Table) FillTyped(gvk schema.GroupVersionKind, object any) {
	f := filler{table: t, kind: kindText(gvk)}
	f.fill(reflect.ValueOf(object).Elem(), reflect.Value{}, nil)
}
