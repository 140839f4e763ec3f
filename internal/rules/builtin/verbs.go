package builtin

import "github.com/sallyport-io/sallyport/internal/review/request"

// VerbConnect is the operation of the admission door, in place of a verb: it
// stands for every verb that leads to it.
const VerbConnect = "connect"

func VerbsOf(operation request.Operation) []string {
	switch operation {
	case request.Create:
		return []string{"create"}
	case request.Update:
		return []string{"update", "patch"}
	case request.Delete:
		return []string{"delete", "deletecollection"}
	case request.Connect:
		return []string{"create", "get", "update", "patch", "delete", VerbConnect}
	default:
		return nil
	}
}
