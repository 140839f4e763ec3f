package match_test

import "testing"

// TestTableAnyAll holds any and all of several filters, errors among them.
func TestTableAnyAll(t *testing.T) {
	pod := tableTarget(kindPod)
	labelled := tableTarget(kindPod, withLabels("app", "nginx"), withNamespace("default"))
	unseen := tableTarget(kindPod, withoutUser)
	dark := tableTarget(kindPod, withUnreadNamespace)
	darkAndUnseen := tableTarget(kindPod, withUnreadNamespace, withoutUser)

	runTable(t, []tableCase{
		{"any, the first holds", `any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Job]}}]`, pod, hit},
		{"any, the last holds", `any: [{resources: {kinds: [Job]}}, {resources: {kinds: [Pod]}}]`, pod, hit},
		{"any, none holds", `any: [{resources: {kinds: [Job]}}, {resources: {kinds: [Service]}}]`, pod, miss},
		{"any, both hold", `any: [{resources: {kinds: [Pod]}}, {resources: {names: [web]}}]`, pod, hit},
		{"any of one", `any: [{resources: {kinds: [Pod]}}]`, pod, hit},
		{"any does not join halves of filters", `any: [{resources: {kinds: [Pod], names: [db]}}, {resources: {kinds: [Job], names: [web]}}]`, pod, miss},
		{"any, a filter on the user holds", `any: [{resources: {kinds: [Job]}}, {subjects: [{kind: User, name: alice}]}]`, pod, hit},
		{"all hold", `all: [{resources: {kinds: [Pod]}}, {resources: {names: [web]}}]`, pod, hit},
		{"all, the last does not hold", `all: [{resources: {kinds: [Pod]}}, {resources: {names: [db]}}]`, pod, miss},
		{"all, the first does not hold", `all: [{resources: {kinds: [Job]}}, {resources: {names: [web]}}]`, pod, miss},
		{"all of one", `all: [{resources: {kinds: [Pod]}}]`, pod, hit},
		{"all of filters that are at odds", `all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Job]}}]`, pod, miss},
		{"all of three", `all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [dev]}}, {subjects: [{kind: Group, name: developers}]}]`, pod, hit},
		{"all of three, the user does not hold", `all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [dev]}}, {subjects: [{kind: Group, name: admins}]}]`, pod, miss},
		{"all, wildcards that only meet in the target", `all: [{resources: {names: ["w*"]}}, {resources: {names: ["*b"]}}]`, pod, hit},

		{"any, no user known but another filter holds", `any: [{subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Pod]}}]`, unseen, hit},
		{"any, no user known after a filter that holds", `any: [{resources: {kinds: [Pod]}}, {subjects: [{kind: User, name: alice}]}]`, unseen, hit},
		{"any, no user known and no other filter holds", `any: [{subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Job]}}]`, unseen, noUser},
		{"any, no user known behind resources that do not hold", `any: [{resources: {kinds: [Job]}, subjects: [{kind: User, name: alice}]}, {resources: {names: [db]}}]`, unseen, miss},
		{"all, no user known and the rest holds", `all: [{subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Pod]}}]`, unseen, noUser},
		{"all, no user known and a later filter does not hold", `all: [{subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Job]}}]`, unseen, miss},
		{"all, no user known and an earlier filter does not hold", `all: [{resources: {kinds: [Job]}}, {subjects: [{kind: User, name: alice}]}]`, unseen, miss},
		{"any, labels unread but another filter holds", `any: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Pod]}}]`, dark, hit},
		{"any, labels unread and no other filter holds", `any: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Job]}}]`, dark, unread},
		{"any, labels unread behind a kind that does not hold", `any: [{resources: {kinds: [Job], namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {names: [db]}}]`, dark, miss},
		{"all, labels unread and the rest holds", `all: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Pod]}}]`, dark, unread},
		{"all, labels unread and a later filter does not hold", `all: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Job]}}]`, dark, miss},
		{"all, labels unread and the user does not hold", `all: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {subjects: [{kind: User, name: bob}]}]`, dark, miss},
		{"any, roles unread but another filter holds", `any: [{roles: [dev:admin]}, {resources: {kinds: [Pod]}}]`, tableTarget(kindPod, withUnreadRoles), hit},
		{"any, roles unread and no other filter holds", `any: [{roles: [dev:admin]}, {resources: {kinds: [Job]}}]`, tableTarget(kindPod, withUnreadRoles), unread},
		{"all, roles unread and a later filter does not hold", `all: [{roles: [dev:admin]}, {resources: {kinds: [Job]}}]`, tableTarget(kindPod, withUnreadRoles), miss},
		{"any, neither labels nor user, but a filter holds", `any: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Pod]}}]`, darkAndUnseen, hit},
		{"any, neither labels nor user", `any: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {subjects: [{kind: User, name: alice}]}]`, darkAndUnseen, either},
		{"all, neither labels nor user, and a filter does not hold", `all: [{resources: {namespaceSelector: {matchLabels: {env: prod}}}}, {subjects: [{kind: User, name: alice}]}, {resources: {kinds: [Job]}}]`, darkAndUnseen, miss},

		{"the document's exception, a pod with the label", documentException, labelled, hit},
		{"the document's exception, a pod without the label", documentException, tableTarget(kindPod, withNamespace("default")), miss},
		{"the document's exception, a pod with the label elsewhere", documentException, tableTarget(kindPod, withLabels("app", "nginx")), miss},
		{"the document's exception, the deployment", documentException, tableTarget(kindDeployment, withNamespace("default"), withName("nginx")), hit},
		{"the document's exception, another deployment with the label", documentException, tableTarget(kindDeployment, withNamespace("default"), withLabels("app", "nginx")), miss},
		{"the document's exception, a pod of the deployment's name", documentException, tableTarget(kindPod, withNamespace("default"), withName("nginx")), miss},
	})
}

const documentException = `
any:
  - resources:
      kinds: [Deployment]
      names: [nginx]
      namespaces: [default]
  - resources:
      kinds: [Pod]
      namespaces: [default]
      selector: {matchLabels: {app: nginx}}
`

const documentStory = `
all:
  - name: test
    kind:
      - Deployment
    namespace:
      - dev
`

// TestTableShortForms holds the short forms: resources right at the block, and
// kind, name and namespace in place of resources.
func TestTableShortForms(t *testing.T) {
	test := tableTarget(kindDeployment, withName("test"))
	runTable(t, []tableCase{
		{"the document's policy", "resources:\n  kinds:\n    - Deployment\n", test, hit},
		{"the document's policy, a pod", "resources:\n  kinds:\n    - Deployment\n", tableTarget(kindPod), miss},
		{"the document's story", documentStory, test, hit},
		{"the document's story, another name", documentStory, tableTarget(kindDeployment), miss},
		{"the document's story, another kind", documentStory, tableTarget(kindPod, withName("test")), miss},
		{"the document's story, another namespace", documentStory, tableTarget(kindDeployment, withName("test"), withNamespace("prod")), miss},
		{"the document's story, no namespace", documentStory, tableTarget(kindDeployment, withName("test"), withoutNamespace), miss},
		{"the document's story, scale", documentStory, tableTarget(kindDeployment, withName("test"), withSubresource("scale")), miss},
		{"the document's story on one line", `all: [{name: test, kind: [Deployment], namespace: [dev]}]`, test, hit},
		{"kind, name and namespace right at the block", `{kind: Deployment, name: test, namespace: dev}`, test, hit},
		{"kind, name and namespace right at the block, another name", `{kind: Deployment, name: other, namespace: dev}`, test, miss},
		{"a kind as one string", `kind: Deployment`, test, hit},
		{"a kind as one string, another", `kind: Pod`, test, miss},
		{"kinds as a list", `kind: [Pod, Deployment]`, test, hit},
		{"a kind with its group", `kind: apps/v1/Deployment`, test, hit},
		{"a kind with its subresource", `kind: Pod/exec`, tableTarget(kindPod, withSubresource("exec")), hit},
		{"a kind with a wildcard", `kind: "Deploy*"`, test, hit},
		{"Pod as one string takes in its ephemeral containers", `kind: Pod`, tableTarget(kindPod, withSubresource("ephemeralcontainers")), hit},
		{"only a name", `name: test`, test, hit},
		{"names as a list", `name: [web, test]`, test, hit},
		{"a name with a wildcard", `name: "te*"`, test, hit},
		{"a name held against a generated one", `name: "te*"`, tableTarget(kindPod, withGenerateName("test-")), hit},
		{"only a namespace", `namespace: dev`, test, hit},
		{"namespaces as a list", `namespace: [prod, dev]`, test, hit},
		{"a namespace with a wildcard", `namespace: "d*"`, test, hit},
		{"a namespace and a cluster-scoped resource", `namespace: "*"`, tableTarget(kindNode, withoutNamespace), miss},
		{"a namespace and a Namespace", `namespace: dev`, tableTarget(kindNamespace, withoutNamespace, withName("dev")), hit},
		{"a kind beside resources that say something else", `{kind: Deployment, resources: {names: [test]}}`, test, hit},
		{"a kind beside resources, the resources do not hold", `{kind: Deployment, resources: {names: [web]}}`, test, miss},
		{"a kind beside resources, the kind does not hold", `{kind: Pod, resources: {names: [test]}}`, test, miss},
		{"a namespace beside a selector of labels", `{namespace: dev, resources: {selector: {matchLabels: {app: web}}}}`, tableTarget(kindPod, withLabels("app", "web")), hit},
		{"a kind beside a subject", `{kind: Deployment, subjects: [{kind: User, name: alice}]}`, test, hit},
		{"a kind beside a subject that does not hold", `{kind: Deployment, subjects: [{kind: User, name: bob}]}`, test, miss},
		{"short forms in any", `any: [{kind: Pod}, {kind: Deployment, name: test}]`, test, hit},
		{"short and long forms in any", `any: [{kind: Pod}, {resources: {kinds: [Deployment]}}]`, test, hit},
		{"short forms in all", `all: [{kind: Deployment}, {namespace: prod}]`, test, miss},
		{"lists that are null are not given", `resources: {kinds: [Deployment], names: null}`, test, hit},
		{"any that is null is not given", `{any: null, all: [{kind: Deployment}]}`, test, hit},
	})
}
