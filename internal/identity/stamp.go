package identity

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// Stamp is the mark of a template that was judged: it says that whoever wrote the
// template was found to hold these claims, in this namespace. It is empty for no
// claims, and where one of them can be granted to nobody.
//
// It says nothing of where the claims stand, nor of the kind: the object that a
// controller makes from a template carries the same mark as its owner, which
// controllers that copy annotations rely on. It does not cover the rest of the
// template either, which the API server may write otherwise from one version to
// the next: that the template is the one that was judged is for those to see to
// who let nobody change it without being judged again.
func Stamp(key []byte, namespace string, claims []Claim) string {
	if len(claims) == 0 || slices.ContainsFunc(claims, func(c Claim) bool { return c.Fault != "" }) {
		return ""
	}
	ordered := slices.Clone(claims)
	slices.SortFunc(ordered, func(a, b Claim) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	var b []byte
	part := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	part("sallyport template v1")
	part(namespace)
	for i := range ordered {
		part(ordered[i].Key)
		part(ordered[i].Value)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return "v1." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
