package expression

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

const (
	clusterName     = "cluster"
	clusterTypeName = "kubernetes.Cluster"
	getFunction     = "get"
	listFunction    = "list"
)

// Cluster is what expressions read of the cluster beside their input.
type Cluster interface {
	// Tree answers a read by a JSON tree, as apijson.Tree has them, which is not
	// changed. An object that is not there is contextgate.ErrNotFound.
	Tree(ctx context.Context, read *hostcall.Read) (map[string]any, error)
}

// Granted says why a kind may not be read, if that is known without a cluster;
// empty if it may be, or if nobody can tell yet.
type Granted func(apiVersion, kind string) (refusal string)

// clusterType is that of the name cluster. Nothing can be done with it but calling
// its functions.
var clusterType = cel.OpaqueType(clusterTypeName)

// clusterOptions declare cluster and its functions.
func clusterOptions() []cel.EnvOption {
	text, options := cel.StringType, cel.MapType(cel.StringType, cel.DynType)
	overload := func(id string, result *cel.Type, read func(c *clusterValue, args []ref.Val) ref.Val, args ...*cel.Type) cel.FunctionOpt {
		return cel.MemberOverload(id, append([]*cel.Type{clusterType}, args...), result, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			c, ok := args[0].(*clusterValue)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			return read(c, args[1:])
		}))
	}
	items := cel.ListType(cel.DynType)
	return []cel.EnvOption{
		cel.Variable(clusterName, clusterType),
		cel.Function(getFunction,
			overload("cluster_get_name", cel.DynType, (*clusterValue).get, text, text, text),
			overload("cluster_get_name_options", cel.DynType, (*clusterValue).get, text, text, text, options),
			overload("cluster_get_namespace_name", cel.DynType, (*clusterValue).get, text, text, text, text),
			overload("cluster_get_namespace_name_options", cel.DynType, (*clusterValue).get, text, text, text, text, options),
		),
		cel.Function(listFunction,
			overload("cluster_list", items, (*clusterValue).list, text, text),
			overload("cluster_list_options", items, (*clusterValue).list, text, text, options),
			overload("cluster_list_namespace", items, (*clusterValue).list, text, text, text),
			overload("cluster_list_namespace_options", items, (*clusterValue).list, text, text, text, options),
		),
	}
}

// maxReads is how many different things one evaluation may read: an expression
// could ask for one after the other of a list.
const maxReads = 256

// clusterValue is the value of cluster in one evaluation, in which the same read
// gives the same answer each time.
type clusterValue struct {
	in    *evaluation
	reads map[string]ref.Val
}

// get reads one object. There is no default for what is not there: null has no
// fields, so that an expression that forgets to ask is an error and not true.
func (c *clusterValue) get(args []ref.Val) ref.Val {
	read := &hostcall.Read{Operation: hostcall.GetResource}
	names, err := c.fill(read, args)
	switch {
	case err != nil:
		return failed(getFunction, err)
	case len(names) == 2:
		read.Namespace, read.Name = names[0], names[1]
	default:
		read.Name = names[0]
	}
	if read.LabelSelector != "" || read.FieldSelector != "" {
		return failed(getFunction, errors.New("selectors are for cluster.list: an object that is read by its name is not selected"))
	}
	return c.once(read, func(tree map[string]any) any { return tree })
}

// list reads objects, as a list of them.
func (c *clusterValue) list(args []ref.Val) ref.Val {
	read := &hostcall.Read{Operation: hostcall.ListAll}
	names, err := c.fill(read, args)
	if err != nil {
		return failed(listFunction, err)
	}
	if len(names) == 1 {
		read.Operation, read.Namespace = hostcall.ListByNamespace, names[0]
	}
	return c.once(read, func(tree map[string]any) any {
		items, _ := tree["items"].([]any)
		return items
	})
}

// fill reads the arguments of a call, and returns those behind the kind. None may
// be empty: an empty namespace could stand for all of them.
func (c *clusterValue) fill(read *hostcall.Read, args []ref.Val) ([]string, error) {
	var texts []string
	for i, arg := range args {
		if text, ok := arg.(types.String); ok {
			if text == "" {
				return nil, fmt.Errorf("its argument %d is empty", i+1)
			}
			texts = append(texts, string(text))
			continue
		}
		if err := readOptions(read, arg); err != nil {
			return nil, err
		}
	}
	if len(texts) < 2 {
		return nil, errors.New("apiVersion and kind are needed")
	}
	read.APIVersion, read.Kind = texts[0], texts[1]
	return texts[2:], nil
}

// once reads, unless the same was read before.
func (c *clusterValue) once(read *hostcall.Read, part func(map[string]any) any) ref.Val {
	key := fmt.Sprintf("%q %q %q %q %q %q %q %q %t", read.Operation, read.APIVersion, read.Kind, read.Namespace, read.Name,
		read.LabelSelector, read.FieldSelector, read.FieldMasks, read.DisableCache)
	if known, ok := c.reads[key]; ok {
		return known
	}
	if c.reads == nil {
		c.reads = map[string]ref.Val{}
	}
	if len(c.reads) >= maxReads {
		return failed(read.Operation.Verb(), fmt.Errorf("one evaluation may read %d different things; list them and look into the list", maxReads))
	}
	value := c.read(read, part)
	c.reads[key] = value
	return value
}

func (c *clusterValue) read(read *hostcall.Read, part func(map[string]any) any) ref.Val {
	if c.in.in.Cluster == nil {
		return failed(read.Operation.Verb(), errors.New("there is no cluster to read here"))
	}
	tree, err := c.in.in.Cluster.Tree(c.in.ctx, read)
	switch {
	case errors.Is(err, contextgate.ErrNotFound):
		return types.NullValue
	case err != nil:
		return failed(read.Operation.Verb(), err)
	}
	return types.DefaultTypeAdapter.NativeToValue(part(tree))
}

func failed(function string, err error) ref.Val {
	return types.WrapErr(fmt.Errorf("%s.%s: %w", clusterName, function, err))
}

// Type is the type of cluster.
func (c *clusterValue) Type() ref.Type { return clusterType }

// Value is cluster itself.
func (c *clusterValue) Value() any { return c }

// Equal reports whether it is compared to itself.
func (c *clusterValue) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(c) == other) }

// ConvertToNative is refused.
func (c *clusterValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("cluster cannot be made a %s", t)
}

// ConvertToType tells the type, and is refused otherwise.
func (c *clusterValue) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return clusterType
	}
	return types.NewErr("cluster cannot be made a %s", t.TypeName())
}
