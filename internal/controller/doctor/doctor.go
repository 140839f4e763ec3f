// Package doctor looks at an installation as a person would who has to know whether it
// guards the cluster: what is there, what the API server asks, who may take it away. It
// reads, asks what others may do, and makes one object in a dry run; nothing is written.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// Options are what an installation is looked at by.
type Options struct {
	// API reaches the API server, as whoever looks; Objects reads objects of ours, and
	// Discovery says what the API server has.
	API       kubernetes.Interface
	Objects   client.Client
	Discovery Discovery
	// Name is that of the webhook configurations, Namespace the one that Sallyport runs
	// in, and Account the user that it works as; each as it is shipped if empty.
	Name, Namespace, Account string
	// Authorization is what the API server was started with; nil where nobody gave it.
	Authorization *apiserverv1.AuthorizationConfiguration
	// Dial looks at the certificate that is served at an address; nil for not at all.
	Dial  Dial
	Clock clock.WithTicker
}

// Discovery says what the API server has, and of which version it is.
type Discovery interface {
	discovery.ServerResourcesInterfaceWithContext
	discovery.ServerVersionInterfaceWithContext
}

// checkLimit bounds one check, and firstLimit the question whether there is an API
// server.
const (
	checkLimit = 45 * time.Second
	firstLimit = 15 * time.Second
)

// check is one thing to look at.
type check struct {
	group, name string
	run         func(*looking, context.Context, *says)
	// beside is set for what few who look may know, and what other checks say in part.
	beside bool
}

// Names lists the names of all checks, in their order; those before an installation
// last.
func Names() []string {
	var names []string
	for _, c := range slices.Concat(checks, before) {
		names = append(names, c.name)
	}
	return names
}

var checks = slices.Concat(ofInstallation, ofWebhooks, ofDoors, ofCertificates, ofRights, ofPeople, ofPolicies, ofReplicas)

// Run looks at an installation. An error says that the API server cannot be asked.
func Run(ctx context.Context, o Options) (*Report, error) { return run(ctx, o, checks) }

// Before looks at a cluster that Sallyport is to be installed in.
func Before(ctx context.Context, o Options) (*Report, error) { return run(ctx, o, before) }

func run(ctx context.Context, o Options, all []check) (*Report, error) {
	l := &looking{Options: o}
	l.fill()
	if err := l.reach(ctx); err != nil {
		return nil, err
	}
	report := &Report{}
	for _, c := range all {
		found := l.look(ctx, c)
		report.add(found)
		report.Incomplete = report.Incomplete || !c.beside && slices.ContainsFunc(found, func(f Finding) bool { return f.Status == Unknown })
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("looking was ended: %w", err)
		}
	}
	return report, nil
}

// looking is one look, with what several checks need.
type looking struct {
	Options
	version  *version.Info
	who      authenticationv1.UserInfo
	answered time.Time
	began    time.Time
	memos
}

// fill fills in what is as it is shipped.
func (l *looking) fill() {
	l.Name, l.Namespace = cmp.Or(l.Name, "sallyport"), cmp.Or(l.Namespace, wiring.Namespace)
	l.Account = cmp.Or(l.Account, "system:serviceaccount:"+l.Namespace+":sallyport")
}

// reach finds out whether there is an API server, what time it is there, and who asks.
func (l *looking) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstLimit)
	defer cancel()
	l.began = l.Clock.Now()
	review, err := l.API.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("the API server does not say who asks: %w", err)
	}
	l.who, l.answered = review.Status.UserInfo, review.CreationTimestamp.Time
	if l.version, err = l.Discovery.ServerVersionWithContext(ctx); err != nil {
		return fmt.Errorf("the API server does not say its version: %w", err)
	}
	return nil
}

func (l *looking) look(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	s := &says{}
	c.run(l, ctx, s)
	for i := range s.found {
		s.found[i].Group, s.found[i].Name = c.group, c.name
	}
	return s.found
}
