package policy

// KindPolicyServer is the kind of servers that run policies of their own.
const KindPolicyServer = "PolicyServer"
