package request

import "k8s.io/apimachinery/pkg/runtime/schema"

// Controllers says which accounts of a cluster make objects from the templates
// of others, as controllers do. A nil Controllers knows the built-in ones.
type Controllers struct {
	// Accounts are user names by the kind of the owner, such as Rollout.argoproj.io.
	// What is given for a built-in kind stands in place of its built-in account.
	Accounts map[schema.GroupKind][]string
	// Shared are user names as which the controllers of every kind may work.
	Shared []string
	// Key is the secret that goes into the marks of templates that were judged. With
	// none, a mark is worth what the webhooks are that keep others from writing it.
	Key []byte
}

// builtinControllers are the accounts that kube-controller-manager gives to the
// controllers of the kinds, unless it is told to work as one account.
var builtinControllers = map[schema.GroupKind]string{
	{Kind: "ReplicationController"}:      "system:serviceaccount:kube-system:replication-controller",
	{Group: "apps", Kind: "Deployment"}:  "system:serviceaccount:kube-system:deployment-controller",
	{Group: "apps", Kind: "ReplicaSet"}:  "system:serviceaccount:kube-system:replicaset-controller",
	{Group: "apps", Kind: "StatefulSet"}: "system:serviceaccount:kube-system:statefulset-controller",
	{Group: "apps", Kind: "DaemonSet"}:   "system:serviceaccount:kube-system:daemon-set-controller",
	{Group: "batch", Kind: "Job"}:        "system:serviceaccount:kube-system:job-controller",
	{Group: "batch", Kind: "CronJob"}:    "system:serviceaccount:kube-system:cronjob-controller",
}

// Of are the user names of those who make what an owner of this kind owns.
func (c *Controllers) Of(owner schema.GroupKind) []string {
	var accounts []string
	if c != nil {
		accounts = append(accounts, c.Accounts[owner]...)
	}
	if builtin := builtinControllers[owner]; builtin != "" && len(accounts) == 0 {
		accounts = append(accounts, builtin)
	}
	if c != nil {
		accounts = append(accounts, c.Shared...)
	}
	return accounts
}

// Secret is the key of the marks.
func (c *Controllers) Secret() []byte {
	if c == nil {
		return nil
	}
	return c.Key
}
