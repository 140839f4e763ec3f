package expression

import (
	"fmt"
	"math"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	base "k8s.io/apiserver/pkg/cel/environment"
)

// The names that expressions may use.
const (
	objectName    = "object"
	oldObjectName = "oldObject"
	requestName   = "request"
	namespaceName = "namespaceObject"
	variablesName = "variables"
)

// environment is what expressions are compiled in.
type environment struct {
	env   *cel.Env
	types structs
	guard *guard
	// granted is set where expressions may read the cluster.
	granted Granted
}

// The environments are built when the first expression is compiled: it takes
// milliseconds, which commands without expressions should not pay.
var (
	// admission has the variables of a ValidatingAdmissionPolicy.
	admission = sync.OnceValues(func() (*environment, error) { return newEnvironment(cel.ObjectType(requestTypeName)) })
	// contextual has cluster as well.
	contextual = sync.OnceValues(func() (*environment, error) {
		return newEnvironment(cel.ObjectType(requestTypeName), clusterOptions()...)
	})
	// approval has an object of any form as the request.
	approval = sync.OnceValues(func() (*environment, error) { return newEnvironment(cel.DynType) })
)

// newEnvironment returns the environment whose request is of that type, with what
// more declares.
//
// It builds on the environment for expressions that are stored already, since
// that is how an API server runs them: with every library that it has.
func newEnvironment(request *cel.Type, more ...cel.EnvOption) (*environment, error) {
	labelErrors()
	libraries := base.MustBaseEnvSet(base.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	declared := structs{Provider: libraries.CELTypeProvider(), fields: declaredTypes()}
	env, err := libraries.Extend(append(more,
		cel.CustomTypeProvider(declared),
		cel.Variable(objectName, cel.DynType),
		cel.Variable(oldObjectName, cel.DynType),
		cel.Variable(requestName, request),
		cel.Variable(namespaceName, cel.ObjectType(namespaceTypeName)),
		cel.Variable(variablesName, cel.ObjectType(variablesTypeName)),
	)...)
	if err != nil {
		return nil, fmt.Errorf("the environment of expressions cannot be built: %w", err)
	}
	guard, err := newGuard(env)
	if err != nil {
		return nil, fmt.Errorf("the environment of expressions cannot be built: %w", err)
	}
	return &environment{env: env, types: declared, guard: guard}, nil
}

// labelErrors labels the two errors that all evaluations share. The interpreter
// labels an error that has no label yet with the place where it came up, so that
// two evaluations at once would write to the same one.
var labelErrors = sync.OnceFunc(func() {
	types.LabelErrNode(-1, types.NoSuchOverloadErr())
	types.LabelErrNode(-1, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
})

// withVariables returns an environment in which variables has the fields of
// declared. Fields that are added later count for what is compiled later, so
// that an expression sees the variables ahead of it and no others.
func (e *environment) withVariables(declared map[string]*cel.Type) (*environment, error) {
	extended := e.types.with(variablesTypeName, declared)
	env, err := e.env.Extend(cel.CustomTypeProvider(extended))
	if err != nil {
		return nil, fmt.Errorf("the environment of expressions cannot be extended by variables: %w", err)
	}
	return &environment{env: env, types: extended, guard: e.guard, granted: e.granted}, nil
}
