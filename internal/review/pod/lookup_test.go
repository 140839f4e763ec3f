package pod

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

func TestLookup(t *testing.T) {
	const object = `{"spec":{"account":"a","none":null,"tasks":[{"account":"b"},{},{"account":"c"}],"sets":{"y":{"account":"d"},"x":{"account":"e"}}}}`
	for _, tt := range []struct {
		path, err string
		want      []string
	}{
		{"spec.account", "", []string{"spec.account=a"}},
		{"spec.tasks[*].account", "", []string{"spec.tasks[0].account=b", "spec.tasks[2].account=c"}},
		{"spec.tasks[2].account", "", []string{"spec.tasks[2].account=c"}},
		{"spec.tasks[7].account", "", nil},
		{"spec.sets.*.account", "", []string{"spec.sets.x.account=e", "spec.sets.y.account=d"}},
		{"spec.none.account", "", nil},
		{"spec.nothing[*].account", "", nil},
		{"spec.account.name", "spec.account: something else was found, an object belongs here", nil},
		{"spec.tasks.account", "spec.tasks: something else was found, an object belongs here", nil},
		{"spec.sets[*].account", "spec.sets: something else was found, a list belongs here", nil},
	} {
		t.Run(tt.path, func(t *testing.T) {
			lookup, err := ParseLookup(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if lookup.String() != tt.path {
				t.Errorf("written as %s", lookup)
			}
			tree, err := apijson.Tree([]byte(object))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = lookup.Each(tree, func(place string, value any) error {
				got = append(got, fmt.Sprintf("%s=%v", place, value))
				return nil
			})
			if text := fmt.Sprint(err); tt.err != "" && text != tt.err || tt.err == "" && err != nil {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, bad := range []string{"", ".", "[0]", "a..b"} {
		if _, err := ParseLookup(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	enough := errors.New("enough")
	lookup, _ := ParseLookup("spec.tasks[*].account")
	tree, _ := apijson.Tree([]byte(object))
	if err := lookup.Each(tree, func(string, any) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the visitor's error became %v", err)
	}
}
