package pattern

import "k8s.io/apimachinery/pkg/util/validation/field"

type Pattern struct{}
type Outcome uint8

const (
	Pass Outcome = iota
	Skip
	Fail
)

type Result struct {
	Outcome  Outcome
	Failures []Failure
	Skipped  string
}
type Failure struct {
	Path    string
	Value   any
	Missing bool
	Detail  string
}

func Compile(pattern any, path *field.Path) (*Pattern, field.ErrorList)       { return &Pattern{}, nil }
func CompileAny(patterns []any, path *field.Path) (*Pattern, field.ErrorList) { return &Pattern{}, nil }
func (p *Pattern) Match(resource any) Result                                  { return Result{} }
