// Package wiring is the command wiring, which writes the files by which an API server asks
// Sallyport.
package wiring
