// Package compiled holds what files come to once they are loaded: the policies, compiled,
// and the cluster to judge against. All of it is right, or there is nothing to judge by.
package compiled

import (
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	watched "github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// Files is what files come to: policies that can all do what they say, and the
// cluster to judge against.
type Files struct {
	Set     *policy.Set
	Cluster *cluster.Files
	// Given are the objects that policies may read.
	Given   *watched.Static
	Ignored []load.Ignored
	// clusters are the further ones that the files describe.
	clusters []stored.Sourced[*v1alpha1.ClusterConfig]
	// Sources are what the set was compiled from.
	Sources *policy.Sources
}

// Of compiles what was loaded from the paths.
func Of(loaded *load.Result, paths []string, exceptions exception.Options) (*Files, error) {
	set, files, given, err := Compile(loaded, exceptions)
	if err != nil {
		return nil, fmt.Errorf("%w\nNothing was judged: all policies and objects must be right", err)
	}
	if set.Empty() {
		return nil, stored.Problems{{Detail: "no policy was found in " + load.Joined(paths) + "; without one there is nothing to judge by"}}
	}
	return &Files{Set: set, Cluster: files, Given: given, Ignored: loaded.Ignored, clusters: loaded.Sources.Clusters, Sources: &loaded.Sources}, nil
}

// Compile makes the set and the cluster out of what was loaded. The error holds
// every problem.
func Compile(loaded *load.Result, exceptions exception.Options) (*policy.Set, *cluster.Files, *watched.Static, error) {
	set, problems := policy.Compile(loaded.Sources, pod.Default(), exceptions)
	problems = append(loaded.Problems[:len(loaded.Problems):len(loaded.Problems)], problems...)
	files, err := cluster.NewFiles(loaded.Objects)
	if err != nil {
		problems = append(problems, stored.Problem{Detail: err.Error()})
	}
	given, err := watched.NewStatic(loaded.Given, loaded.None, time.Now)
	if err != nil {
		problems = append(problems, stored.Problem{Detail: err.Error()})
	}
	if len(problems) > 0 {
		return nil, nil, nil, problems
	}
	return set, files, given, nil
}

// Place says in a request which cluster it is for, and what the files say of that.
func (p *Files) Place(r *request.Request, name string) {
	r.ClusterName = name
	if c := clusterconfig.Named(p.clusters, name); c != nil {
		r.Tenant, r.Environment, r.Elsewhere = c.Spec.Tenant, c.Spec.Environment, true
	}
}
