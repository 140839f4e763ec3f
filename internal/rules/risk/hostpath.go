package risk

import (
	"path"
	"strings"
)

// hostPathTraits say what a path of the node gives to whoever mounts it.
type hostPathTraits struct {
	// socket: the socket of a container runtime.
	socket bool
	// sensitive: the node, however it is mounted.
	sensitive bool
	// sensitiveWritable: the node, if it is mounted writable.
	sensitiveWritable bool
}

func (t hostPathTraits) or(u hostPathTraits) hostPathTraits {
	return hostPathTraits{t.socket || u.socket, t.sensitive || u.sensitive, t.sensitiveWritable || u.sensitiveWritable}
}

// traitsOf reads the path of a hostPath volume. A path with a backslash or a
// drive letter is read as a path of Linux and as one of Windows, and has the
// traits of both.
func traitsOf(raw string) hostPathTraits {
	traits := traitsOfClean(cleanHostPath(raw))
	if strings.ContainsRune(raw, '\\') || hasDrive(raw) {
		traits = traits.or(traitsOfClean(cleanHostPath(fromWindows(raw))))
	}
	return traits
}

// cleanHostPath makes a path absolute and gives it its shortest form. /var/run
// is a link to /run everywhere.
func cleanHostPath(raw string) string {
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	p := path.Clean(raw)
	if isWithin(p, "/var/run") {
		p = p[len("/var"):]
	}
	return p
}

// fromWindows turns C:\Windows and \\.\pipe\docker_engine into /windows and
// /pipe/docker_engine.
func fromWindows(raw string) string {
	p := strings.ToLower(strings.ReplaceAll(raw, `\`, "/"))
	for _, prefix := range []string{"//./", "//?/"} {
		p = strings.TrimPrefix(p, prefix)
	}
	if hasDrive(p) {
		p = p[2:]
	}
	return p
}

func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

func traitsOfClean(p string) hostPathTraits {
	if p == "/" {
		return hostPathTraits{socket: true, sensitive: true, sensitiveWritable: true}
	}
	return hostPathTraits{
		socket:            isSocket(p),
		sensitive:         touches(p, &nodePlacesIndex),
		sensitiveWritable: touches(p, &programPlacesIndex),
	}
}

// placeIndex holds places by their first letter: a path other than / that is one
// of them, or holds or lies below one, has the same.
type placeIndex [256][]string

var (
	nodePlacesIndex    = indexPlaces(nodePlaces)
	programPlacesIndex = indexPlaces(programPlaces)
	socketIndex        = indexPlaces(runtimeSockets)
)

func indexPlaces(places []string) placeIndex {
	var index placeIndex
	for _, place := range places {
		index[place[1]] = append(index[place[1]], place)
	}
	return index
}

// touches reports whether a clean path other than / is one of the places, holds
// one or lies below one.
func touches(p string, places *placeIndex) bool {
	for _, place := range places[p[1]] {
		if isWithin(p, place) || isWithin(place, p) {
			return true
		}
	}
	return false
}

// isWithin reports whether the clean path p is dir, which is not /, or lies below
// it.
func isWithin(p, dir string) bool {
	return strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/')
}

// isSocket reports whether a clean path other than / is a runtime's socket, or a
// directory that holds one.
func isSocket(p string) bool {
	for _, socket := range socketIndex[p[1]] {
		if isWithin(socket, p) {
			return true
		}
	}
	for _, dir := range runtimeSocketDirs {
		if isWithin(p, dir) {
			return true
		}
	}
	switch path.Base(p) {
	case "docker.sock", "containerd.sock", "containerd.sock.ttrpc", "crio.sock", "cri-dockerd.sock",
		"dockershim.sock", "podman.sock", "buildkitd.sock", "frakti.sock", "docker_engine":
		return true
	}
	return isUserRuntimeDir(p) || isProcLink(p)
}

// isUserRuntimeDir reports whether p is a directory in which a rootless runtime
// of some user keeps its socket: /run/user, /run/user/1000 and
// /run/user/1000/podman.
func isUserRuntimeDir(p string) bool {
	if !isWithin(p, "/run/user") {
		return false
	}
	parts := strings.SplitN(strings.TrimPrefix(p, "/run/user"), "/", 4)
	if len(parts) < 3 {
		return true
	}
	for _, runtime := range []string{"podman", "docker", "containerd", "crio"} {
		if strings.HasPrefix(parts[2], runtime) {
			return true
		}
	}
	return false
}

// isProcLink reports whether p goes through a link of a process that leads back
// to the node's own files: /proc/1/root/run/docker.sock is the socket.
func isProcLink(p string) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch part {
		case "root", "cwd", "fd", "map_files":
			return true
		}
	}
	return false
}
