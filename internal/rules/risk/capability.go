package risk

import (
	"math/bits"
	"strings"
	"unicode"
)

// capability is a Linux capability, by its place in capabilityNames.
type capability uint8

// capabilityNames are those that the kernel knows, and ALL, in the order of the
// alphabet.
var capabilityNames = [...]string{
	"ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF",
	"CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER",
	"FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE",
	"MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE",
	"NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP",
	"SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE",
	"SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE",
	"SYS_TIME", "SYS_TTY_CONFIG", "WAKE_ALARM",
}

const numCapabilities = capability(len(capabilityNames))

// otherCapability is one that is not in the table.
const otherCapability = numCapabilities

var (
	capabilityByName = make(map[string]capability, numCapabilities)
	// capabilityFactors are the names that a policy and its answer use.
	capabilityFactors [numCapabilities]string

	capAll, capSysAdmin capability
)

const capabilityPrefix = "capability:"

func init() {
	for i, name := range capabilityNames {
		capabilityByName[name] = capability(i)
		capabilityFactors[i] = capabilityPrefix + name
	}
	capAll, capSysAdmin = capabilityByName["ALL"], capabilityByName["SYS_ADMIN"]
}

// parseCapability takes a name in any case, with or without CAP_, and returns
// otherCapability for one that it does not know.
func parseCapability(name string) capability {
	var buf [len("CAP_CHECKPOINT_RESTORE") + 8]byte
	if len(name) > 4*len(buf) {
		return otherCapability
	}
	folded := buf[:0]
	for i := range len(name) {
		b := name[i]
		if b >= 0x80 {
			folded = []byte(strings.Map(foldRune, name))
			break
		}
		if b >= 'a' && b <= 'z' {
			b -= 'a' - 'A'
		}
		folded = append(folded, b)
	}
	if len(folded) > 4 && string(folded[:4]) == "CAP_" {
		folded = folded[4:]
	}
	if c, ok := capabilityByName[string(folded)]; ok {
		return c
	}
	return otherCapability
}

// foldRune brings a letter to upper case as container runtimes do, which use the
// whole of Unicode: to them a long s (ſ) or a dotless i (ı) in a capability's
// name is an S or an I.
func foldRune(r rune) rune { return unicode.ToUpper(unicode.ToLower(r)) }

// capabilitySet is a set of known capabilities.
type capabilitySet uint64

func (s *capabilitySet) add(c capability) {
	if c < numCapabilities {
		*s |= 1 << c
	}
}

func (s capabilitySet) has(c capability) bool { return s&(1<<c) != 0 }

func (s capabilitySet) len() int { return bits.OnesCount64(uint64(s)) }
