package defaults

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maker makes random objects: with little in them and much, with the values that
// the API lists, and with what stands in files and not in objects: null, empty
// lists and maps.
type maker struct {
	*rand.Rand
	listed enums
	// full is how often a field is there, in percent.
	full int
}

const maxDepth = 14

// left are fields by which others are computed and which the product does not fill in: an
// annotation, which is a controller's affair, and the requests of a whole pod, which
// the newest versions compute after the defaults.
var left = []string{
	"autoscaling/v1.HorizontalPodAutoscalerStatus.currentCPUUtilizationPercentage",
	"core/v1.PodSpec.resources",
}

// object makes one object of a kind, as JSON.
func (m *maker) object(k kind) ([]byte, error) {
	m.full = []int{8, 20, 45, 70}[m.IntN(4)]
	object, err := newObject(k.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	m.value(reflect.ValueOf(object).Elem(), nil, 0)
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	m.spoil(tree)
	tree["apiVersion"], tree["kind"] = k.GroupVersion().String(), k.Kind
	return json.Marshal(tree)
}

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

func (m *maker) often() bool { return m.IntN(100) < m.full }

// value fills one value. listed are the strings that the API lists for it.
func (m *maker) value(v reflect.Value, listed []string, depth int) {
	if depth > maxDepth {
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.ObjectMeta:
		m.meta(at)
		return
	case *resource.Quantity:
		*at = resource.MustParse(pick(m, "1", "100m", "1500m", "0.5", "0.00012", "1Gi", "1e3", "5k", "0", "2000m"))
		return
	case *intstr.IntOrString:
		*at = pick(m, intstr.FromInt32(0), intstr.FromInt32(80), intstr.FromString("http"), intstr.FromString("25%"), intstr.FromString(""))
		return
	case *metav1.Time:
		*at = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return
	case *metav1.MicroTime:
		*at = metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC))
		return
	case *runtime.RawExtension:
		at.Raw = []byte(`{"a":{"b":1}}`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if slices.Contains(left, nameOf(v.Type())+"."+f.name) {
				continue
			}
			if kind := f.typ.Kind(); f.name != "" && f.name != "metadata" && kind != reflect.Struct && !m.often() {
				continue
			}
			m.value(v.Field(f.index), m.strings(v.Type(), f.name), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		m.value(v.Elem(), listed, depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("bytes"))
			return
		}
		n := m.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			m.value(v.Index(i), listed, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"cpu", "memory", "hugepages-2Mi", "x"} {
			if m.often() {
				element := reflect.New(v.Type().Elem()).Elem()
				m.value(element, nil, depth+1)
				v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
			}
		}
	case reflect.String:
		if len(listed) > 0 && m.IntN(12) > 0 {
			v.SetString(pick(m, listed...))
			return
		}
		v.SetString(pick(m, "", "a", "b-c", "x", "latest"))
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(pick[int64](m, 0, 1, 5, 8080, -1, -5))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	}
}

// strings are the values that a field is made of, where they matter.
func (m *maker) strings(t reflect.Type, name string) []string {
	if name == "image" || name == "reference" {
		return []string{
			"a", "a:latest", "a:1", "r.example:5000/a", "r.example:5000/a:1", "A:1", "a:1:2", "a/", "",
			"a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			"a:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "a@sha256:0", "a:" + "x y",
		}
	}
	return m.listed.of(t, name)
}

func (m *maker) meta(at *metav1.ObjectMeta) {
	at.Name, at.Namespace = pick(m, "", "a", "b"), pick(m, "", "shop")
	if m.often() {
		at.Labels = map[string]string{"app": pick(m, "", "web")}
	}
	if m.often() {
		at.Annotations = map[string]string{"note": "x"}
	}
	if m.often() {
		at.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	}
}

// spoil writes what files have and objects do not: nulls and empty
// things.
func (m *maker) spoil(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			switch m.IntN(60) {
			case 0, 1:
				value[name] = nil
			case 2:
				delete(value, name)
			case 3:
				switch value[name].(type) {
				case map[string]any:
					value[name] = map[string]any{}
				case []any:
					value[name] = []any{}
				}
			}
			m.spoil(value[name])
		}
	case []any:
		for i := range value {
			if m.IntN(60) == 0 {
				value[i] = nil
			}
			m.spoil(value[i])
		}
	}
}
