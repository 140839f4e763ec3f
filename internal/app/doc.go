// Package app is the floor of the running program: the server with its TLS, limits and
// health (server). It is put together by cli.
//
// It imports what is below it.
package app
