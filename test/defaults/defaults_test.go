// Package defaults_test holds what the product fills into objects to what the API
// server fills in: the code of the API server itself, which stands in the lab's
// binary.
package defaults_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/files/defaults"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/test/lab"
)

var (
	count = flag.Int("objects", 3000, "how many random objects are compared with the newest version; a tenth of it with each older one")
	seed  = flag.Uint64("seed", 0, "what the random objects are made from; 0 for another one each time")
)

// generator runs the part of the lab that has the API server's defaulting.
func generator(t *testing.T, args ...string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the lab's binary")
	}
	dir, err := lab.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "lab"), append([]string{"defaults"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return out
}

// TestTableIsWhatTheGeneratorWrites fails when the API server has come to fill in
// something else. `make generate-defaults` writes the table again.
func TestTableIsWhatTheGeneratorWrites(t *testing.T) {
	root, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkedIn, err := os.ReadFile(filepath.Join(root, "internal", "files", "defaults", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(generator(t, "table")), string(checkedIn)); diff != "" {
		t.Errorf("internal/files/defaults/table.json is not what the generator writes; run make generate-defaults (-written +there):\n%s", diff)
	}
}

// TestRandomObjects fills in objects of every kind of the table, full and nearly
// empty ones, with nulls in places, and compares them with what the API server
// makes of them.
func TestRandomObjects(t *testing.T) {
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	for minor := 30; minor <= 37; minor++ {
		version := fmt.Sprintf("1.%d", minor)
		t.Run(version, func(t *testing.T) {
			table, err := defaults.For(version)
			if err != nil {
				t.Fatal(err)
			}
			n := *count
			if _, newest := defaults.Versions(); version != newest {
				n /= 10
			}
			out := generator(t, "objects", "-minor", strconv.Itoa(minor), "-count", strconv.Itoa(n), "-seed", strconv.FormatUint(from, 10))
			lines := json.NewDecoder(bufio.NewReader(bytes.NewReader(out)))
			kinds, different := map[string]bool{}, 0
			for {
				var pair struct{ In, Out json.RawMessage }
				if err := lines.Decode(&pair); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				kinds[compare(t, table, pair.In, pair.Out, &different)] = true
			}
			t.Logf("%d objects of %d kinds, %d of them different; -seed %d", n, len(kinds), different, from)
		})
	}
}

// compare fills in one object, and returns its kind.
func compare(t *testing.T, table *defaults.Table, in, out []byte, different *int) string {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(in, &head); err != nil {
		t.Fatal(err)
	}
	kind := head.APIVersion + " " + head.Kind
	full, err := table.Fill(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), in, "")
	if err != nil {
		*different++
		t.Errorf("%s: %v\n%s", kind, err, in)
		return kind
	}
	want, got := tree(t, out), tree(t, full)
	withoutTimes(want)
	withoutTimes(got)
	if diff := cmp.Diff(want, got); diff != "" {
		if *different++; *different <= 5 {
			t.Errorf("%s (-API server +product):\n%s\nwritten: %s", kind, diff, in)
		}
	}
	return kind
}

func tree(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	m, err := apijson.Tree(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// withoutTimes takes out the one field that is filled with the time of the request.
func withoutTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "timeAdded")
		for _, below := range value {
			withoutTimes(below)
		}
	case []any:
		for _, below := range value {
			withoutTimes(below)
		}
	}
}
