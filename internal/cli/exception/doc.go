// Package exception has the commands about exceptions: asking for one, answering, and listing
// who is excused. They work as the user of a kubeconfig, and what may be asked and answered is
// judged by the server. A further command about exceptions goes here.
package exception
