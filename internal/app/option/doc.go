// Package option has the flags that serve and other commands take alike, each group of them
// as a type: it adds them to a command, and makes what they come to. Live names a cluster,
// Modules says how modules are fetched and run, Images how registries are asked,
// Exceptions what exceptions may do, and Controllers who makes objects from templates.
//
// It knows of no command. A flag that only serve has belongs to serve, and one that only
// commands have to the package of the command.
package option
