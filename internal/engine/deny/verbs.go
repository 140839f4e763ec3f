package deny

// ProxyVerbs are those that the methods of HTTP lead to.
var ProxyVerbs = []string{"get", "create", "update", "patch", "delete"}
