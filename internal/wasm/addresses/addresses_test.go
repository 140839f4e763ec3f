package addresses

import (
	"net/netip"
	"strings"
	"testing"
)

// Of each address: whether it is inside, and whether it is public. What either guard
// of old refused is not public.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ inside, public bool }{
		"8.8.8.8": {false, true}, "2606:4700::1111": {false, true}, "::ffff:8.8.8.8": {false, true},
		"127.0.0.1": {true, false}, "127.8.8.8": {true, false}, "0.0.0.0": {true, false}, "0.1.2.3": {true, false},
		"169.254.169.254": {true, false}, "169.254.170.2": {true, false}, "224.0.0.1": {true, false}, "255.255.255.255": {true, false},
		"100.100.100.200": {true, false}, "168.63.129.16": {true, false}, "192.0.0.192": {true, false},
		"10.0.0.1": {false, false}, "172.16.0.1": {false, false}, "192.168.1.1": {false, false}, "100.64.0.1": {false, false},
		"198.18.0.1": {false, false}, "192.0.2.1": {false, false}, "203.0.113.1": {false, false}, "240.0.0.1": {false, false},
		"::": {true, false}, "::1": {true, false}, "fe80::1": {true, false}, "fe80::1%eth0": {true, false}, "ff02::1": {true, false},
		"fd00::1": {false, false}, "fd00:ec2::254": {true, false}, "fd20:ce::254": {true, false}, "fec0::1": {false, false},
		"::ffff:127.0.0.1": {true, false}, "::ffff:10.0.0.1": {false, false}, "::10.0.0.1": {false, false}, "::127.0.0.1": {true, false},
		"::ffff:0:127.0.0.1": {true, false}, "::ffff:0:8.8.8.8": {false, false},
		"64:ff9b::a00:1": {false, false}, "64:ff9b::7f00:1": {true, false}, "64:ff9b:1::a9fe:a9fe": {true, false},
		"2002:a00:1::": {false, false}, "2002:7f00:1::": {true, false}, "2001:db8::1": {false, false}, "2001:0:1::": {false, false}, "100::1": {false, false},
	} {
		a := netip.MustParseAddr(address)
		if got := Inside(a); got != want.inside {
			t.Errorf("inside %s: %v, want %v", address, got, want.inside)
		}
		if got := Public(a); got != want.public {
			t.Errorf("public %s: %v, want %v", address, got, want.public)
		}
		port := netip.AddrPortFrom(a, 443).String()
		if err := OnlyPublic("tcp", port, nil); (err == nil) != want.public {
			t.Errorf("only public, %s: %v", port, err)
		}
		if err := NotInside("tcp", port, nil); (err == nil) == want.inside {
			t.Errorf("not inside, %s: %v", port, err)
		}
	}
	for _, check := range []func(string) error{
		func(a string) error { return OnlyPublic("tcp", a, nil) }, func(a string) error { return NotInside("tcp", a, nil) },
	} {
		if err := check("name:443"); err == nil || !strings.Contains(err.Error(), "not an address to connect to") {
			t.Errorf("a name: %v", err)
		}
	}
	if Public(netip.Addr{}) || !Inside(netip.Addr{}) {
		t.Error("no address is taken for one")
	}
	hosts := HostsOf([]string{"a.test", "b.test:5000"}, []string{"[::1]:443"})
	for host, want := range map[string]bool{"a.test:443": true, "a.test:80": true, "b.test:5000": true, "b.test:443": false, "[::1]:443": true, "c.test:443": false} {
		if hosts.Has(host) != want {
			t.Errorf("listed %s: %v", host, !want)
		}
	}
}

// No public address is inside, whatever the bytes.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{0x20, 0x02, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if ok && Public(a) && (Inside(a) || !a.Unmap().IsGlobalUnicast() || a.Unmap().IsPrivate()) {
			t.Error(a)
		}
	})
}
