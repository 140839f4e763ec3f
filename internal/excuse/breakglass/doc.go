// Package breakglass holds what a breakglass session is: who may ask for one and
// who may approve it, which steps lead from one state to the next, and whether it
// is active at a time. All of it follows from objects and a time that is passed in.
package breakglass
