package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/certificate"
	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// certificateFlags are about a certificate that is kept in a Secret.
type certificateFlags struct {
	secret, service string
	lives           certificate.Lifetimes

	place  certificate.Place
	keeper *certificate.Keeper
}

// leastCertificate is the least time that a certificate may be good for, and leastTimes
// how much longer than it a CA has to be.
const (
	leastCertificate = 6 * time.Hour
	leastTimes       = 3
)

func (f *certificateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.secret, "certificate-secret", "", "name of the Secret, in the namespace of --leader-election-namespace, in which Sallyport keeps a CA and the server's certificate; made where there is none, and renewed")
	flags.StringVar(&f.service, "service", "", "where API servers find this Sallyport: the Service NAMESPACE/NAME or NAMESPACE/NAME:PORT, or https://HOST:PORT; that of --webhooks-for-policies if not given. The webhooks that lead there are kept to trust the CA of --certificate-secret")
	flags.DurationVar(&f.lives.CA, "ca-validity", 10*365*24*time.Hour, "time that a CA of --certificate-secret is good for; another is made when two thirds are over")
	flags.DurationVar(&f.lives.Certificate, "certificate-validity", 90*24*time.Hour, "time that a certificate of --certificate-secret is good for; another is shown when two thirds are over")
	flags.DurationVar(&f.lives.Overlap, "certificate-overlap", 10*time.Minute, "time that webhooks trust another CA of --certificate-secret before a certificate of it is shown, and the one before at least afterwards")
}

// check reads the flags; hosting and watches say what else serve does.
func (f *Flags) checkCertificate() error {
	c, h := &f.certificate, &f.hosting
	if h.own != "" && h.ownCA == "" && c.secret == "" {
		return usage.Errorf("--webhooks-for-policies needs the CA of this server's certificate; give --webhooks-ca-file or --certificate-secret")
	}
	where, flag := c.service, "--service"
	if where == "" {
		where, flag = h.own, "--webhooks-for-policies"
	}
	if where != "" {
		var err error
		if c.place, err = parsePlace(flag, where); err != nil {
			return err
		}
	}
	if f.webhooks.mode == webhooksAll {
		if own := c.place.Namespace; own == metav1.NamespaceDefault || strings.HasPrefix(own, "kube-") {
			return usage.Errorf("%s leads to the namespace %s, which would not be guarded, as Sallyport's own is not: run Sallyport in a namespace of its own", flag, own)
		}
		if h.name != "" || !f.takesPolicies() {
			return usage.Errorf("--webhooks %s is for the replicas that take policies from the API server; leave out --policy-server, and give --watch-policies beside --from and --policies", webhooksAll)
		}
	}
	if c.secret == "" {
		switch {
		case h.ownCA != "" && h.own == "" && f.webhooks.mode != webhooksAll:
			return usage.Errorf("--webhooks-ca-file is the CA for the webhooks of --webhooks-for-policies, or of --webhooks %s, and neither is given", webhooksAll)
		case where == "" && f.webhooks.mode == webhooksAll:
			return usage.Errorf("--webhooks %s needs to know where the webhooks are to lead; give --service", webhooksAll)
		case c.service != "" && f.webhooks.mode != webhooksAll:
			return usage.Errorf("--service is where the webhooks lead that trust the CA of --certificate-secret, or that --webhooks %s keeps, and neither is given", webhooksAll)
		}
		return nil
	}
	switch {
	case len(validation.IsDNS1123Subdomain(c.secret)) > 0:
		return usage.Errorf("--certificate-secret is %q; the name of a Secret is expected", c.secret)
	case where == "":
		return usage.Errorf("--certificate-secret needs to know which webhooks lead here; give --service")
	case h.ownCA != "":
		return usage.Errorf("--certificate-secret and --webhooks-ca-file are two CAs for the same webhooks; give one of them")
	case h.name != "" || !f.takesPolicies():
		return usage.Errorf("--certificate-secret is kept by the replicas that take policies from the API server; leave out --policy-server, and give --watch-policies beside --from and --policies")
	case c.lives.Certificate < leastCertificate:
		return usage.Errorf("--certificate-validity is %s; %s at least is expected", c.lives.Certificate, leastCertificate)
	case c.lives.CA < leastTimes*c.lives.Certificate:
		return usage.Errorf("--ca-validity is %s; at least %d times --certificate-validity, which is %s, is expected", c.lives.CA, leastTimes, c.lives.Certificate)
	case c.lives.Overlap <= 0 || c.lives.Overlap > c.lives.Certificate/6:
		return usage.Errorf("--certificate-overlap is %s; a time above zero is expected, and at most a sixth of --certificate-validity, which is %s", c.lives.Overlap, c.lives.Certificate)
	case f.server.CertFile != "" || f.server.KeyFile != "" || f.server.WriteCA != "" || f.server.InsecureHTTP:
		return usage.Errorf("--certificate-secret keeps the certificate in a Secret; leave out --tls-cert-file, --tls-private-key-file, --write-ca and --insecure-http")
	}
	return nil
}

// parsePlace reads where API servers find this Sallyport.
func parsePlace(flag, given string) (certificate.Place, error) {
	if !strings.Contains(given, "://") {
		return parseService(flag, given)
	}
	parsed, err := url.Parse(given)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.Path != "" || parsed.RawQuery != "" || parsed.User != nil ||
		net.ParseIP(parsed.Hostname()) == nil && len(validation.IsDNS1123Subdomain(parsed.Hostname())) > 0 {
		return certificate.Place{}, usage.Errorf("%s is %q; NAMESPACE/NAME of a Service, NAMESPACE/NAME:PORT or https://HOST:PORT is expected", flag, given)
	}
	port, err := parsePort(parsed.Port())
	if err != nil {
		return certificate.Place{}, usage.Errorf("%s is %q: %v", flag, given, err)
	}
	return certificate.Place{Host: parsed.Hostname(), Port: port}, nil
}

// parseService reads a Service with its port.
func parseService(flag, given string) (certificate.Place, error) {
	namespace, service, ok := strings.Cut(given, "/")
	name, number, numbered := strings.Cut(service, ":")
	port, err := parsePort(number)
	if !ok || err != nil || numbered && number == "" || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return certificate.Place{}, usage.Errorf("%s is %q; NAMESPACE/NAME of a Service is expected, or NAMESPACE/NAME:PORT", flag, given)
	}
	return certificate.Place{Namespace: namespace, Service: name, Port: port}, nil
}

func parsePort(given string) (int32, error) {
	if given == "" {
		return 443, nil
	}
	port, err := strconv.ParseUint(given, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return int32(port), nil
}

// openCertificate makes what keeps the certificate and caBundles, where that is wanted;
// config is the API server's.
func (f *Flags) openCertificate(config *rest.Config, log *slog.Logger) error {
	c := &f.certificate
	if c.secret == "" {
		return nil
	}
	clocks := &certificate.Clocks{Clock: clock.RealClock{}}
	dated := pace.Few.Of(config)
	dated.Wrap(clocks.Wrap)
	client, err := kubernetes.NewForConfig(dated)
	if err != nil {
		return fmt.Errorf("no client for the API server could be made: %w", err)
	}
	shipped, follow := webhooks.Configurations(f.webhooks.name)
	bundles := certificate.Bundles{Client: client, Place: c.place, Names: []string{shipped, follow}, Like: map[string]string{follow: shipped}}
	if f.hosting.own != "" {
		bundles.Names = append(bundles.Names, policyserver.OwnWebhooks)
	}
	names := slices.Concat([]string{"localhost", "127.0.0.1", "::1"}, f.server.ServerNames, c.place.Names())
	slices.Sort(names)
	c.keeper = certificate.NewKeeper(certificate.Options{
		Bundles: bundles, Lifetimes: c.lives, Namespace: f.flow.namespace(), Secret: c.secret, ServerNames: slices.Compact(names),
		// Which replica leads, and what others show, is known once that was made.
		Leads:  func() bool { return f.surveying.leads != nil && f.surveying.leads() },
		Others: func() (map[string]string, bool) { return f.surveying.replicas.Others() },
		Clock:  clock.RealClock{}, Ahead: clocks.Ahead, Log: logr.FromSlogHandler(log.Handler()).WithName("certificate"),
	})
	f.server.Certificate = c.keeper.Certificate
	return nil
}

// state is what there is to count of the certificate.
func (f *certificateFlags) state() record.CertificateState {
	s := f.keeper.State()
	return record.CertificateState{CAEnds: s.CAEnds, NextCAShown: s.NextCAShown, Waits: s.Waits, Made: s.Made, Failures: s.Failures}
}

// warnings say what is wrong with the certificate that is kept in a Secret.
func (f *certificateFlags) warnings() []string {
	if f.keeper == nil {
		return nil
	}
	return f.keeper.Warnings()
}
