package selfsigned

import (
	"crypto/x509"
	"net"
	"strings"
)

// constrain has a CA vouch only for these names and addresses.
func constrain(ca *x509.Certificate, names []string) {
	ca.PermittedDNSDomainsCritical = true
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			ca.PermittedIPRanges = append(ca.PermittedIPRanges, single(ip))
		} else {
			ca.PermittedDNSDomains = append(ca.PermittedDNSDomains, strings.TrimPrefix(name, "*."))
		}
	}
	if len(ca.PermittedDNSDomains) == 0 {
		ca.ExcludedDNSDomains = []string{""}
	}
	if len(ca.PermittedIPRanges) == 0 {
		ca.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	}
}

// single is the range of one address.
func single(ip net.IP) *net.IPNet {
	if four := ip.To4(); four != nil {
		ip = four
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

// Permitted are those of these names and addresses that a CA may vouch for.
func Permitted(ca *x509.Certificate, names []string) []string {
	var permitted []string
	for _, name := range names {
		if permits(ca, name) {
			permitted = append(permitted, name)
		}
	}
	return permitted
}

func permits(ca *x509.Certificate, name string) bool {
	if ip := net.ParseIP(name); ip != nil {
		in := func(ranges []*net.IPNet) bool {
			for _, r := range ranges {
				if r.Contains(ip) {
					return true
				}
			}
			return false
		}
		return !in(ca.ExcludedIPRanges) && (len(ca.PermittedIPRanges) == 0 || in(ca.PermittedIPRanges))
	}
	in := func(domains []string) bool {
		for _, domain := range domains {
			domain = strings.ToLower(strings.TrimPrefix(domain, "."))
			lower := strings.ToLower(name)
			if domain == "" || lower == domain || strings.HasSuffix(lower, "."+domain) {
				return true
			}
		}
		return false
	}
	return !in(ca.ExcludedDNSDomains) && (len(ca.PermittedDNSDomains) == 0 || in(ca.PermittedDNSDomains))
}
