package defaults

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// row is a rule with the type that it is about.
type row struct {
	Type string `json:"type"`
	rule
	// Only lists the places that it holds for, where it does not hold for every
	// struct of its type: "GROUP/VERSION KIND PLACE".
	Only []string `json:"only,omitempty"`
	// Since and Until are the first and the last version that it holds in, where
	// that is not every one that was looked at.
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
}

// table is what the product embeds.
type table struct {
	Oldest string   `json:"oldest"`
	Newest string   `json:"newest"`
	Kinds  []string `json:"kinds"`
	Rows   []row    `json:"rows"`
}

// computed are fields whose values follow from others: the product has a function
// for each, and the comparison of random objects holds it to the real one.
var computed = []string{
	"core/v1.Container.imagePullPolicy",
	"core/v1.EphemeralContainerCommon.imagePullPolicy",
	"core/v1.ImageVolumeSource.pullPolicy",
	"core/v1.PodSpec.serviceAccount",
	"core/v1.PodSpec.serviceAccountName",
	"core/v1.ContainerPort.hostPort",
	"core/v1.ResourceRequirements.requests",
	"core/v1.ResourceRequirements.limits",
	"core/v1.PodStatus.podIP",
	"core/v1.PodStatus.podIPs",
	"core/v1.NodeStatus.allocatable",
	"core/v1.LimitRangeItem.default",
	"core/v1.LimitRangeItem.defaultRequest",
	"core/v1.ServicePort.targetPort",
	"core/v1.ServiceSpec.sessionAffinityConfig",
	"core/v1.ServiceSpec.externalTrafficPolicy",
	"core/v1.ReplicationControllerSpec.selector",
	"core/v1.LoadBalancerIngress.ipMode",
	"core/v1.SessionAffinityConfig.clientIP",
	"core/v1.ClientIPConfig.timeoutSeconds",
}

// corrected are fields that are filled in by a rule, and of which a function of the
// product changes what is written and cannot be.
var corrected = []string{"core/v1.PodSpec.terminationGracePeriodSeconds"}

// unsaid are fields that get the time of the request, or something else that is
// not known before.
var unsaid = []string{"timeAdded"}

func isComputed(t reflect.Type, name string) bool {
	return slices.Contains(computed, nameOf(t)+"."+name) || slices.Contains(unsaid, name)
}

// The versions that are looked at. The API server is the newest, and takes itself
// for the others by its feature gates.
const (
	oldest = 30
	newest = 37
)

func versionOf(minor uint) string { return fmt.Sprintf("1.%d", minor) }

// emulate has the feature gates stand as they did in a version.
func emulate(minor uint) error {
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(version.MajorMinor(1, minor))
}

// makeTable finds the defaults by trying them.
func makeTable() (*table, error) {
	t := &table{Oldest: versionOf(oldest), Newest: versionOf(newest)}
	for _, k := range kinds() {
		t.Kinds = append(t.Kinds, k.text())
	}
	first, last := map[string]uint{}, map[string]uint{}
	rows := map[string]row{}
	var order []string
	for minor := uint(oldest); minor <= newest; minor++ {
		if err := emulate(minor); err != nil {
			return nil, err
		}
		found, err := rowsNow()
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			text, err := json.Marshal(r)
			if err != nil {
				return nil, err
			}
			key := string(text)
			if _, ok := rows[key]; !ok {
				rows[key], first[key] = r, minor
				order = append(order, key)
			}
			last[key] = minor
		}
	}
	for _, key := range order {
		r := rows[key]
		if first[key] > oldest {
			r.Since = versionOf(first[key])
		}
		if last[key] < newest {
			r.Until = versionOf(last[key])
		}
		t.Rows = append(t.Rows, r)
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int {
		if c := strings.Compare(a.Type, b.Type); c != 0 {
			return c
		}
		return strings.Compare(a.Field, b.Field)
	})
	return t, nil
}

// rowsNow finds the rows that hold as the feature gates stand: what was seen at
// all places of a type, and what at some of them.
func rowsNow() ([]row, error) {
	listed := newEnums()
	type seen struct {
		rule   rule
		places []string
	}
	places := map[string]int{}
	rules := map[string]map[string]*seen{}
	var types []string
	order := map[string][]string{}
	for _, k := range kinds() {
		for _, n := range nodesOf(k) {
			name := nameOf(n.typ)
			place := strings.TrimSpace(n.kind.text() + " " + n.place)
			places[name]++
			found, err := rulesAt(n, listed)
			if err != nil {
				return nil, err
			}
			if len(found) > 0 && rules[name] == nil {
				rules[name] = map[string]*seen{}
				types = append(types, name)
			}
			for _, r := range found {
				text, err := json.Marshal(r)
				if err != nil {
					return nil, err
				}
				at := rules[name][string(text)]
				if at == nil {
					at = &seen{rule: r}
					rules[name][string(text)] = at
					order[name] = append(order[name], string(text))
				}
				at.places = append(at.places, place)
			}
		}
	}
	var rows []row
	for _, name := range types {
		for _, text := range order[name] {
			at := rules[name][text]
			r := row{Type: name, rule: at.rule}
			if len(at.places) < places[name] {
				r.Only = at.places
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}
