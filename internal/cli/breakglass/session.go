package breakglass

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// sessionFlags are those of the commands about sessions, which have no namespace.
type sessionFlags struct{ people command.AsUser }

func (f *sessionFlags) add(cmd *cobra.Command) {
	f.people.Live.Add(cmd, "where sessions are kept, and who asks")
}

// open gives a client that works as the user of the kubeconfig.
func (f *sessionFlags) open(s command.Streams) (client.WithWatch, error) {
	c, _, err := f.people.Open(s)
	return c, err
}

// whoAmI asks the API server by which name and in which groups it knows the user of
// the kubeconfig.
func whoAmI(ctx context.Context, c client.Client) (breakglass.Person, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return breakglass.Person{}, command.Plainly("the API server did not say who you are", err)
	}
	info := &review.Status.UserInfo
	if info.Username == "" {
		return breakglass.Person{}, fmt.Errorf("the API server did not say who you are")
	}
	return breakglass.Person{Name: info.Username, UID: info.UID, Groups: info.Groups}, nil
}

// escalationOf reads an escalation. It is nil where there is none, which is not an error.
func escalationOf(ctx context.Context, c client.Client, name string) (*v1alpha1.BreakglassEscalation, *breakglass.Escalation, error) {
	object := &v1alpha1.BreakglassEscalation{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	compiled, errs := breakglass.CompileEscalation(object)
	if len(errs) > 0 {
		return nil, nil, &wrongEscalation{wrongly(breakglass.KindEscalation, name, errs)}
	}
	return object, compiled, nil
}

// wrongEscalation is the error of an escalation that cannot work.
type wrongEscalation struct{ error }

// sessionOf reads a session.
func sessionOf(ctx context.Context, c client.Client, name string) (*v1alpha1.BreakglassSession, *breakglass.Session, error) {
	object := &v1alpha1.BreakglassSession{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return nil, nil, command.Plainly("the session cannot be read", err)
	}
	compiled, errs := breakglass.CompileSession(object)
	if len(errs) > 0 {
		return nil, nil, wrongly(breakglass.KindSession, name, errs)
	}
	return object, compiled, nil
}

func wrongly(kind, name string, errs field.ErrorList) error {
	return fmt.Errorf("%s %s cannot be used: %w", kind, name, errs.ToAggregate())
}

// missingEscalation says that there is no such escalation, and which there are.
func missingEscalation(ctx context.Context, c client.Client, name string) error {
	var list v1alpha1.BreakglassEscalationList
	if err := c.List(ctx, &list); err != nil || len(list.Items) == 0 {
		return fmt.Errorf("there is no BreakglassEscalation %q", name)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return fmt.Errorf("there is no BreakglassEscalation %q; there are: %s", name, strings.Join(names, ", "))
}
