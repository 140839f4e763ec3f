// Package app is the floor of the running program: how it is put together and run (serve),
// the server with its TLS, limits and health (server), the flags that it shares with
// commands (option), what is wrong with how it was called (usage), and which program it is
// (version).
//
// It imports what is below it, and nothing of the command line. A further part of the
// program that an API server asks goes to serve.
package app
