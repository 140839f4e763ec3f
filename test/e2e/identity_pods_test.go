package e2e

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestIdentityPods are the rows about pods of the table of operations.
func TestIdentityPods(t *testing.T) {
	l := newIdentityLab(t)
	l.runningPods(podOf("app", bothClaims)+podOf("one", kerberos)+podOf("plain", noClaim)+sizedPod, "app", "one", "plain")

	l.run("create", func(l *identityLab) {
		l.allowed(l.feed(employee, podOf("a", noClaim), "create"))
		l.refused(l.feed(employee, podOf("b", kerberos), "create"), kerberosKey, kerberosValue)
		l.refused(l.feed(halfHolder, podOf("b", bothClaims), "create"), gcpKey, gcpValue)
		l.allowed(l.feed(halfHolder, podOf("b", kerberos), "create"))
		l.allowed(l.feed(holder, podOf("c", bothClaims), "create"))
	})
	l.run("a refusal names the permission and the rule that would give it", func(l *identityLab) {
		l.refused(l.feed(employee, podOf("d", kerberos), "create"),
			kerberosKey, kerberosValue, "authorization.k8s.io", "validatedannotations/"+kerberosValue, "resourceNames", "use", "apiGroups")
	})
	l.run("a claim cannot change", func(l *identityLab) {
		for _, user := range []string{employee, holder} {
			for _, change := range []string{"kerberos=other", "kerberos-"} {
				l.refused(l.do(user, "annotate", "--overwrite", "pod", "app", change), kerberosKey)
			}
			l.refused(l.do(user, "annotate", "pod", "plain", "kerberos=legacy-frontend-app"), kerberosKey)
		}
		if got := l.get("pod/app", "{.metadata.annotations.kerberos}") + l.get("pod/plain", "{.metadata.annotations.kerberos}"); got != kerberosValue {
			l.Errorf("claims are %q now", got)
		}
	})
	// The API server takes annotations with a status as well.
	l.run("a claim cannot change with the status", func(l *identityLab) {
		for _, user := range []string{employee, holder} {
			for pod, patch := range map[string]string{"app": `{"metadata":{"annotations":{"kerberos":null}}}`, "plain": `{"metadata":{"annotations":{"kerberos":"legacy-frontend-app"}}}`} {
				l.refused(l.do(user, "patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch), kerberosKey)
			}
		}
	})
	l.run("image", func(l *identityLab) {
		set := func(user, image string) lab.Result { return l.do(user, "set", "image", "pod/app", "app="+image) }
		l.refused(set(employee, "evil:1"), kerberosKey, gcpKey)
		l.refused(set(halfHolder, "evil:1"), gcpKey, gcpValue)
		l.allowed(set(holder, "good:1"))
		l.allowed(l.do(employee, "set", "image", "pod/plain", "app=any:1"))
	})
	l.run("what needs no claim", func(l *identityLab) {
		for name, args := range map[string][]string{
			"label":      {"label", "pod", "app", "team=blue"},
			"annotation": {"annotate", "pod", "app", "note=later"},
			"toleration": {"patch", "pod", "app", "--type=json", "-p", `[{"op":"add","path":"/spec/tolerations/-","value":{"key":"a","operator":"Exists"}}]`},
			"status":     {"patch", "pod", "app", "--subresource=status", "--type=merge", "-p", `{"status":{"message":"well"}}`},
			"resize":     {"patch", "pod", "sized", "--subresource=resize", "-p", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"20m"}}}]}}`},
		} {
			l.run(name, func(l *identityLab) { l.allowed(l.do(employee, args...)) })
		}
	})
	l.run("ephemeral container", func(l *identityLab) {
		debug := func(user, pod string) lab.Result {
			return l.do(user, "debug", pod, "--image=busybox", "--", "true")
		}
		l.refused(debug(employee, "app"), kerberosKey)
		l.refused(debug(halfHolder, "app"), gcpKey)
		l.allowed(debug(holder, "app"))
		l.allowed(debug(employee, "plain"))
	})
	l.run("delete needs no claim", func(l *identityLab) {
		l.allowed(l.do(employee, "delete", "pod", "one", "--wait=false"))
	})
}

// sizedPod has resources that can be changed. It does not run: the API server
// lets those be changed that run on nodes which report what they have.
const sizedPod = `---
apiVersion: v1
kind: Pod
metadata: {name: sized, annotations: ` + bothClaims + `}
spec:
  schedulingGates: [{name: example.com/wait}]
  containers: [{name: app, image: app, resources: {requests: {cpu: 10m}, limits: {cpu: 100m}}}]
`

// TestIdentitySideDoor are the ways into a pod that runs, at each door by itself.
func TestIdentitySideDoor(t *testing.T) {
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			l := newIdentityLabWith(t, identityOptions{door: door})
			l.runningPods(podOf("app", bothClaims)+podOf("plain", noClaim), "app", "plain")
			for name, env := range map[string][]string{"WebSocket": nil, "SPDY": lab.SPDY} {
				l.run("exec by "+name, func(l *identityLab) {
					l.refused(l.exec(employee, "app", env...), kerberosKey, kerberosValue)
					l.refused(l.exec(halfHolder, "app", env...), gcpKey, gcpValue)
					l.allowed(l.exec(holder, "app", env...), "inside")
					l.allowed(l.exec(employee, "plain", env...), "inside")
				})
				l.run("attach by "+name, func(l *identityLab) {
					attach := func(user string) lab.Result {
						return l.bounded(lab.Kubectl{User: user, Env: env, Args: []string{"attach", "-n", l.namespace, "app"}})
					}
					l.refused(attach(employee), kerberosKey, kerberosValue)
					l.allowed(attach(holder))
				})
			}
			l.run("cp", func(l *identityLab) {
				l.refused(l.do(employee, "cp", "app:etc/hosts", t.TempDir()+"/hosts"), kerberosKey)
			})
			l.run("debug", func(l *identityLab) {
				if door == accessDoor {
					l.refused(l.do(employee, "debug", "app", "--image=busybox", "--", "true"), kerberosKey)
				}
			})
			l.run("port-forward and proxy are free until configured", func(l *identityLab) {
				l.forwarded(employee)
				if r := l.do(employee, "get", "--raw", l.proxyPath()); strings.Contains(r.String(), kerberosKey) {
					l.Errorf("proxy is refused for lack of an identity: %s", r)
				}
			})
			if door == admissionDoor {
				// The one whom no authorizer is asked about may use everything.
				l.run("system:masters", func(l *identityLab) { l.allowed(l.exec(root, "app"), "inside") })
			}
		})
	}
}

func (l *identityLab) proxyPath() string {
	return "/api/v1/namespaces/" + l.namespace + "/pods/app:80/proxy/"
}

// forwarded wants a port of the pod app to be forwarded to a user.
func (l *identityLab) forwarded(user string) {
	l.Helper()
	_, stop, _, err := shared.PortForward(l.Context(), lab.Kubectl{User: user, Args: []string{"-n", l.namespace, "pod/app", ":80"}})
	if err != nil {
		l.Fatal(err)
	}
	stop()
}

// TestIdentityMoreSubresources configures port-forward and proxy.
func TestIdentityMoreSubresources(t *testing.T) {
	source := sourceOf("kerberos", "{key: kerberos, podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, portforward, proxy]}")
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			l := newIdentityLabWith(t, identityOptions{door: door, sources: source})
			l.runningPods(`{apiVersion: v1, kind: Pod, metadata: {name: app, annotations: `+kerberos+`}, spec: {containers: [{name: app, image: app, ports: [{containerPort: 80}]}]}}`, "app")
			_, stop, result, err := shared.PortForward(t.Context(), lab.Kubectl{User: employee, Args: []string{"-n", l.namespace, "pod/app", ":80"}})
			if err == nil {
				stop()
				t.Fatal("a port is forwarded to the employee")
			}
			l.refused(result, kerberosKey, kerberosValue)
			l.forwarded(holder)
			l.refused(l.do(employee, "get", "--raw", l.proxyPath()), kerberosKey, kerberosValue)
			if r := l.do(holder, "get", "--raw", l.proxyPath()); strings.Contains(r.String(), kerberosKey) {
				l.Errorf("proxy is refused to the holder: %s", r)
			}
		})
	}
}
