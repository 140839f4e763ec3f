package policy

// proxyVerbs are those that the methods of HTTP lead to.
var proxyVerbs = []string{"get", "create", "update", "patch", "delete"}
