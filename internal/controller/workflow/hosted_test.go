package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

func hostedText(kind, more string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: p}\nspec: {module: 'registry://example.com/m:v1'" + more + "}\n"
}

func serverCalled(name string) *v1alpha1.PolicyServer {
	return &v1alpha1.PolicyServer{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestServersThatAreNotThere refuses policies that are put at one, and no others.
func TestServersThatAreNotThere(t *testing.T) {
	going := serverCalled("going")
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/wait"}, &metav1.Time{Time: time.Now()}
	for name, c := range map[string]struct {
		now, before string
		change      func(*request.Request)
		refused     bool
	}{
		"none":                           {"", "-", nil, false},
		"one that is there":              {"tenants", "-", nil, false},
		"one that is not":                {"tenant", "-", nil, true},
		"in other letters":               {"Tenants", "-", nil, true},
		"one that is being deleted":      {"going", "-", nil, true},
		"moved to one that is there":     {"tenants", "other", nil, false},
		"moved to one that is not":       {"tenant", "tenants", nil, true},
		"moved there from Sallyport":     {"tenant", "", nil, true},
		"moved away from one that went":  {"", "gone", nil, false},
		"changed where its server went":  {"gone", "gone", nil, false},
		"its status":                     {"tenant", "tenants", func(r *request.Request) { r.Subresource = "status" }, false},
		"deleted":                        {"gone", "-", func(r *request.Request) { r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object }, false},
		"connected to":                   {"tenant", "-", func(r *request.Request) { r.Operation = request.Connect }, false},
		"asked about at the side door":   {"tenant", "-", func(r *request.Request) { r.Door = request.Access }, false},
		"a kind of the same name":        {"tenant", "-", func(r *request.Request) { r.Object.GVK.Group = "example.com" }, false},
		"a kind without servers":         {"tenant", "-", func(r *request.Request) { r.Object.GVK.Kind = "ClusterPolicy" }, false},
		"an update of which no old came": {"tenant", "-", func(r *request.Request) { r.Operation = request.Update }, true},
	} {
		for _, kind := range []string{"ClusterAdmissionPolicy", "AdmissionPolicy"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				text := func(server string) string {
					if server == "" {
						return hostedText(kind, "")
					}
					return hostedText(kind, ", policyServer: "+server)
				}
				old := ""
				if c.before != "-" {
					old = text(c.before)
				}
				r := written(t, "alice", text(c.now), old)
				if c.change != nil {
					c.change(r)
				}
				g := guardOf(t, nil, serverCalled("tenants"), serverCalled("other"), going)
				if patch, refused := g.Mutate(t.Context(), r); patch != nil || refused != nil {
					t.Errorf("filled in %s, %v", patch, refused)
				}
				results := g.Validate(t.Context(), r)
				if got := slices.ContainsFunc(results, func(r decision.Result) bool { return r.Blocks() }); got != c.refused {
					t.Fatalf("results %+v", results)
				}
				if !c.refused {
					return
				}
				if got := results[0]; got.Rule != RuleServer || got.Findings[0].Path != "spec.policyServer" || got.Findings[0].Value != c.now ||
					!strings.Contains(got.Message, `(there are: "other", "tenants")`) {
					t.Errorf("result %+v", got)
				}
			})
		}
	}
}

// TestServersThatAreThereAreTold lists those that are there, in bounds.
func TestServersThatAreThereAreTold(t *testing.T) {
	var servers []client.Object
	for n := range toldServers + 2 {
		servers = append(servers, serverCalled(fmt.Sprintf("s%02d", n)))
	}
	for there, says := range map[int]string{0: "(there is none)", toldServers: `"s09")`, toldServers + 2: `"s09", 2 more)`} {
		g := guardOf(t, nil, servers[:there]...)
		results := g.Validate(t.Context(), written(t, "alice", hostedText("ClusterAdmissionPolicy", ", policyServer: x"), ""))
		if len(results) != 1 || !results[0].Blocks() || !strings.Contains(results[0].Message, says) {
			t.Errorf("with %d servers: %+v", there, results)
		}
	}
}

// TestServersThatCannotBeListed have the policy refused, as nobody knows whether its
// server is there.
func TestServersThatCannotBeListed(t *testing.T) {
	g := guardOf(t, nil, serverCalled("tenants"))
	g.Reader = interceptor.NewClient(g.Reader.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("timed out")
		},
	})
	results := g.Validate(t.Context(), written(t, "alice", hostedText("AdmissionPolicy", ", policyServer: tenants"), ""))
	if len(results) != 1 || !results[0].FailClosed || results[0].Status != decision.Error || !strings.Contains(results[0].Message, `"tenants" cannot be found out: timed out`) {
		t.Errorf("results %+v", results)
	}
}

// TestPoliciesThatCannotBeRead are refused: whether they stay where they were is not
// known.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	text := hostedText("AdmissionPolicy", ", policyServer: tenants")
	for name, cut := range map[string]func(*request.Request){
		"the new": func(r *request.Request) { r.Object.Raw = []byte("{") },
		"the old": func(r *request.Request) { r.OldObject.Raw = []byte("{") },
	} {
		r := written(t, "alice", text, text)
		cut(r)
		results := guardOf(t, nil, serverCalled("tenants")).Validate(t.Context(), r)
		if len(results) != 1 || !results[0].FailClosed || !strings.Contains(results[0].Message, "the object cannot be read") {
			t.Errorf("%s: %+v", name, results)
		}
	}
}
