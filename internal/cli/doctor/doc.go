// Package doctor has the command doctor: an installation looked at, a cluster looked at
// before one, and the way out where Sallyport keeps a cluster from working. A further
// check goes to controller/doctor; a further form of the report here.
package doctor
