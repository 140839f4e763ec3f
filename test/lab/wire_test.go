package lab

import (
	"os"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// TestWiring puts a stand-in for Sallyport into both doors of the shared lab. It
// runs while no other test does.
func TestWiring(t *testing.T) {
	ctx := t.Context()
	if err := shared.Apply(ctx, wiringObjects); err != nil {
		t.Fatal(err)
	}
	if err := shared.AwaitRunning(ctx, "shop", "refused"); err != nil {
		t.Fatal(err)
	}
	s, err := shared.StartSallyport(ctx, SallyportOptions{Binary: os.Args[0], Env: []string{fakeVariable + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	exec := func(user, pod string, env ...string) Result {
		return shared.Run(ctx, Kubectl{User: user, Env: env, Args: []string{"exec", "--namespace=shop", pod, "--", "true"}})
	}

	t.Run("access", func(t *testing.T) {
		if err := shared.WireAccess(ctx, s, wiring.Authorizer{}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := shared.UnwireAccess(ctx); err != nil {
				t.Error(err)
			}
		}()
		exec(alice, "web").want(t, 0, "")
		exec(alice, "refused").want(t, 1, "refused at the side door")
		exec(alice, "refused", SPDY...).want(t, 1, "refused at the side door")
		shared.Kubectl(ctx, Admin, "get", "pod", "refused", "--namespace=shop").want(t, 0, "Running")
		if err := shared.Apply(ctx, "{apiVersion: v1, kind: Pod, metadata: {name: later, namespace: shop}, spec: {containers: [{name: app, image: app}]}}"); err != nil {
			t.Fatal(err)
		}
		if err := shared.AwaitRunning(ctx, "shop", "later"); err != nil {
			t.Fatal(err)
		}
		log := s.Log()
		if strings.Contains(log, `"verb":"list"`) {
			t.Error("Sallyport was asked about reading")
		}
		for _, never := range []string{`"user":"system:node:`, `"user":"system:kube-scheduler"`, `"user":"sallyport"`, `"nonResourceAttributes"`} {
			if strings.Contains(log, never) {
				t.Errorf("Sallyport was asked about %s", never)
			}
		}

		s.Kill()
		shared.Kubectl(ctx, alice, "get", "pods", "--namespace=shop").want(t, 0, "web")
		exec(alice, "web").want(t, 1, "connection refused")
		shared.Kubectl(ctx, alice, "get", "pods", "--as=bob").want(t, 1, "connection refused")
		shared.Kubectl(ctx, alice, "get", "--raw=/version").want(t, 0, "v1.37.2")
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		exec(alice, "web").want(t, 0, "")
	})

	t.Run("access to everything", func(t *testing.T) {
		if err := shared.WireAccess(ctx, s, wiring.Authorizer{Everything: true, FailurePolicy: "Deny"}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := shared.UnwireAccess(ctx); err != nil {
				t.Error(err)
			}
		}()
		shared.Kubectl(ctx, alice, "get", "pod", "refused", "--namespace=shop").want(t, 1, "refused at the side door")
		exec(alice, "refused").want(t, 1, "refused at the side door")
		for _, never := range []string{`"user":"system:node:`, `"user":"system:kube-scheduler"`, `"user":"sallyport"`, `"nonResourceAttributes"`} {
			if strings.Contains(s.Log(), never) {
				t.Errorf("Sallyport was asked about %s", never)
			}
		}
		s.Kill()
		shared.Kubectl(ctx, alice, "get", "pods", "--namespace=shop").want(t, 1, "connection refused")
		shared.Kubectl(ctx, alice, "get", "--raw=/version").want(t, 0, "v1.37.2")
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		shared.Kubectl(ctx, alice, "get", "pods", "--namespace=shop").want(t, 0, "web")
	})

	t.Run("admission", func(t *testing.T) {
		if err := shared.WireAdmission(ctx, s, nil); err != nil {
			t.Fatal(err)
		}
		exec(Admin, "web").want(t, 0, "")
		exec(Admin, "refused").want(t, 1, "refused at the front door")
		exec(Admin, "refused", SPDY...).want(t, 1, "refused at the front door")
		shared.Kubectl(ctx, Admin, "attach", "--namespace=shop", "refused").want(t, 1, "refused at the front door")
		shared.Kubectl(ctx, Admin, "debug", "--namespace=shop", "refused", "--image=tools", "--profile=general").want(t, 1, "refused at the front door")
		shared.Kubectl(ctx, Admin, "run", "--namespace=default", "refused", "--image=app").want(t, 1, "refused at the front door")
		shared.Kubectl(ctx, Admin, "create", "deployment", "refused", "--image=app").want(t, 1, "refused at the front door")
		shared.Kubectl(ctx, Admin, "create", "cronjob", "refused", "--image=app", "--schedule=@daily").want(t, 1, "refused at the front door")
		for path, asked := range map[string]string{
			"/api/v1/nodes/refused/proxy/healthz":              "CONNECT nodes/proxy",
			"/api/v1/namespaces/shop/pods/refused/proxy/":      "CONNECT pods/proxy",
			"/api/v1/namespaces/shop/services/refused/proxy/x": "CONNECT services/proxy",
		} {
			shared.Kubectl(ctx, Admin, "get", "--raw", path).want(t, 1, "refused at the front door")
			if !strings.Contains(s.Log(), asked) {
				t.Errorf("Sallyport was not asked about %s", asked)
			}
		}
		if _, _, result, err := shared.PortForward(ctx, Kubectl{User: Admin, Args: []string{"--namespace=shop", "pod/refused", ":80"}}); err == nil || !strings.Contains(result.Stderr, "refused at the front door") {
			t.Errorf("port-forward was not refused: %v", err)
		}
		if err := shared.UnwireAdmission(ctx); err != nil {
			t.Fatal(err)
		}
		exec(Admin, "refused").want(t, 0, "")
	})
}

const wiringObjects = `
apiVersion: v1
kind: Pod
metadata: {name: refused, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/app:1}]
---
apiVersion: v1
kind: Service
metadata: {name: refused, namespace: shop}
spec:
  ports: [{port: 80}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice@example.com}]
`
