package apijson

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadWalks(t *testing.T) {
	data := []byte(`{"skip":{"a":[1,{}]},"meta":{"name":"x"},"list":[null,true,"s",1.5,{},[]],"raw": {"k" : 1} }`)
	var meta metav1.ObjectMeta
	var kinds []string
	var raw Raw
	err := Read(data, func(d *Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "meta":
				return d.Decode(&meta)
			case "list":
				return d.List(func(i int) error {
					kinds = append(kinds, fmt.Sprintf("%d %v", i, d.Kind()))
					return d.Skip()
				})
			case "raw":
				var err error
				raw, err = d.Raw()
				return err
			default:
				return d.Skip()
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0 null", "1 true or false", "2 a string", "3 a number", "4 an object", "5 a list"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if meta.Name != "x" || string(raw) != `{"k" : 1}` {
		t.Errorf("meta %v, raw %s", meta, raw)
	}
	if &raw[0] != &data[len(data)-len(raw)-2] {
		t.Error("raw is a copy")
	}
}

func TestDecodeRaw(t *testing.T) {
	data := []byte(` { "a" :  [ 1 , "x",{"b" : null}]  , "c":5}`)
	got := map[string]string{}
	err := Read(data, func(d *Decoder) error {
		return d.Object(func(name string) error {
			if name == "c" {
				var n int
				raw, err := d.DecodeRaw(&n)
				got[name] = fmt.Sprint(n, " ", string(raw))
				return err
			}
			return d.List(func(i int) error {
				var value any
				raw, err := d.DecodeRaw(&value)
				got[fmt.Sprint(name, i)] = fmt.Sprint(value, " ", string(raw))
				return err
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a0": "1 1", "a1": `x "x"`, "a2": `map[b:<nil>] {"b" : null}`, "c": "5 5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadErrors(t *testing.T) {
	object := func(d *Decoder) error {
		return d.Object(func(name string) error {
			if name != "l" {
				return d.Skip()
			}
			return d.List(func(int) error { return d.Object(func(string) error { return d.Skip() }) })
		})
	}
	own := &Error{Path: "here", Detail: "not like that"}
	tests := []struct {
		name, data string
		read       func(*Decoder) error
		want       string
	}{
		{"no object", `[]`, object, "found a list, an object belongs here"},
		{"no list", `{"l":{}}`, object, "l: found an object, a list belongs here"},
		{"no object in a list", `{"l":[{},{},"x"]}`, object, "l[2]: found a string, an object belongs here"},
		{"twice", `{"a":1,"a":1}`, object, "a: stands more than once in the same object"},
		{"twice in what is skipped", `{"a":{"b":1,"b":1}}`, object, "a.b: stands more than once in the same object"},
		{"nothing", ``, object, "nothing was found, JSON belongs here"},
		{"cut off", `{"l":[{}`, object, "not JSON: it ends at byte 8, before it is complete"},
		{"trailing", `{}x`, object, "not JSON: invalid character 'x' after top-level value, at byte 2"},
		{"one's own", `{}`, func(*Decoder) error { return own }, "here: not like that"},
		{"another", `{}`, func(*Decoder) error { return errors.New("lost") }, "lost"},
		{"a typed field", `{"l":1,"labels":{"a":1}}`, func(d *Decoder) error {
			return d.Decode(new(metav1.ObjectMeta))
		}, "labels.a: found a number, a string belongs here: write it in quotes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Read([]byte(tt.data), tt.read)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestIntegersStayWholeInInterfaces(t *testing.T) {
	type holder struct {
		Value any            `json:"value"`
		Map   map[string]any `json:"map"`
	}
	data := []byte(`{"value":9007199254740993,"map":{"a":1,"b":1.0,"c":1e3,"d":[2,"x",null,true]}}`)
	want := holder{
		Value: int64(9007199254740993),
		Map:   map[string]any{"a": int64(1), "b": 1.0, "c": 1000.0, "d": []any{int64(2), "x", nil, true}},
	}
	var direct, walked holder
	if err := Unmarshal(data, &direct); err != nil {
		t.Fatal(err)
	}
	if err := Read(data, func(d *Decoder) error { return d.Decode(&walked) }); err != nil {
		t.Fatal(err)
	}
	for _, got := range []holder{direct, walked} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRawAndMarshal(t *testing.T) {
	var review struct {
		Object    Raw `json:"object"`
		OldObject Raw `json:"oldObject"`
		Options   Raw `json:"options"`
	}
	if err := Unmarshal([]byte(`{"object":{"a":"<b>"},"oldObject":null}`), &review); err != nil {
		t.Fatal(err)
	}
	if review.Object.IsNull() || !review.OldObject.IsNull() || !review.Options.IsNull() {
		t.Errorf("%+v", review)
	}
	got, err := Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"object":{"a":"<b>"},"oldObject":null,"options":null}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err = Marshal(map[string]any{"b": metav1.TypeMeta{Kind: "<Pod>"}, "a": []string(nil)})
	if want := `{"a":null,"b":{"kind":"<Pod>"}}`; err != nil || string(got) != want {
		t.Errorf("got %s and %v, want %s", got, err, want)
	}
}

func TestPaths(t *testing.T) {
	path := Child(Child(Element(Child(Child("", "spec"), "list"), 2), "a.b/c"), "d-e_1")
	if want := `spec.list[2]["a.b/c"].d-e_1`; path != want {
		t.Errorf("got %s, want %s", path, want)
	}
	if got := Child("", ""); got != `[""]` {
		t.Errorf("the empty name reads %s", got)
	}
}
