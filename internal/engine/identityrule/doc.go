// Package identityrule judges whether whoever gets into the runtime of a pod may act as the
// identities that the pod carries: at its creation and its changes, through what makes it,
// at the ways into it, and at the tokens and certificates that stand for it. Templates that
// were judged carry a mark, by which controllers make pods of them.
//
// Which identities a pod carries is in internal/identity, and a further source goes there; a
// further way to come by one goes here.
package identityrule
