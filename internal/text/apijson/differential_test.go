package apijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// agree checks that data is read here as sigs.k8s.io/json reads it, or refused.
func agree(t *testing.T, data []byte, typ reflect.Type) {
	t.Helper()
	ours, theirs := reflect.New(typ), reflect.New(typ)
	before := bytes.Clone(data)
	ourErr := Unmarshal(data, ours.Interface())
	if !bytes.Equal(before, data) {
		t.Fatalf("the input was changed from %q to %q", before, data)
	}
	theirErr := kjson.UnmarshalCaseSensitivePreserveInts(data, theirs.Interface())
	switch duplicates := hasDuplicates(data); {
	case theirErr != nil:
		if ourErr == nil {
			t.Fatalf("%q: read here as %s, refused there: %v", data, dump(ours), theirErr)
		}
	case duplicates:
		if ourErr == nil {
			t.Fatalf("%q: has duplicate names and was read", data)
		}
	case ourErr != nil:
		t.Fatalf("%q: read there, refused here: %v", data, ourErr)
	case !reflect.DeepEqual(ours.Interface(), theirs.Interface()):
		t.Fatalf("%q: read differently (-there +here):\n%s", data, cmp.Diff(dump(theirs), dump(ours)))
	}
	if ourErr != nil && ourErr.Error() == "" {
		t.Fatalf("%q: an error without words", data)
	}
}

func dump(v reflect.Value) string {
	b, err := json.MarshalIndent(v.Interface(), "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// hasDuplicates looks for objects with two names that are equal, with a decoder
// of its own.
func hasDuplicates(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	type object struct {
		names    map[string]bool
		wantName bool
	}
	var open []*object // nil for a list
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return false
		}
		if n := len(open); n > 0 && open[n-1] != nil {
			o := open[n-1]
			if name, ok := token.(string); ok && o.wantName {
				if o.names[name] {
					return true
				}
				o.names[name], o.wantName = true, false
				continue
			}
			o.wantName = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &object{names: map[string]bool{}, wantName: true})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

var decodedTypes = []reflect.Type{
	reflect.TypeFor[corev1.Pod](),
	reflect.TypeFor[corev1.PodTemplate](),
	reflect.TypeFor[corev1.ReplicationController](),
	reflect.TypeFor[appsv1.Deployment](),
	reflect.TypeFor[appsv1.StatefulSet](),
	reflect.TypeFor[appsv1.DaemonSet](),
	reflect.TypeFor[appsv1.ReplicaSet](),
	reflect.TypeFor[appsv1.ControllerRevision](),
	reflect.TypeFor[batchv1.Job](),
	reflect.TypeFor[batchv1.CronJob](),
	reflect.TypeFor[admissionv1.AdmissionReview](),
}

// Every field of every type, with every value that it could be given by mistake
// or on purpose.
func TestEveryFieldWithOddValues(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, typ := range decodedTypes {
		t.Run(typ.Name(), func(t *testing.T) {
			fields := 0
			eachField(typ, seen, "", "", func(before, after string) {
				fields++
				for _, value := range oddValues {
					agree(t, []byte(before+value+after), typ)
				}
			})
			t.Logf("%d fields, %d values each", fields, len(oddValues))
		})
	}
}

// eachField calls visit with the JSON around the place of each value that the
// type holds, objects and lists included. The fields of a struct that was seen
// are not visited again.
func eachField(typ reflect.Type, seen map[reflect.Type]bool, before, after string, visit func(before, after string)) {
	visit(before, after)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if readsItself(typ) {
		return
	}
	switch typ.Kind() {
	case reflect.Struct:
		if seen[typ] {
			return
		}
		seen[typ] = true
		for name, field := range fieldsOf(typ) {
			eachField(field, seen, before+`{"`+name+`":`, `}`+after, visit)
		}
	case reflect.Slice:
		if typ.Elem().Kind() != reflect.Uint8 {
			eachField(typ.Elem(), seen, before+`[`, `]`+after, visit)
		}
	case reflect.Map:
		eachField(typ.Elem(), seen, before+`{"k":`, `}`+after, visit)
	}
}

var oddValues = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `1.0`, `1.5`, `1e3`, `1E400`, `2147483648`, `-2147483649`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775809`, `184467440737095516150`,
	`""`, `"x"`, `"1"`, `"100m"`, `"10Gi"`, `"1e3"`, `"true"`, `"null"`, `"NaN"`, `"AQI="`, `"AQI"`, `"A\nQI="`,
	`"2026-03-02T09:41:07Z"`, `"2026-03-02T09:41:07.123456Z"`, `"2026-03-02t09:41:07+25:00"`, `"1h30m"`,
	`"\ud800"`, `"\ud83d\ude00"`, `"\ud800\ud800"`, `"\udc00\ud800x"`, "\"\xff\"", "\"\xed\xa0\x80\"", `"\u0000"`,
	`[]`, `[null]`, `[1]`, `["x"]`, `[{}]`, `[[]]`, `{}`, `{"k":null}`, `{"k":"v"}`, `{"k":1}`, `{"k":{}}`,
	`{"name":null}`, `{"Name":"x"}`, `{"NAME":"x","name":"y"}`, `{"name":"x","name":"y"}`, `{"k":1,"k":2}`,
	`{"x":{"k":1,"k":2}}`, "{\"\xff\":1,\"\xfe\":2}", `{"\ud800":1,"\udc00":2}`, ``, ` `, `nul`, `nan`, `NaN`, `Infinity`,
	`01`, `1.`, `.5`, `+1`, `0x1`, `'x'`, `"\x"`, "\"\n\"", `{"k"}`, `{"k":1,}`, `[1,]`, `{} {}`, `// c`,
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
