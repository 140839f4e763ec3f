package request

// optionsOf are the kinds of the options of writes.
var optionsOf = map[Operation]string{Create: "CreateOptions", Update: "UpdateOptions", Delete: "DeleteOptions"}

// BareOptions are the options of an operation as a client sends them who sets none,
// for Write; nil for a CONNECT, which has none.
func BareOptions(o Operation) []byte {
	kind, ok := optionsOf[o]
	if !ok {
		return nil
	}
	return []byte(`{"kind":"` + kind + `","apiVersion":"meta.k8s.io/v1"}`)
}
