// Package convert is the command convert: it writes policies of other systems as ours. How
// one is read is in files/convert; here is what is told of it, and when nothing is written.
package convert
