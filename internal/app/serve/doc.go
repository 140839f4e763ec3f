// Package serve is the program that an API server asks: Flags are what it is told, Complete
// checks them, and Run puts together what answers, what feeds it and what writes to the
// cluster, and ends them in the right order.
//
// It imports no package of the command line. What a part of the program does is in a
// package of its floor; here is a file a part, with its flags and how it is made. A further
// flag goes to the part that it is about, and is checked there.
package serve
