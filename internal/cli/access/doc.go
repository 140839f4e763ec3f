// Package access is the command access: it judges one way into a pod. A Target is what is
// entered, and how; a further way in is known by the engine, and here by how it is asked for.
package access
