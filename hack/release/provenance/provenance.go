// Package provenance states what something was built from, and how: an in-toto statement
// with a SLSA v1 predicate. It is not signed, so it says and does not prove.
package provenance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

// MediaType of a statement, and PredicateType of what it says.
const (
	MediaType     = "application/vnd.in-toto+json"
	PredicateType = "https://slsa.dev/provenance/v1"
)

// ByHand is the builder that is named where no other is.
const ByHand = facts.Source + "/blob/main/docs/release.md#by-hand"

// Subject is what was built.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Of is the subject that data is.
func Of(name string, data []byte) Subject {
	sum := sha256.Sum256(data)
	return Subject{name, map[string]string{"sha256": hex.EncodeToString(sum[:])}}
}

type statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]any    `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

// Make states that the target of make built the subjects from the facts, with all that
// the programs among them were linked from. Of a tree with changes the commit is not
// claimed.
func Make(f facts.Facts, target, builder string, programs []*product.Program, subjects ...Subject) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: PredicateType}
	d := &s.Predicate.BuildDefinition
	d.BuildType = facts.Source + "/blob/main/docs/release.md#how-it-is-built"
	source := dependency{URI: "git+" + facts.Source + "@" + f.Revision}
	if commit := f.Commit(); commit != "" {
		source.Digest = map[string]string{"gitCommit": commit}
	}
	var platforms []string
	d.ResolvedDependencies = []dependency{source}
	seen := map[string]bool{}
	for _, p := range programs {
		platforms = append(platforms, p.Platform.String())
		if !seen[p.Build.GoVersion] {
			seen[p.Build.GoVersion] = true
			d.ResolvedDependencies = append(d.ResolvedDependencies, dependency{URI: "pkg:golang/stdlib@" + strings.TrimPrefix(p.Build.GoVersion, "go")})
		}
		for _, m := range p.Build.Deps {
			if seen[m.Path] {
				continue
			}
			seen[m.Path] = true
			hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil || len(hash) != sha256.Size {
				return nil, fmt.Errorf("%s@%s has the checksum %q; h1: and 32 bytes in base64 are right", m.Path, m.Version, m.Sum)
			}
			d.ResolvedDependencies = append(d.ResolvedDependencies, dependency{
				URI: "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version, Digest: map[string]string{"dirHash": hex.EncodeToString(hash)},
			})
		}
	}
	d.ExternalParameters = map[string]any{"target": target, "version": f.Version, "source": source.URI, "sourceDateEpoch": f.Time.Unix(), "platforms": platforms}
	d.InternalParameters = map[string]string{"linkerFlags": product.LinkerFlags(f)}
	s.Predicate.RunDetails.Builder.ID = builder
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}
