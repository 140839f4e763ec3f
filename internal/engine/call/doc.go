// Package call is one request while it is decided, with all that is read for it, once:
// the pods that it gets into, the labels of its namespace, the options that it carries,
// the controller that makes its object and the owner that this comes from, what sessions
// give its user, and what excuses a result that is not a pass.
//
// It knows no kind of policy. What a further kind reads of a request or of the cluster
// goes here, so that it is read once however many policies ask.
package call
