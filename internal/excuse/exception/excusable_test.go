package exception

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

const repository = "../../.."

// otherLists are the lists that name several kinds of policies and are about
// something else than what can be excused, each with what it is about.
var otherLists = map[string]string{
	"internal/app/serve/serve.go":                  "the kinds that files are told of",
	"internal/engine/contexthost/events.go":        "the kinds that may read the cluster",
	"internal/files/load/kinds.go":                 "every kind that a file may hold",
	"internal/engine/policy/admit.go":              "every kind that a set is compiled from",
	"internal/engine/stored/broken.go":             "what a stored policy that cannot work would be about, by kind",
	"internal/engine/clusterpolicy/cel_context.go": "the kinds that may read nothing, and those that may in their place",
	"internal/engine/policy/compiling.go":          "the kinds that stay in force beside a file of their name",
	"internal/engine/policy/sources.go":            "every kind that a set is compiled from",
}

// TestOneTableOfExcusables finds a second list of the kinds that can be excused:
// two of them came to differ once, and an approval excused what nobody was asked
// about.
func TestOneTableOfExcusables(t *testing.T) {
	names := map[string]string{"KindSource": "IdentitySource"}
	for _, e := range excusables {
		names[e.Kind], names[e.Resource], names["Kind"+e.Kind] = e.Kind, e.Kind, e.Kind
	}
	found := map[string]bool{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, repository+"/"))
		if entry.IsDir() {
			if rel == "lab" || rel == "test" || strings.HasPrefix(entry.Name(), ".") && path != repository {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || strings.Contains(rel, "zz_generated") || rel == "internal/excuse/exception/excusable.go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var parts []ast.Node
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					parts = append(parts, e)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					parts = append(parts, e)
				}
			default:
				return true
			}
			var kinds []string
			for _, part := range parts {
				ast.Inspect(part, func(n ast.Node) bool {
					word := ""
					switch n := n.(type) {
					case *ast.BasicLit:
						word, _ = strconv.Unquote(n.Value)
					case *ast.Ident:
						word = n.Name
					}
					if kind, ok := names[word]; ok && !slices.Contains(kinds, kind) {
						kinds = append(kinds, kind)
					}
					return true
				})
			}
			if len(kinds) >= 3 {
				found[rel] = true
				if otherLists[rel] == "" {
					t.Errorf("%s lists %v; go by Excusables, or say in this test what the list is about", rel, kinds)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rel := range otherLists {
		if !found[rel] {
			t.Errorf("%s has no such list any more; take it out of this test", rel)
		}
	}
}

// TestExcusablesAreTheKinds holds the table to the CustomResourceDefinitions: names
// and scopes, and which kinds an ExceptionPolicy can name.
func TestExcusablesAreTheKinds(t *testing.T) {
	type definition struct {
		Spec struct {
			Scope string
			Names struct{ Kind, Plural string }
		}
	}
	var kinds []string
	for _, e := range excusables {
		kinds = append(kinds, e.Kind)
		raw, err := os.ReadFile(filepath.Join(repository, "config/crd/sallyport.io_"+e.Resource+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var d definition
		if err := yaml.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		if d.Spec.Names.Kind != e.Kind || d.Spec.Names.Plural != e.Resource || (d.Spec.Scope == "Namespaced") != e.Namespaced {
			t.Errorf("%+v, and the definition has %+v", e, d.Spec)
		}
		if e.Guarded && e.Namespaced {
			t.Errorf("%s is guarded, and of a namespace", e.Kind)
		}
	}
	slices.Sort(kinds)
	for _, list := range []struct {
		file, field string
		also        []string
	}{{"exceptionpolicies", "policyKinds", nil}, {"policyexceptions", "policyKind", []string{`""`}}} {
		raw, err := os.ReadFile(filepath.Join(repository, "config/crd/sallyport.io_"+list.file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, enum, ok := strings.Cut(string(raw), list.field+":")
		_, enum, ok2 := strings.Cut(enum, "enum:\n")
		enum, _, ok3 := strings.Cut(enum, "type:")
		if !ok || !ok2 || !ok3 {
			t.Fatal(list.field + " has no enum")
		}
		var named []string
		for line := range strings.Lines(enum) {
			if name, is := strings.CutPrefix(strings.TrimSpace(line), "- "); is {
				named = append(named, name)
			}
		}
		slices.Sort(named)
		if want := slices.Concat(list.also, kinds); !slices.Equal(named, want) {
			t.Errorf("%s takes %v, and should take %v", list.field, named, want)
		}
	}
}

// TestReachable says which kinds a name can mean, and by which name an ExceptionPolicy
// knows it.
func TestReachable(t *testing.T) {
	for _, c := range []struct{ kind, name, namespace, want string }{
		{"", "p", "dev", "ClusterPolicy=p Policy=dev/p DenyPolicy=p ClusterAdmissionPolicy=p AdmissionPolicy=dev/p IdentitySource=p"},
		{"", "p", "", "ClusterPolicy=p DenyPolicy=p ClusterAdmissionPolicy=p IdentitySource=p"},
		{"", "ops/p", "dev", "Policy=ops/p AdmissionPolicy=ops/p"},
		{"", "ops/p", "", "Policy=ops/p AdmissionPolicy=ops/p"},
		{"Policy", "p", "dev", "Policy=dev/p"},
		{"Policy", "p", "", ""},
		{"Policy", "ops/p", "", "Policy=ops/p"},
		{"ClusterPolicy", "ops/p", "dev", ""},
	} {
		entry := &v1alpha1.ExceptedRules{PolicyKind: c.kind, PolicyName: c.name}
		r, _ := readRule(entry, c.namespace, field.NewPath("x"))
		var got []string
		for _, k := range Reachable(entry, c.namespace) {
			got = append(got, k.Kind+"="+r.fullName(k))
		}
		if text := strings.Join(got, " "); text != c.want || len(r.reachable()) != len(got) {
			t.Errorf("%+v: %s", c, text)
		}
	}
}
