// Package clitest runs whole commands in tests, as users do, and compares what they write.
package clitest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
)

var update = flag.Bool("update", false, "write the expected output again")

// Run runs a command, and returns its exit status and what it wrote.
func Run(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = cli.Main(context.Background(), args, command.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs})
	return status, out.String(), errs.String()
}

// Compare compares what was written with a file, or writes the file with the flag -update.
func Compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("another output than expected (-want +got):\n%s", diff)
	}
}

// People runs a command against a cluster that holds these objects.
func People(t *testing.T, stdin string, objects []client.Object, args ...string) (status int, out, errs string, c client.WithWatch) {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	var stdout, stderr bytes.Buffer
	status = cli.Main(context.Background(), args, command.Streams{
		In: strings.NewReader(stdin), Out: &stdout, Err: &stderr, Cluster: c,
		Clock: func() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) },
	})
	return status, stdout.String(), stderr.String(), c
}
