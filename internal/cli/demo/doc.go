// Package demo is the command demo: scenes at both doors, judged by the examples that are
// built in. A further scene is a line of stage.go.
package demo
