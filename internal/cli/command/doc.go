// Package command is what commands of every subject share: what they read and write
// (Streams), how they end (Exit), how their arguments are counted, the flags of those that
// work as the user of a kubeconfig (AsUser), and how they ask and word what went wrong.
//
// It knows of no command. What only commands that judge share belongs to judge.
package command
