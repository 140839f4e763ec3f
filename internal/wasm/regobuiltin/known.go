package regobuiltin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// offered are the functions that there are. Each gives the same answer for the
// same arguments within an evaluation, takes time by the size of what it is
// given, and knows of nothing else. Functions that today's compiler has in the
// module are among them for the sake of modules of older ones.
var offered = strings.Fields(`
	sprintf trace internal.print internal.template_string
	strings.any_prefix_match strings.any_suffix_match strings.count strings.split_n strings.replace_n strings.reverse
	indexof_n concat replace
	regex.is_valid regex.match re_match regex.split regex.find_n regex.find_all_string_submatch_n regex.replace regex.template_match
	glob.match glob.quote_meta
	json.is_valid json.marshal json.marshal_with_options json.unmarshal json.patch json.filter json.remove
	yaml.is_valid yaml.marshal yaml.unmarshal
	base64.encode base64.decode base64.is_valid base64url.encode base64url.encode_no_pad base64url.decode
	hex.encode hex.decode
	urlquery.encode urlquery.decode urlquery.encode_object urlquery.decode_object uri.parse uri.is_valid
	array.concat array.slice array.reverse array.flatten
	object.get object.keys object.remove object.filter object.union object.union_n object.subset
	bits.or bits.and bits.xor bits.negate bits.lsh bits.rsh
	numbers.range numbers.range_step to_number format_int
	graph.reachable
	units.parse units.parse_bytes
	semver.is_valid semver.compare
	uuid.parse
	time.now_ns time.parse_ns time.parse_rfc3339_ns time.parse_duration_ns time.format time.date time.clock
	time.weekday time.add_date time.diff
	crypto.md5 crypto.sha1 crypto.sha256 crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512
	crypto.hmac.equal crypto.x509.parse_certificates crypto.x509.parse_certificate_request
	crypto.x509.parse_and_verify_certificates crypto.x509.parse_and_verify_certificates_with_options
	crypto.x509.parse_keypair crypto.x509.parse_rsa_private_key crypto.parse_private_keys
	net.cidr_contains net.cidr_contains_matches net.cidr_intersects net.cidr_overlap net.cidr_merge
	net.cidr_expand net.cidr_is_valid
`)

// closed says why functions that somebody may look for are not offered.
var closed = map[string]string{
	"http.send":             "it reaches the network",
	"net.lookup_ip_addr":    "it reaches the network",
	"opa.runtime":           "it tells of the host",
	"rand.intn":             "it answers by chance",
	"uuid.rfc4122":          "it answers by chance",
	"graph.reachable_paths": "what it takes grows without bound",
	"regex.globs_match":     "what it takes grows without bound",
}

var known = func() map[string]bool {
	set := make(map[string]bool, len(offered))
	for _, name := range offered {
		set[name] = true
	}
	return set
}()

// Known says why a function cannot be called here, or nothing.
func Known(name string) error {
	switch {
	case known[name]:
		return nil
	case closed[name] != "":
		return fmt.Errorf("the builtin function %s is closed to policies: %s", name, closed[name])
	case len(name) > 100:
		return errors.New("a builtin function has a name of more than 100 bytes")
	case ast.BuiltinMap[name] == nil:
		return fmt.Errorf("the builtin function %q is none of Rego", name)
	}
	return fmt.Errorf("the builtin function %s is not offered to policies", name)
}

// Names are the functions that are offered, sorted.
func Names() []string { return slices.Sorted(slices.Values(offered)) }
