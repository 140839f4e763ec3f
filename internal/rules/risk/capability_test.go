package risk

import (
	"slices"
	"strings"
	"testing"
)

func TestParseCapability(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"as Kubernetes writes it", "SYS_ADMIN", "SYS_ADMIN"},
		{"lower case", "sys_admin", "SYS_ADMIN"},
		{"with the prefix", "CAP_SYS_ADMIN", "SYS_ADMIN"},
		{"prefix in lower case", "cap_Sys_Admin", "SYS_ADMIN"},
		{"all of them", "all", "ALL"},
		{"all of them with the prefix", "CAP_ALL", "ALL"},
		{"a long s, which runtimes take for an S", "ſYS_ADMIN", "SYS_ADMIN"},
		{"a dotless i, which runtimes take for an I", "SYS_ADMıN", "SYS_ADMIN"},
		{"a Kelvin sign, which is a K", "MKNOD", "MKNOD"},
		{"a capital I with a dot", "SYS_ADMİN", "SYS_ADMIN"},
		{"only prefix", "CAP_", ""},
		{"prefix twice", "CAP_CAP_SYS_ADMIN", ""},
		{"empty", "", ""},
		{"space before", " SYS_ADMIN", ""},
		{"no capability", "SYS_ADMIM", ""},
		{"very long", strings.Repeat("SYS_ADMIN", 1000), ""},
		{"not UTF-8", "SYS_\xffADMIN", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if c := parseCapability(tc.in); c != otherCapability {
				got = capabilityNames[c]
			}
			if got != tc.want {
				t.Errorf("parseCapability(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestCapabilityNamesAreTheKernels(t *testing.T) {
	if n := int(numCapabilities) - 1; n != 41 {
		t.Errorf("%d capabilities are listed, and the kernel has 41", n)
	}
	if !slices.IsSorted(capabilityNames[:]) {
		t.Errorf("the capabilities are not sorted by name")
	}
	if otherCapability >= 64 {
		t.Errorf("a set of 64 bits does not hold %d capabilities", otherCapability)
	}
}
