package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

// CheckHost says what is wrong with the host of an address, which may have a port;
// empty if nothing is. foreign says that whoever wrote the address may only write
// into a namespace, and so must not lead the server to its own machine.
func CheckHost(host string, foreign bool) string {
	target, err := url.Parse("https://" + host)
	switch {
	case err != nil || target.Host != host && target.User == nil || strings.HasSuffix(host, ":") || strings.Trim(target.Hostname(), ".") == "":
		return "names no host"
	case target.User != nil:
		return "holds a user name or a password, which everybody could read who may read the policy"
	}
	name := strings.ToLower(target.Hostname())
	for _, r := range name {
		if r > '~' || r <= ' ' {
			return "has a host with letters beyond ASCII; write it as DNS has it (xn--...)"
		}
	}
	address, err := addressOf(name)
	if err != nil {
		return err.Error()
	}
	if foreign && (thisMachine(name) || address.IsValid() && addresses.Inside(address)) {
		return "is on the machine of the server itself or on the link that it is on, which an AdmissionPolicy may not name"
	}
	return ""
}

// CheckReference says what is wrong with the address of a module in a registry,
// written without its scheme; empty if nothing is.
func CheckReference(reference string, foreign bool) string {
	host, path, ok := strings.Cut(reference, "/")
	if !ok || host == "" || path == "" {
		return "names no repository; write registry://HOST/NAME:TAG or registry://HOST/NAME@sha256:..."
	}
	if wrong := CheckHost(host, foreign); wrong != "" {
		return wrong
	}
	parsed, err := registry.ParseReference(reference)
	switch {
	case err != nil:
		return "is not an address in a registry, such as registry://HOST/NAME:TAG: " + err.Error()
	case parsed.Reference == "":
		return "has neither a tag nor a digest; write registry://HOST/NAME:TAG or registry://HOST/NAME@sha256:..."
	}
	return ""
}

// addressOf reads a host that is an IP address; invalid for one that is a name.
// What only some programs take for an address, such as 2130706433, 127.1 or
// 0x7f.1, is an error.
func addressOf(name string) (netip.Addr, error) {
	name = strings.TrimRight(name, ".")
	if address, err := netip.ParseAddr(name); err == nil {
		return address, nil
	}
	last := name[strings.LastIndex(name, ".")+1:]
	if strings.Contains(name, ":") || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return netip.Addr{}, fmt.Errorf("has the host %q, which is neither a name nor an IP address as one is written, such as 192.0.2.1 or [2001:db8::1]", name)
	}
	return netip.Addr{}, nil
}

// thisMachine reports whether a name is meant only for this machine.
func thisMachine(name string) bool {
	name = strings.TrimRight(strings.ToLower(name), ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain" ||
		name == "ip6-localhost" || name == "ip6-loopback"
}

// loopback reports whether a host, without a port, is surely this machine, so that
// nothing that is asked of it goes over a network.
func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// Loopback reports whether a host, with a port or without, is surely this machine.
func Loopback(host string) bool {
	target, err := url.Parse("https://" + host)
	return err == nil && loopback(target.Hostname())
}
