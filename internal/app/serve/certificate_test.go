package serve

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/controller/certificate"
)

// TestCertificateFlags refuses what contradicts itself, in words that name the flag.
func TestCertificateFlags(t *testing.T) {
	secret := "--certificate-secret=sallyport-tls "
	for args, want := range map[string]string{
		secret + "--service=ns/sallyport": "", secret + "--service=https://10.0.0.1:8443": "", secret + "--webhooks-for-policies=ns/sallyport": "",
		"--webhooks-for-policies=ns/sallyport --webhooks-ca-file=ca.crt": "",
		secret:                   "give --service",
		"--service=ns/sallyport": "--certificate-secret, or that --webhooks all keeps",
		"--service=ns/sallyport --webhooks-ca-file=ca.crt":                           "--webhooks-for-policies, or of --webhooks all",
		"--webhooks-ca-file=ca.crt":                                                  "--webhooks-for-policies, or of --webhooks all",
		"--webhooks-for-policies=ns/sallyport":                                       "give --webhooks-ca-file or --certificate-secret",
		secret + "--service=sallyport":                                               `--service is "sallyport"`,
		secret + "--service=ns/sallyport:":                                           `--service is "ns/sallyport:"`,
		secret + "--service=ns/sallyport:70000":                                      `--service is "ns/sallyport:70000"`,
		secret + "--service=http://a":                                                `--service is "http://a"`,
		secret + "--service=https://a/validate":                                      `--service is "https://a/validate"`,
		"--certificate-secret=A --service=ns/s":                                      `--certificate-secret is "A"`,
		secret + "--service=ns/s --policy-server=x --policies=p.yml":                 "leave out --policy-server",
		secret + "--service=ns/s --from=dir":                                         "give --watch-policies",
		secret + "--service=ns/s --webhooks-ca-file=ca.crt":                          "two CAs",
		secret + "--service=ns/s --tls-cert-file=a --tls-private-key-file=b":         "leave out --tls-cert-file",
		secret + "--service=ns/s --certificate-validity=1h":                          "--certificate-validity is 1h",
		secret + "--service=ns/s --ca-validity=2000h":                                "--ca-validity is 2000h",
		secret + "--service=ns/s --certificate-validity=6h --certificate-overlap=2h": "--certificate-overlap is 2h",
		secret + "--service=ns/s --certificate-overlap=0s":                           "--certificate-overlap is 0s",
		"--webhooks-for-policies=ns/s:x --webhooks-ca-file=ca.crt":                   `--webhooks-for-policies is "ns/s:x"`,
	} {
		var f Flags
		cmd := &cobra.Command{Use: "serve"}
		f.Add(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(args, err)
		}
		if _, err := f.Complete(io.Discard); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if got, err := parsePlace("--service", "https://guard.example.com"); err != nil || got != (certificate.Place{Host: "guard.example.com", Port: 443}) {
		t.Errorf("%+v %v", got, err)
	}
}
