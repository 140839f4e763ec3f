package wiring

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// asked reports whether all conditions hold for a request, with its object.
func asked(t *testing.T, conditions []admissionregistrationv1.MatchCondition, request string) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := yaml.Unmarshal([]byte(request), &r); err != nil {
		t.Fatal(err)
	}
	object := r["object"]
	delete(r, "object")
	for _, c := range conditions {
		ast, issues := env.Compile(c.Expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		result, _, err := program.Eval(map[string]any{"request": r, "object": object})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if result.Value() != true {
			return false
		}
	}
	return true
}

// TestWhatIsLeftOut by webhooks that follow policies, and what is not that is close to
// it.
func TestWhatIsLeftOut(t *testing.T) {
	const (
		rbac    = "resource: {group: rbac.authorization.k8s.io, resource: "
		bob     = "userInfo: {username: bob, groups: [system:authenticated]}"
		node    = "userInfo: {username: 'system:node:n1', groups: [system:nodes, system:authenticated]}"
		tenant  = "userInfo: {username: 'system:serviceaccount:shop:default', groups: ['system:serviceaccounts', 'system:serviceaccounts:shop']}"
		addon   = "userInfo: {username: 'system:serviceaccount:kube-system:coredns', groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system']}"
		network = "userInfo: {username: 'system:serviceaccount:network:agent', groups: ['system:serviceaccounts', 'system:serviceaccounts:network']}"
		manager = "userInfo: {username: system:kube-controller-manager, groups: [system:authenticated]}"
	)
	conditions := LeftOut("guard", []string{"kube-system", "network"})
	for _, c := range []struct {
		name, request string
		want          bool
	}{
		{"a role of ours is given back", "{operation: UPDATE, " + rbac + "clusterroles}, " + bob + ", object: {metadata: {name: sallyport}}}", false},
		{"a role of ours is made", "{operation: CREATE, " + rbac + "clusterroles}, " + bob + ", object: {metadata: {name: sallyport-scan}}}", false},
		{"a role of ours is deleted", "{operation: DELETE, " + rbac + "clusterroles}, " + bob + ", object: null}", true},
		{"another role", "{operation: UPDATE, " + rbac + "clusterroles}, " + bob + ", object: {metadata: {name: view}}}", true},
		{"a role of a namespace with our name", "{operation: CREATE, namespace: shop, " + rbac + "roles}, " + bob + ", object: {metadata: {name: sallyport}}}", true},
		{"our binding", "{operation: CREATE, " + rbac + "clusterrolebindings}, " + bob + ", object: {metadata: {name: sallyport}, roleRef: {name: sallyport}, subjects: [{kind: ServiceAccount, name: sallyport, namespace: guard}]}}", false},
		{"our binding, for somebody else", "{operation: CREATE, " + rbac + "clusterrolebindings}, " + bob + ", object: {metadata: {name: sallyport}, roleRef: {name: sallyport}, subjects: [{kind: ServiceAccount, name: sallyport, namespace: guard}, {kind: User, name: eve}]}}", true},
		{"our binding, for an account of another namespace", "{operation: CREATE, " + rbac + "clusterrolebindings}, " + bob + ", object: {metadata: {name: sallyport}, roleRef: {name: sallyport}, subjects: [{kind: ServiceAccount, name: sallyport, namespace: shop}]}}", true},
		{"our binding, to another role", "{operation: CREATE, " + rbac + "clusterrolebindings}, " + bob + ", object: {metadata: {name: sallyport}, roleRef: {name: cluster-admin}, subjects: [{kind: ServiceAccount, name: sallyport, namespace: guard}]}}", true},
		{"another binding to our role", "{operation: CREATE, " + rbac + "clusterrolebindings}, " + bob + ", object: {metadata: {name: mine}, roleRef: {name: sallyport}, subjects: [{kind: ServiceAccount, name: sallyport, namespace: guard}]}}", true},
		{"a definition of ours", "{operation: UPDATE, resource: {group: apiextensions.k8s.io, resource: customresourcedefinitions}, " + bob + ", object: {metadata: {name: x}, spec: {group: sallyport.io}}}", false},
		{"another definition", "{operation: UPDATE, resource: {group: apiextensions.k8s.io, resource: customresourcedefinitions}, " + bob + ", object: {metadata: {name: x}, spec: {group: example.com}}}", true},
		{"our namespace", "{operation: CREATE, resource: {group: '', resource: namespaces}, " + bob + ", object: {metadata: {name: guard}}}", false},
		{"another namespace", "{operation: CREATE, resource: {group: '', resource: namespaces}, " + bob + ", object: {metadata: {name: sallyport-system}}}", true},
		{"what we write", "{operation: UPDATE, namespace: shop, resource: {group: example.com, resource: widgets}, userInfo: {username: 'system:serviceaccount:guard:sallyport'}, object: {metadata: {name: w}}}", false},
		{"what another of our namespace writes", "{operation: UPDATE, namespace: shop, resource: {group: example.com, resource: widgets}, userInfo: {username: 'system:serviceaccount:guard:other'}, object: {metadata: {name: w}}}", true},
		{"a node's lease", "{operation: UPDATE, namespace: kube-node-lease, resource: {group: coordination.k8s.io, resource: leases}, " + node + ", object: {metadata: {name: n1}}}", false},
		{"somebody's lease", "{operation: UPDATE, namespace: shop, resource: {group: coordination.k8s.io, resource: leases}, " + tenant + ", object: {metadata: {name: mine}}}", true},
		{"a node's lease, by somebody", "{operation: UPDATE, namespace: kube-node-lease, resource: {group: coordination.k8s.io, resource: leases}, " + bob + ", object: {metadata: {name: n1}}}", true},
		{"a node", "{operation: UPDATE, resource: {group: '', resource: nodes}, subResource: status, " + node + ", object: {metadata: {name: n1}}}", false},
		{"a node, by somebody", "{operation: UPDATE, resource: {group: '', resource: nodes}, " + bob + ", object: {metadata: {name: n1}}}", true},
		{"a pod that a node makes", "{operation: CREATE, namespace: shop, resource: {group: '', resource: pods}, " + node + ", object: {metadata: {name: p}}}", true},
		{"somebody who is in the group of nodes only", "{operation: CREATE, namespace: shop, resource: {group: '', resource: secrets}, userInfo: {username: eve, groups: [system:nodes]}, object: {metadata: {name: p}}}", true},
		{"the API server", "{operation: CREATE, " + rbac + "clusterroles}, userInfo: {username: 'system:apiserver', groups: [system:masters]}, object: {metadata: {name: edit}}}", false},
		{"the control plane in kube-system", "{operation: CREATE, namespace: kube-system, resource: {group: discovery.k8s.io, resource: endpointslices}, " + addon + ", object: {metadata: {name: x}}}", false},
		{"the control plane elsewhere", "{operation: CREATE, namespace: shop, resource: {group: '', resource: persistentvolumeclaims}, " + manager + ", object: {metadata: {name: x}}}", true},
		{"somebody in kube-system", "{operation: CREATE, namespace: kube-system, resource: {group: '', resource: secrets}, " + bob + ", object: {metadata: {name: x}}}", true},
		{"a pod that the control plane makes", "{operation: CREATE, namespace: kube-system, resource: {group: '', resource: pods}, " + addon + ", object: {metadata: {name: x}}}", true},
		{"a template that the control plane makes", "{operation: CREATE, namespace: kube-system, resource: {group: apps, resource: replicasets}, " + addon + ", object: {metadata: {name: x}}}", true},
		{"a volume that the control plane makes", "{operation: CREATE, resource: {group: '', resource: persistentvolumes}, " + addon + ", object: {metadata: {name: x}}}", true},
		{"a role that the control plane aggregates", "{operation: UPDATE, " + rbac + "clusterroles}, userInfo: {username: 'system:serviceaccount:kube-system:clusterrole-aggregation-controller', groups: ['system:serviceaccounts:kube-system']}, object: {metadata: {name: edit}}}", false},
		{"a role that an addon writes", "{operation: UPDATE, " + rbac + "clusterroles}, " + addon + ", object: {metadata: {name: edit}}}", true},
		{"a certificate for a node", "{operation: CREATE, resource: {group: certificates.k8s.io, resource: certificatesigningrequests}, userInfo: {username: 'system:bootstrap:abc', groups: [system:bootstrappers]}, object: {metadata: {name: x}, spec: {signerName: kubernetes.io/kube-apiserver-client-kubelet}}}", false},
		{"a certificate for another", "{operation: CREATE, resource: {group: certificates.k8s.io, resource: certificatesigningrequests}, userInfo: {username: 'system:bootstrap:abc', groups: [system:bootstrappers]}, object: {metadata: {name: x}, spec: {signerName: kubernetes.io/kube-apiserver-client}}}", true},
		{"a network plugin in its namespace", "{operation: UPDATE, namespace: network, resource: {group: coordination.k8s.io, resource: leases}, " + network + ", object: {metadata: {name: x}}}", false},
		{"a network plugin elsewhere", "{operation: UPDATE, namespace: shop, resource: {group: '', resource: secrets}, " + network + ", object: {metadata: {name: x}}}", true},
		{"a way in, by a node", "{operation: CONNECT, namespace: shop, resource: {group: '', resource: pods}, subResource: exec, " + node + ", object: {}}", true},
		{"a way in, by an addon", "{operation: CONNECT, namespace: kube-system, resource: {group: '', resource: pods}, subResource: exec, " + addon + ", object: {}}", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := asked(t, conditions, c.request); got != c.want {
				t.Errorf("asked about: %v, want %v", got, c.want)
			}
		})
	}
}

// TestRoles are those of the files, which the authorizer leaves out too.
func TestRoles(t *testing.T) {
	if all := string(authorizationConfigAll); !strings.Contains(all, "["+quoted(Roles)+"]") {
		t.Errorf("authorization-config-all.yaml leaves out others than %s", quoted(Roles))
	}
	var files []string
	for _, dir := range []string{".", "features", "member"} {
		found, err := filepath.Glob(filepath.Join("../rbac", dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	names := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			if object.Kind == "ClusterRole" || object.Kind == "ClusterRoleBinding" {
				names[object.Metadata.Name] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, Roles) {
		t.Errorf("%v, want %v", got, Roles)
	}
}

// TestLeavesPodsOut by name and expression.
func TestLeavesPodsOut(t *testing.T) {
	shipped, err := PodsLeftOut()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shipped {
		for name, c := range map[string]struct {
			expression string
			want       bool
			namespaces string
		}{
			"as shipped":              {s.Expression, true, "kube-system"},
			"with further namespaces": {strings.Replace(s.Expression, "['kube-system']", "['kube-system',\n \"network\"]", 1), true, "kube-system network"},
			"narrower":                {s.Expression + " && true", false, ""},
			"wider":                   {"true || " + s.Expression, false, ""},
			"in every namespace":      {strings.Replace(s.Expression, "request.namespace in ['kube-system']", "request.namespace in [request.namespace]", 1), false, ""},
			"in a list that is code":  {strings.Replace(s.Expression, "['kube-system']", "['a'] || request.namespace in ['kube-system']", 1), false, ""},
		} {
			t.Run(s.Name+" "+name, func(t *testing.T) {
				namespaces, is, err := LeavesPodsOut(admissionregistrationv1.MatchCondition{Name: s.Name, Expression: c.expression})
				if err != nil || is != c.want || strings.Join(namespaces, " ") != c.namespaces {
					t.Errorf("%v %v %v", namespaces, is, err)
				}
			})
		}
	}
}
