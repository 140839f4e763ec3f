package image

import (
	"fmt"
	"io/fs"

	"github.com/sallyport-io/sallyport/hack/release/files"
)

// User is whom the image runs as, user and group: a number, so that runAsNonRoot can be
// held to it.
const User = 65532

const (
	binaryDir = "usr/bin"
	textsDir  = "usr/share/doc/sallyport"
	home      = "home/nonroot"
	rootsFile = "etc/ssl/certs/ca-certificates.crt"
)

// aboutRoots says whose certificates they are.
const aboutRoots = "The certificates in /" + rootsFile + " are those of Mozilla's root store, as they stand\n" +
	"in " + RootsPackage + ". Mozilla publishes that list under the\n" +
	"Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/.\n"

// base are the files that are the same whatever the version and the platform.
func base() ([]files.File, error) {
	certificates, err := roots()
	if err != nil {
		return nil, err
	}
	user := fmt.Sprintf("root:x:0:0:root:/:/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:/%[2]s:/nologin\n", User, home)
	return []files.File{
		{Path: "etc/passwd", Mode: 0o644, Data: []byte(user)},
		{Path: "etc/group", Mode: 0o644, Data: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", User)},
		{Path: rootsFile, Mode: 0o644, Data: certificates},
		{Path: textsDir + "/certificates.txt", Mode: 0o644, Data: []byte(aboutRoots)},
		{Path: home, Mode: fs.ModeDir | 0o700, Owner: User},
		{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}, nil
}
