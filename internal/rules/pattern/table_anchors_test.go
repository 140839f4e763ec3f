package pattern_test

import "testing"

func TestConditionInLists(t *testing.T) {
	run(t, []table{
		{"it guards its item", `{spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}`, []check{
			{"met and right", `{spec: {containers: [{image: "a:latest", imagePullPolicy: Always}]}}`, pass},
			{"met and wrong", `{spec: {containers: [{image: "a:latest", imagePullPolicy: Never}]}}`,
				fail(at("spec.containers[0].imagePullPolicy", "Never"))},
			{"met and missing", `{spec: {containers: [{image: "a:latest"}]}}`, fail(missing("spec.containers[0].imagePullPolicy"))},
			{"unmet in one, right in another", `{spec: {containers: [{image: "a:1"}, {image: "b:latest", imagePullPolicy: Always}]}}`, pass},
			{"right in one, unmet in another", `{spec: {containers: [{image: "b:latest", imagePullPolicy: Always}, {image: "a:1"}]}}`, pass},
			{"unmet in one, wrong in another", `{spec: {containers: [{image: "a:1"}, {image: "b:latest"}]}}`,
				fail(missing("spec.containers[1].imagePullPolicy"))},
			{"wrong in one, unmet in another", `{spec: {containers: [{image: "b:latest"}, {image: "a:1"}]}}`,
				fail(missing("spec.containers[0].imagePullPolicy"))},
			{"unmet in all", `{spec: {containers: [{image: "a:1"}, {image: "b:2", imagePullPolicy: Never}]}}`, skip("image")},
			{"its key is missing in all", `{spec: {containers: [{name: a}, {name: b}]}}`, skip("image")},
			{"its key is missing in one", `{spec: {containers: [{name: a}, {image: "b:latest"}]}}`,
				fail(missing("spec.containers[1].imagePullPolicy"))},
			{"no item", `{spec: {containers: []}}`, pass},
			{"no list", `{spec: {}}`, fail(missing("spec.containers"))},
			{"an item that is not a map", `{spec: {containers: [text]}}`, fail(at("spec.containers[0]", "text"))},
		}},
		{"two in one item", `{c: [{(name): "a*", (kind): "b*", x: "1"}]}`, []check{
			{"both met and right", `{c: [{name: a, kind: b, x: 1}]}`, pass},
			{"both met and wrong", `{c: [{name: a, kind: b, x: 2}]}`, fail(at("c[0].x", int64(2)))},
			{"only the first met", `{c: [{name: a, kind: c, x: 2}]}`, skip("kind")},
			{"only the second met", `{c: [{name: b, kind: b, x: 2}]}`, skip("name")},
		}},
		{"in a map below the item", `{c: [{securityContext: {(runAsUser): 0, privileged: false}}]}`, []check{
			{"met and right", `{c: [{securityContext: {runAsUser: 0, privileged: false}}]}`, pass},
			{"unmet in one item does not hide another", `{c: [{securityContext: {runAsUser: 1, privileged: true}}, {securityContext: {runAsUser: 0, privileged: true}}]}`,
				fail(at("c[1].securityContext.privileged", true))},
			{"unmet in a later item does not hide an earlier", `{c: [{securityContext: {runAsUser: 0, privileged: true}}, {securityContext: {runAsUser: 1}}]}`,
				fail(at("c[0].securityContext.privileged", true))},
			{"unmet in all", `{c: [{securityContext: {runAsUser: 1, privileged: true}}]}`, skip("runAsUser")},
		}},
		{"in a list of a list's maps", `{c: [{ports: [{(name): http, port: 80}]}]}`, []check{
			{"met and right", `{c: [{ports: [{name: http, port: 80}, {name: x, port: 1}]}]}`, pass},
			{"unmet in the ports of one, wrong in another's", `{c: [{ports: [{name: x, port: 1}]}, {ports: [{name: http, port: 8080}]}]}`,
				fail(at("c[1].ports[0].port", int64(8080)))},
			{"wrong in the ports of one, unmet in another's", `{c: [{ports: [{name: http, port: 8080}]}, {ports: [{name: x, port: 1}]}]}`,
				fail(at("c[0].ports[0].port", int64(8080)))},
			{"unmet in all", `{c: [{ports: [{name: x, port: 1}]}, {ports: [{name: u, port: 1}]}]}`, skip("name")},
		}},
		{"one list is skipped beside another", `{c: [{(name): a, x: "1"}], i: [{image: "corp/*"}]}`, []check{
			{"the other is wrong", `{c: [{name: b}], i: [{image: x}]}`, fail(at("i[0].image", "x"))},
			{"the other is right", `{c: [{name: b}], i: [{image: corp/x}]}`, skip("name")},
		}},
		{"an item that is skipped by itself is not why a rule is", `{c: [{(a): x, b: x}], d: {(e): x, f: x}}`, []check{
			{"unmet in an item and in a map", `{c: [{a: z}, {a: x, b: x}], d: {e: z}}`, skip("d.e")},
			{"unmet only in an item", `{c: [{a: z}, {a: x, b: x}], d: {e: x, f: x}}`, pass},
		}},
		{"the key of the condition asked for as well", `{c: [{(image): "corp/*", image: "!*:latest"}]}`, []check{
			{"right", `{c: [{image: "corp/a:1"}, {image: "a:latest"}]}`, pass},
			{"wrong", `{c: [{image: "corp/a:1"}, {image: "corp/a:latest"}]}`, fail(at("c[1].image", "corp/a:latest"))},
		}},
	})
}

func TestConditionInMaps(t *testing.T) {
	run(t, []table{
		{"it guards its map", `{spec: {(hostNetwork): true, dnsPolicy: ClusterFirstWithHostNet, X(hostPID): "null", ^(c): [{a: x}], d: [{image: "corp/*"}]}}`, []check{
			{"met and right", `{spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, c: [{a: x}], d: []}}`, pass},
			{"met and wrong", `{spec: {hostNetwork: true, dnsPolicy: Default, d: []}}`, fail(at("spec.dnsPolicy", "Default"))},
			{"met by the string", `{spec: {hostNetwork: "true", dnsPolicy: Default, d: []}}`, fail(at("spec.dnsPolicy", "Default"))},
			{"unmet", `{spec: {hostNetwork: false, dnsPolicy: ClusterFirstWithHostNet, d: []}}`, skip("spec.hostNetwork")},
			{"its key is missing", `{spec: {dnsPolicy: ClusterFirstWithHostNet, d: []}}`, skip("spec.hostNetwork")},
			{"its key is null", `{spec: {hostNetwork: null, d: []}}`, skip("spec.hostNetwork")},
			{"unmet beside a failure", `{spec: {hostNetwork: false, dnsPolicy: Default, d: []}}`, skip("spec.hostNetwork")},
			{"unmet beside a missing key", `{spec: {hostNetwork: false}}`, skip("spec.hostNetwork")},
			{"unmet beside what must be absent", `{spec: {hostNetwork: false, hostPID: true}}`, skip("spec.hostNetwork")},
			{"unmet beside an item that does not exist", `{spec: {hostNetwork: false, c: []}}`, skip("spec.hostNetwork")},
			{"unmet above a failure", `{spec: {hostNetwork: false, d: [{image: x}]}}`, skip("spec.hostNetwork")},
			{"the map is missing", `{}`, fail(missing("spec"))},
			{"the map is null", `{spec: null}`, fail(at("spec", nil))},
			{"the map is a list", `{spec: []}`, fail(at("spec", []any{}))},
		}},
		{"at the root", `{(kind): Deployment, spec: {replicas: ">1"}}`, []check{
			{"met and right", `{kind: Deployment, spec: {replicas: 2}}`, pass},
			{"met and wrong", `{kind: Deployment, spec: {replicas: 1}}`, fail(at("spec.replicas", int64(1)))},
			{"unmet", `{kind: Job, spec: {replicas: 1}}`, skip("kind")},
			{"missing", `{spec: {replicas: 1}}`, skip("kind")},
		}},
		{"a map as the condition", `{(spec): {hostNetwork: true, x: {}}, metadata: {name: "net-*"}}`, []check{
			{"met and right", `{spec: {hostNetwork: true, x: {}}, metadata: {name: net-a}}`, pass},
			{"met and wrong", `{spec: {hostNetwork: true, x: {}}, metadata: {name: a}}`, fail(at("metadata.name", "a"))},
			{"half met", `{spec: {hostNetwork: true}, metadata: {name: a}}`, skip("")},
			{"of another type", `{spec: text, metadata: {name: a}}`, skip("")},
		}},
		{"a list as the condition", `{(volumes): [{name: "data*"}], x: "1"}`, []check{
			{"met and right", `{volumes: [{name: data}], x: 1}`, pass},
			{"met and wrong", `{volumes: [{name: data}], x: 2}`, fail(at("x", int64(2)))},
			{"one item does not match", `{volumes: [{name: data}, {name: tmp}], x: 2}`, skip("")},
		}},
		{"a negation as the condition", `{(name): "!kube-*", x: "1"}`, []check{
			{"met and wrong", `{name: web, x: 2}`, fail(at("x", int64(2)))},
			{"unmet", `{name: kube-proxy, x: 2}`, skip("name")},
			{"missing is not met by a negation", `{x: 2}`, skip("name")},
		}},
		{"a number as the condition, of what is missing below", `{(limits): {cpu: "<5"}, x: "1"}`, []check{
			{"it counts as 0", `{limits: {}, x: 2}`, fail(at("x", int64(2)))},
			{"null too", `{limits: {cpu: null}, x: 2}`, fail(at("x", int64(2)))},
			{"above", `{limits: {cpu: 7}, x: 2}`, skip("")},
		}},
		{"a number as the condition, that 0 is not", `{(limits): {cpu: ">5 & <9"}, x: "1"}`, []check{
			{"missing below", `{limits: {}, x: 2}`, skip("")},
		}},
		{"a condition in the condition's value, beside what fails", `{(a): [{b: {(k): "1"}, c: "2"}], x: "1"}`, []check{
			{"that item does not count", `{a: [{b: {}, c: 9}, {b: {k: 1}, c: 2}], x: 9}`, fail(at("x", int64(9)))},
			{"no item counts", `{a: [{b: {}, c: 2}], x: 9}`, skip("a")},
		}},
		{"anchors of which one is skipped below", `{=(a): {(k): "1", x: "1"}, =(b): "2", c: "3"}`, []check{
			{"the other applies", `{a: {k: 9}, b: 2, c: 9}`, fail(at("c", int64(9)))},
			{"and all is right", `{a: {k: 9}, b: 2, c: 3}`, pass},
		}},
		{"present as the condition", `{spec: {(volumes): "*", x: "1"}}`, []check{
			{"met by an empty list", `{spec: {volumes: [], x: 2}}`, fail(at("spec.x", int64(2)))},
			{"missing", `{spec: {x: 2}}`, skip("spec.volumes")},
		}},
		{"a failure outside of the guarded map stands", `{metadata: {(name): "web*", labels: {app: "?*"}}, spec: {replicas: ">1"}}`, []check{
			{"met and right", `{metadata: {name: web, labels: {app: x}}, spec: {replicas: 2}}`, pass},
			{"met and wrong in both", `{metadata: {name: web, labels: {}}, spec: {replicas: 1}}`,
				fail(missing("metadata.labels.app"), at("spec.replicas", int64(1)))},
			{"unmet and nothing fails", `{metadata: {name: db, labels: {app: x}}, spec: {replicas: 2}}`, skip("metadata.name")},
			{"unmet and a failure beside it", `{metadata: {name: db, labels: {}}, spec: {replicas: 2}}`, skip("metadata.name")},
			{"unmet and a failure elsewhere", `{metadata: {name: db, labels: {}}, spec: {replicas: 1}}`,
				fail(at("spec.replicas", int64(1)))},
		}},
	})
}

func TestGlobal(t *testing.T) {
	run(t, []table{
		{"in a list it speaks for its item", `{spec: {containers: [{<(image): "corp.io/*"}], imagePullSecrets: [{name: regcred}]}}`, []check{
			{"met and right", `{spec: {containers: [{image: corp.io/a}], imagePullSecrets: [{name: regcred}]}}`, pass},
			{"met and wrong", `{spec: {containers: [{image: corp.io/a}], imagePullSecrets: [{name: x}]}}`,
				fail(at("spec.imagePullSecrets[0].name", "x"))},
			{"met and missing", `{spec: {containers: [{image: corp.io/a}]}}`, fail(missing("spec.imagePullSecrets"))},
			{"unmet", `{spec: {containers: [{image: docker.io/a}], imagePullSecrets: [{name: regcred}]}}`, skip("image")},
			{"unmet beside a failure", `{spec: {containers: [{image: docker.io/a}]}}`, skip("image")},
			{"unmet in one of two", `{spec: {containers: [{image: corp.io/a}, {image: docker.io/a}]}}`, fail(missing("spec.imagePullSecrets"))},
			{"unmet in the first of two", `{spec: {containers: [{image: docker.io/a}, {image: corp.io/a}]}}`, fail(missing("spec.imagePullSecrets"))},
			{"unmet in both", `{spec: {containers: [{image: docker.io/a}, {image: docker.io/b}]}}`, skip("image")},
			{"its key is missing and the rest is right", `{spec: {containers: [{name: a}], imagePullSecrets: [{name: regcred}]}}`, pass},
			{"its key is missing and the rest is wrong", `{spec: {containers: [{name: a}], imagePullSecrets: [{name: x}]}}`,
				fail(at("spec.imagePullSecrets[0].name", "x"))},
			{"its key is null", `{spec: {containers: [{image: null}]}}`, skip("image")},
		}},
		{"with a check in its item", `{c: [{name: "*", <(image): "corp/*", pull: Always}]}`, []check{
			{"a decoy before", `{c: [{name: a, image: docker/x}, {name: b, image: corp/x, pull: Never}]}`, fail(at("c[1].pull", "Never"))},
			{"a decoy after", `{c: [{name: b, image: corp/x, pull: Never}, {name: a, image: docker/x}]}`, fail(at("c[0].pull", "Never"))},
			{"a decoy and right", `{c: [{name: a, image: docker/x}, {name: b, image: corp/x, pull: Always}]}`, pass},
			{"decoys only", `{c: [{name: a, image: docker/x}, {name: b, image: docker/y, pull: Never}]}`, skip("image")},
		}},
		{"deeper than its item", `{c: [{s: {<(user): "0", escalate: false}}]}`, []check{
			{"a decoy before", `{c: [{s: {user: 7}}, {s: {user: 0, escalate: true}}]}`, fail(at("c[1].s.escalate", true))},
			{"decoys only", `{c: [{s: {user: 7, escalate: true}}]}`, skip("user")},
		}},
		{"in two lists", `{c: [{<(i): "corp/*", a: x}], d: [{<(i): "corp/*", a: x}]}`, []check{
			{"decoys only in the one", `{c: [{i: o, a: z}], d: [{i: corp/1, a: z}]}`, fail(at("d[0].a", "z"))},
		}},
		{"beside what has anchors and fails", `{<(k): one, X(bad): "null", a: {(b): "1", c: "2"}, d: "3"}`, []check{
			{"unmet and absent broken", `{k: two, bad: 1, a: {}, d: 3}`, fail(at("bad", int64(1)))},
			{"unmet and below broken", `{k: two, a: {b: 1, c: 9}, d: 3}`, fail(at("a.c", int64(9)))},
			{"unmet and a plain field broken", `{k: two, a: {b: 1, c: 2}, d: 9}`, skip("k")},
		}},
		{"in a map", `{metadata: {<(namespace): "prod-*"}, spec: {replicas: ">=3", c: [{image: "corp/*"}]}}`, []check{
			{"met and right", `{metadata: {namespace: prod-a}, spec: {replicas: 3, c: []}}`, pass},
			{"met and wrong", `{metadata: {namespace: prod-a}, spec: {replicas: 1, c: []}}`, fail(at("spec.replicas", int64(1)))},
			{"unmet whatever else fails", `{metadata: {namespace: dev}, spec: {replicas: 1, c: [{image: x}]}}`, skip("metadata.namespace")},
			{"unmet and the rest is of another type", `{metadata: {namespace: dev}, spec: text}`, skip("metadata.namespace")},
			{"missing and wrong", `{metadata: {}, spec: {replicas: 1, c: []}}`, fail(at("spec.replicas", int64(1)))},
			{"its map is missing", `{spec: {replicas: 3, c: []}}`, fail(missing("metadata"))},
		}},
		{"a map in it", `{spec: {<(securityContext): {privileged: true}, hostPID: true}}`, []check{
			{"met and wrong", `{spec: {securityContext: {privileged: true}, hostPID: false}}`, fail(at("spec.hostPID", false))},
			{"unmet", `{spec: {securityContext: {privileged: false}, hostPID: false}}`, skip("")},
			{"unmet by a missing key below it", `{spec: {securityContext: {}, hostPID: false}}`, skip("")},
			{"missing and right", `{spec: {hostPID: true}}`, pass},
		}},
		{"below if present", `{spec: {=(x): {<(a): "1"}, b: "2"}}`, []check{
			{"unmet", `{spec: {x: {a: 2}, b: 3}}`, skip("spec.x.a")},
			{"not there", `{spec: {b: 3}}`, fail(at("spec.b", int64(3)))},
		}},
	})
}
