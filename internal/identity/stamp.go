package identity

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// Signature is the mark of a template that was judged: it says that whoever wrote the
// template was found to hold these claims, in this namespace. It is empty for no
// claims, and where one of them can be granted to nobody.
//
// It says nothing of where the claims stand, nor of the kind: the object that a
// controller makes from a template carries the same mark as its owner, which
// controllers that copy annotations rely on. It does not cover the rest of the
// template either, which the API server may write otherwise from one version to
// the next: that the template is the one that was judged is for those to see to
// who let nobody change it without being judged again.
func Signature(key []byte, namespace string, claims []Claim) string {
	if len(claims) == 0 || slices.ContainsFunc(claims, func(c Claim) bool { return c.Fault != "" }) {
		return ""
	}
	ordered := slices.Clone(claims)
	slices.SortFunc(ordered, func(a, b Claim) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	parts := []string{"sallyport template v1", namespace}
	for i := range ordered {
		parts = append(parts, ordered[i].Key, ordered[i].Value)
	}
	return claimsPrefix + authenticated(key, parts)
}

// ExemptionSignature is the part of a mark that says that whoever wrote the template
// was found to have the right to exempt its pods from a DenyPolicy, by labels, in
// this namespace. Each policy has its own, so that a policy that comes later takes
// no mark away that was there.
func ExemptionSignature(key []byte, namespace, policy string, labels map[string]string) string {
	parts := []string{"sallyport exemption v1", namespace, policy}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name, labels[name])
	}
	return exemptionPrefix + authenticated(key, parts)
}

const (
	claimsPrefix    = "v1."
	exemptionPrefix = "x1."
	// separator stands between the stamps of a mark.
	separator = ","
)

// authenticated is the keyed hash of parts, none of which can be taken for another.
func authenticated(key []byte, parts []string) string {
	var b []byte
	for _, s := range parts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Mark joins stamps, in their order; empty ones are left out.
func Mark(stamps ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(stamps), func(s string) bool { return s == "" }), separator)
}

// Signatures are the stamps of a mark; of an empty one, none.
func Signatures(mark string) []string {
	if mark == "" {
		return nil
	}
	return strings.Split(mark, separator)
}

// Marked reports whether a stamp is among those of a mark. An empty one never is.
func Marked(mark, stamp string) bool {
	return stamp != "" && slices.Contains(Signatures(mark), stamp)
}

// OfClaims reports whether some stamp of a mark is about claims, whichever.
func OfClaims(mark string) bool {
	return slices.ContainsFunc(Signatures(mark), func(s string) bool { return !strings.HasPrefix(s, exemptionPrefix) })
}
