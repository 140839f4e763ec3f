// Package sbom writes what is in a program or an image as SPDX 2.3 in JSON, from what Go
// noted in the program when it was built.
package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

// MediaType of a document.
const MediaType = "application/spdx+json"

const unknown = "NOASSERTION"

type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []item         `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type item struct {
	Name             string      `json:"name"`
	SPDXID           string      `json:"SPDXID"`
	VersionInfo      string      `json:"versionInfo"`
	PackageFileName  string      `json:"packageFileName,omitempty"`
	Supplier         string      `json:"supplier"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	CopyrightText    string      `json:"copyrightText"`
	Comment          string      `json:"comment,omitempty"`
	ExternalRefs     []reference `json:"externalRefs"`
	Purpose          string      `json:"primaryPackagePurpose"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// Make describes a program with the modules that are linked into it, whose licences are
// given, and those that are beside it in an image. A module that Go noted and whose
// licence is not given is an error, and so is one in another version.
func Make(f facts.Facts, p *product.Program, linked, beside []licences.Module) ([]byte, error) {
	given := map[string]licences.Module{}
	for _, m := range linked {
		given[m.Path] = m
	}
	sums := map[string]string{}
	for _, dep := range p.Build.Deps {
		if m, ok := given[dep.Path]; !ok || m.Version != dep.Version {
			return nil, fmt.Errorf("%s@%s is linked in, and the licence is known of version %q", dep.Path, dep.Version, m.Version)
		}
		sums[dep.Path] = dep.Sum
	}
	if std, ok := given[licences.Standard]; !ok || std.Version != p.Build.GoVersion {
		return nil, fmt.Errorf("it was built with %s, and the licence is known of version %q", p.Build.GoVersion, std.Version)
	}
	hash := sha256.Sum256(p.Data)
	digest := hex.EncodeToString(hash[:])
	const main = "SPDXRef-Package-sallyport"
	name := "sallyport-" + f.Version + "-" + p.Platform.OS + "-" + p.Platform.Arch
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name,
		CreationInfo:  creation{Created: f.Time.Format(time.RFC3339), Creators: []string{"Organization: Sallyport", "Tool: sallyport-release-" + f.Version}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main}},
		Packages: []item{{
			Name: "sallyport", SPDXID: main, VersionInfo: f.Version, PackageFileName: p.Platform.Binary(), Supplier: "Organization: Sallyport",
			DownloadLocation: unknown, Checksums: []checksum{{"SHA256", digest}}, LicenseConcluded: unknown, LicenseDeclared: "Apache-2.0",
			CopyrightText: unknown, Comment: "revision " + f.Revision, ExternalRefs: purl(p.Build.Main.Path, f.Version), Purpose: "APPLICATION",
		}},
	}
	for _, m := range linked {
		i := packageOf(m, sums[m.Path])
		d.Packages = append(d.Packages, i)
		d.Relationships = append(d.Relationships, relationship{main, "STATIC_LINK", i.SPDXID})
	}
	for _, m := range beside {
		i := packageOf(m, "")
		d.Packages = append(d.Packages, i)
		d.Relationships = append(d.Relationships, relationship{"SPDXRef-DOCUMENT", "DESCRIBES", i.SPDXID})
	}
	// Two documents that differ may not have one name.
	content, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	hash = sha256.Sum256(content)
	d.DocumentNamespace = "https://sallyport.io/spdx/" + name + "-" + hex.EncodeToString(hash[:16])
	out, err := json.MarshalIndent(d, "", "  ")
	return append(out, '\n'), err
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.]+`)

func packageOf(m licences.Module, sum string) item {
	i := item{
		Name: m.Path, SPDXID: "SPDXRef-Package-" + notInID.ReplaceAllString(m.Path, "-"), VersionInfo: m.Version, Supplier: unknown, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: licences.Expression(m.Licences...), CopyrightText: unknown, ExternalRefs: purl(m.Path, m.Version), Purpose: "LIBRARY",
	}
	if sum != "" {
		i.Comment = "go.sum " + sum
	}
	if m.Path == licences.Standard {
		// By this name scanners look for vulnerabilities of the standard library.
		i.Name, i.ExternalRefs = "stdlib", purl("stdlib", strings.TrimPrefix(m.Version, "go"))
	}
	return i
}

// purl is the name of a module by which others find it.
func purl(path, version string) []reference {
	return []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(path) + "@" + url.QueryEscape(version)}}
}
