// Package cli is the floor of the command line, and puts it together: the commands of each
// subject, and here serve, version, completion, and those that are about several subjects.
// Commands read and write the streams that they are given, and nothing else of the process,
// so that tests run them as users do.
//
// A package below has the commands of a subject, and exports nothing else that another
// subject needs: check and access (judging), review, convert, demo, exception and breakglass
// (asking, answering, listing), identity, and module (the policy commands). What those that
// judge share is in judge, what all share in command; both know of no command. A further
// command goes to the package of its subject, and is added in newRoot; a further flag goes
// to its command, to judge or command where several have it, and to app/option where serve
// has it as well.
package cli
