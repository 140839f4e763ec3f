package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferenceIsUpToDate(t *testing.T) {
	var got bytes.Buffer
	if err := run(&got, filepath.Join("..", "..", "config", "crd")); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("docs/reference.md is not what the definitions say; run make generate (-file +definitions):\n%s", diff)
	}
}

const small = `
spec:
  group: example.com
  scope: Cluster
  names: {kind: Box, plural: boxes, shortNames: [bx]}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: Box holds
          things
        required: [spec]
        properties:
          kind: {type: string}
          spec:
            type: object
            required: [lids]
            properties:
              lids:
                description: lids a|b, <c> and ` + "`<d>`" + `
                type: array
                minItems: 1
                items:
                  type: object
                  properties:
                    size: {type: integer, minimum: 0, maximum: 9, default: 3}
              names:
                type: object
                additionalProperties: {type: string, enum: [x, "y"]}
`

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, content, want, wantErr string
	}{
		{name: "fields", content: small, want: opening + `
## Box

Box holds things.

` + "`apiVersion: example.com/v1` · one for the cluster · `kubectl get boxes` or `kubectl get bx`" + `

| field | type | |
|---|---|---|
| ` + "`spec`" + ` | object | *required.* |
| ` + "`spec.lids`" + ` | list of object | *required.* lids a\|b, &lt;c&gt; and ` + "`<d>`" + `. Entries: at least 1. |
| ` + "`spec.lids[].size`" + ` | integer | From 0 to 9. Not given: ` + "`3`" + `. |
| ` + "`spec.names`" + ` | map of string | One of ` + "`x`, `y`" + `. |
`},
		{name: "something else", content: "kind: Pod", wantErr: "no kind or no version"},
		{name: "no YAML", content: "[", wantErr: "is not a CustomResourceDefinition"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "box.yaml"), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			err := run(&got, dir)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := run(&bytes.Buffer{}, t.TempDir()); err == nil {
		t.Error("an empty directory gives no error")
	}
}
