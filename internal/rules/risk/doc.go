// Package risk judges an access to a pod by what stands in the pod's own spec:
// which dangerous settings it has, what they weigh together, and what follows.
// Source: document "Pod Security Risk Classification".
//
// The settings are called factors. They are found once, in one walk over the
// pod (Assess); blocking, scoring and explaining read that one result (Judge),
// whatever the policy. This comment is the documentation of the factors.
//
// # Factors of the pod
//
//   - hostNetwork, hostPID, hostIPC: the pod is in that namespace of its node.
//   - shareProcessNamespace: its containers see one another's processes.
//   - unsafeSysctl: it sets a sysctl outside the set that Kubernetes calls safe.
//     A name is compared as it stands, so a safe one that is written with
//     slashes counts as well.
//   - powerfulServiceAccount: RBAC lets its service account read secrets, enter
//     pods, impersonate, escalate, bind or reach nodes. The caller says so; it
//     counts whether or not a token is mounted, because one can be asked for.
//
// # Factors of containers
//
// Init (sidecars among them), main and ephemeral containers count alike, and a
// factor counts once a pod, however many containers have it. Where a container
// and its pod can both hold a setting, the container's goes first.
//
//   - privilegedContainer: privileged is true. It is not taken to add
//     capabilities: it has a weight of its own.
//   - runAsRoot: runAsUser is 0. runAsNonRoot beside it changes nothing. A user
//     that is not set depends on the image, which is not read, and does not
//     count; nor is a user namespace (hostUsers: false) taken to help.
//   - capabilities: each name in capabilities.add counts, once a pod, in any
//     case and with or without CAP_. ALL counts for every name that the policy
//     lists, and the list may name ALL itself. Dropping a capability that is
//     added takes nothing back. What a runtime gives by default does not count.
//   - hostPort: a port of the node is claimed; in a pod on its node's network
//     every declared port is one.
//   - allowPrivilegeEscalation: not set to false, or implied by privileged or by
//     SYS_ADMIN. A Windows pod cannot set it, and is counted only if implied.
//   - procMountUnmasked: procMount is Unmasked.
//   - seccompUnconfined, appArmorUnconfined: the profile is Unconfined, by field
//     or by the annotations that came before the fields. A profile that is not
//     set does not count.
//   - windowsHostProcess: windowsOptions.hostProcess is true.
//
// # Factors of volumes
//
// A volume counts for what its mounts make of it.
//
//   - hostPathWritable: some container mounts a hostPath volume without
//     readOnly, or with Bidirectional propagation, through which mounts reach
//     the node even if the volume is read-only. Counts once a volume.
//   - hostPathReadOnly: a hostPath volume that every container which mounts it
//     mounts read-only. Counts once a volume. File systems that are mounted on
//     the node below a read-only path may stay writable (recursiveReadOnly);
//     that is not told apart.
//   - runtimeSocket: a container mounts the socket of a container runtime, or a
//     host directory that holds one. Read-only does not help: a socket is
//     connected to, not written.
//   - sensitiveHostPath: a container mounts a host directory that gives the node
//     away, or one that holds or lies below one. Directories of programs count
//     if they are mounted writable.
//   - serviceAccountToken: a container mounts a projected token of whatever
//     audience, or a Secret at the path where tokens used to be mounted. A pod
//     that has not been through admission also counts unless it sets
//     automountServiceAccountToken to false.
//
// A hostPath volume that no container mounts gives nothing to whoever enters a
// container, and counts as neither. A debug container that is still to be added
// can mount any volume in any way: for ephemeralcontainers with a container that
// the pod does not hold (yet), every hostPath volume counts as writable and
// every token volume as mounted. What stands behind a persistent volume claim or
// a CSI volume, a symbolic link on the node and a token in a Secret that is
// mounted elsewhere cannot be seen from a pod.
//
// # Scope
//
// With scope pod, all of it counts. With scope container, the container that is
// entered counts with what it shares: the factors of the pod and its host ports,
// and the containers whose processes it sees. Those are all of the pod under
// hostPID or shareProcessNamespace, and otherwise the target of an ephemeral
// container and the ephemeral containers that have the same target. A container
// that is not known, not found or found twice means the whole pod, and so do
// portforward, proxy and log, which are not a way into one container.
package risk
