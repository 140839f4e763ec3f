package archive

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

// KrewFile is the name of the plugin's manifest.
const KrewFile = "sallyport.krew.yaml"

type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string       `json:"uri"`
	SHA256 string       `json:"sha256"`
	Bin    string       `json:"bin"`
	Files  []pluginFile `json:"files"`
}

type pluginFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Krew is the manifest by which krew installs the program as kubectl sallyport, from
// archives that are downloaded from below a URL and have these checksums by their names.
func Krew(f facts.Facts, downloads string, platforms []product.Platform, sums map[string]string) ([]byte, error) {
	m := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "sallyport"},
		Spec: pluginSpec{
			Version: f.Version, Homepage: facts.Source, ShortDescription: "Guard admission of and access to pods",
			Description: "Judges manifests and accesses to pods by the policies of Sallyport, asks for\n" +
				"exceptions and breakglass sessions, and answers those that others asked for.\n",
		},
	}
	for _, p := range platforms {
		name := Name(f, p)
		if sums[name] == "" {
			return nil, fmt.Errorf("there is no checksum of %s", name)
		}
		one := pluginPlatform{URI: downloads + "/" + f.Version + "/" + name, SHA256: sums[name], Bin: p.Binary()}
		one.Selector.MatchLabels = map[string]string{"os": p.OS, "arch": p.Arch}
		for _, file := range []string{p.Binary(), "LICENSE"} {
			one.Files = append(one.Files, pluginFile{file, "."})
		}
		m.Spec.Platforms = append(m.Spec.Platforms, one)
	}
	return yaml.Marshal(m)
}
