// Package stored is what the parts of a set say of the objects that they are compiled
// from: the names of the kinds and of the rules in results, where an object was read from,
// what is wrong with it, and what is answered in place of one that cannot work (Broken).
//
// A further kind of ours has its name here.
package stored
