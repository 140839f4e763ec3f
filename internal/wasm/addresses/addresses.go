// Package addresses says where an address leads, for whoever connects to what
// somebody else has named: to the internet, to a network of somebody's own, or to
// the machine of the server and what its cloud keeps for it.
package addresses

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// insides are the networks beyond loopback and link-local ones behind which a
// server finds itself, its node, or the metadata and credentials of its cloud.
var insides = prefixes(
	"0.0.0.0/8", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "255.255.255.255/32",
	"fd00:ec2::/32", "fd20:ce::254/128",
)

// notPublic are the networks that nobody on the internet is in, beside those that
// net/netip tells of: what is in one of them is somebody's own.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	// These carry an IPv4 address, which could be any.
	"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32",
	"2001:db8::/32", "3fff::/20", "5f00::/16", "100::/64", "fec0::/10",
)

// embedding are the prefixes of IPv6 addresses that end in an IPv4 address, to
// which some networks lead.
var embedding = prefixes("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")

func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(list))
	for i, text := range list {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// Inside reports whether an address is this machine, the link it is on, or one at
// which clouds give away what belongs to the machine.
func Inside(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if !address.IsValid() || address.IsLoopback() || address.IsUnspecified() || address.IsLinkLocalUnicast() || address.IsMulticast() || in(insides, address) {
		return true
	}
	if !address.Is6() {
		return false
	}
	all := address.As16()
	if in(embedding, address) {
		return Inside(netip.AddrFrom4([4]byte(all[12:])))
	}
	// 6to4 has the IPv4 address in front.
	return all[0] == 0x20 && all[1] == 0x02 && Inside(netip.AddrFrom4([4]byte(all[2:6])))
}

// Public reports whether an address is one of the internet.
func Public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return address.IsValid() && !Inside(address) && address.IsGlobalUnicast() && !address.IsPrivate() && !in(notPublic, address)
}

func in(list []netip.Prefix, address netip.Addr) bool {
	for _, p := range list {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

// OnlyPublic is the Control of a dialer that connects to nothing but the internet.
// It is asked once names are resolved, so that no name and no redirect leads around
// it.
func OnlyPublic(_, address string, _ syscall.RawConn) error {
	to, err := read(address)
	switch {
	case err != nil:
		return err
	case Inside(to):
		return insideError(to)
	case !Public(to):
		return fmt.Errorf("it leads to %s, which is not a public address, and the host is not listed as one that may have another (--private-registry)", to)
	}
	return nil
}

// NotInside is OnlyPublic for what may be in a network of somebody's own.
func NotInside(_, address string, _ syscall.RawConn) error {
	to, err := read(address)
	if err == nil && Inside(to) {
		err = insideError(to)
	}
	return err
}

func read(address string) (netip.Addr, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an address to connect to", address)
	}
	return to.Addr(), nil
}

func insideError(to netip.Addr) error {
	return fmt.Errorf("it leads to %s, which is not a public address but the machine of the server itself, the link that it is on, or what its cloud keeps for it", to)
}

// Hosts are names of hosts, with or without a port.
type Hosts map[string]bool

// HostsOf makes Hosts of lists.
func HostsOf(lists ...[]string) Hosts {
	h := Hosts{}
	for _, list := range lists {
		for _, name := range list {
			h[name] = true
		}
	}
	return h
}

// Has reports whether a host with its port is listed, by itself or with the port.
func (h Hosts) Has(hostPort string) bool {
	if h[hostPort] {
		return true
	}
	name, _, err := net.SplitHostPort(hostPort)
	return err == nil && h[name]
}
