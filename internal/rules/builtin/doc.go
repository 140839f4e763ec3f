// Package builtin is which groups, resources, subresources and verbs Kubernetes itself has,
// and what is wrong with the names that somebody wrote into a rule: misspelt, singular, or
// of another group.
package builtin
