// Package judge is what the commands share that judge by policies of files: the policies and
// the cluster that -p leads to (PolicySet), the objects as the API server would hand them on
// (Completer), the results taken together (Collector), and the flags for who asks, how
// objects are completed and how a judgement is written (User, Completion, Output).
//
// It knows of no command. A further flag of all of them goes here.
package judge
