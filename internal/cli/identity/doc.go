// Package identity has the commands about identities that pods carry: which there are and who
// reaches them (identities), who may use one (who-can), and which templates nobody was judged
// for (identities bootstrap). A further question about identities goes here.
package identity
