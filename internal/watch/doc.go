// Package watch is the floor of keeping up with an API server: how caches are fed and are
// known to be behind, whether all is known that must be, how often each client asks, and
// how a loop is told that something has changed.
//
// It imports text and calls. A further client gets its pace in pace; a further watch is
// fed by follow, which a test holds every cache to.
package watch
